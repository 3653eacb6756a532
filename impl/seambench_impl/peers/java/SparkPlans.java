package seambench;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.arrow.vector.ValueVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContext$;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.execution.ColumnarToRowExec;
import org.apache.spark.sql.execution.InputAdapter;
import org.apache.spark.sql.execution.RowToColumnarExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.WholeStageCodegenExec;
import org.apache.spark.sql.execution.arrow.ArrowWriter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.collection.IndexedSeq;
import scala.collection.Seq;
import seamkit.NativeBatches;
import seamkit.NativeColumnarToRowExec;
import seamkit.NativeRowToColumnarExec;

/**
 * Operators over batches and rows that are there already, run on the calling thread.
 *
 * <p>Every plan has one partition, which hands out its items as often as {@code passes} says.
 */
public final class SparkPlans {
    /** Items and passes of leaves, by the leaf's number: what a closure of Spark's cannot hold. */
    static final Map LEAVES = new ConcurrentHashMap();

    private static long sink;

    private SparkPlans() {}

    /** Makes the session that runs known to this thread, which makes plans. */
    public static void activate() {
        SparkSession.setActiveSession((SparkSession) SparkSession.getDefaultSession().get());
    }

    // ---------------------------------------------------------------------------------- plans

    /** Spark's operator, whole-stage code and all, over batches of vectors that show values. */
    public static RDD sparkRows(List batches, StructType schema, int passes) {
        SparkPlan leaf = new ItemsExec(batches, schema, passes, true);
        return new WholeStageCodegenExec(new ColumnarToRowExec(new InputAdapter(leaf)), 1).execute();
    }

    /** The native operator over a batch behind a handle. */
    public static RDD nativeRows(long handle, int rows, StructType schema, int passes) {
        ColumnarBatch batch = NativeBatches.of(handle, schema.size(), rows);
        SparkPlan leaf = new ItemsExec(Collections.singletonList(batch), schema, passes, true);
        return new NativeColumnarToRowExec(leaf).execute();
    }

    /** Spark's operator over rows. */
    public static RDD sparkColumns(List rows, StructType schema, int passes) {
        return new RowToColumnarExec(new ItemsExec(rows, schema, passes, false)).executeColumnar();
    }

    /** The native operator over rows. */
    public static RDD nativeColumns(List rows, StructType schema, int passes) {
        SparkPlan leaf = new ItemsExec(rows, schema, passes, false);
        return new NativeRowToColumnarExec(leaf).executeColumnar();
    }

    /** Nothing but the rows, for what is no operator. */
    public static RDD onlyRows(List rows, StructType schema, int passes) {
        return new ItemsExec(rows, schema, passes, false).execute();
    }

    // --------------------------------------------------------------------------------- inputs

    /** Rows as an exchange hands them on. */
    public static List unsafeRows(List rows, StructType schema) {
        UnsafeProjection projection = UnsafeProjection.create(schema);
        ArrayList found = new ArrayList();
        for (int i = 0; i < rows.size(); i++) {
            found.add(projection.apply((InternalRow) rows.get(i)).copy());
        }
        return found;
    }

    /** A batch of vectors of Arrow's Java library, of a stream of one batch. */
    public static ColumnarBatch arrowBatch(byte[] stream) throws IOException {
        ArrowStreamReader reader =
                new ArrowStreamReader(new ByteArrayInputStream(stream), ArrowUtils.rootAllocator());
        reader.loadNextBatch();
        return arrowBatch(reader.getVectorSchemaRoot());
    }

    private static ColumnarBatch arrowBatch(VectorSchemaRoot root) {
        ColumnVector[] columns = new ColumnVector[root.getFieldVectors().size()];
        for (int i = 0; i < columns.length; i++) {
            columns[i] = new KeptArrowVector(root.getVector(i));
        }
        return new ColumnarBatch(columns, root.getRowCount());
    }

    // ----------------------------------------------------------------------------------- runs

    /** Visits all rows of a plan; returns their bytes. */
    public static long drainRows(RDD rdd) {
        Task task = new Task(rdd);
        long bytes = 0;
        try {
            while (task.items.hasNext()) {
                bytes += ((UnsafeRow) task.items.next()).getSizeInBytes();
            }
        } finally {
            task.end();
        }
        sink += bytes;
        return bytes;
    }

    /** Copies of the rows of a plan. */
    public static List copies(RDD rdd) {
        ArrayList found = new ArrayList();
        Task task = new Task(rdd);
        try {
            while (task.items.hasNext()) {
                found.add(((InternalRow) task.items.next()).copy());
            }
        } finally {
            task.end();
        }
        return found;
    }

    /** Visits all batches of a plan; returns the number of their rows. */
    public static long drainBatches(RDD rdd) {
        Task task = new Task(rdd);
        long rows = 0;
        try {
            while (task.items.hasNext()) {
                rows += ((ColumnarBatch) task.items.next()).numRows();
            }
        } finally {
            task.end();
        }
        return rows;
    }

    /** Copies of the rows of a plan's batches. */
    public static List copiesOfBatches(RDD rdd) {
        ArrayList found = new ArrayList();
        Task task = new Task(rdd);
        try {
            while (task.items.hasNext()) {
                found.addAll(SparkColumns.rows((ColumnarBatch) task.items.next()));
            }
        } finally {
            task.end();
        }
        return found;
    }

    /** Keeps the handles of a plan's native batches for a collection. */
    public static void keepBatches(RDD rdd, long collection) {
        Task task = new Task(rdd);
        try {
            while (task.items.hasNext()) {
                ColumnarBatch batch = (ColumnarBatch) task.items.next();
                NativeBatches.calls.keep(collection, NativeBatches.handle(batch));
            }
        } finally {
            task.end();
        }
    }

    /** Writes rows into vectors of Arrow's Java library, as Spark does for Python. */
    public static long writeArrow(RDD rdd, StructType schema, int batchRows, List copies) {
        VectorSchemaRoot root =
                VectorSchemaRoot.create(
                        ArrowUtils.toArrowSchema(schema, "UTC", true, false),
                        ArrowUtils.rootAllocator());
        ArrowWriter writer = ArrowWriter.create(root);
        Task task = new Task(rdd);
        long rows = 0;
        try {
            while (task.items.hasNext()) {
                for (int i = 0; i < batchRows && task.items.hasNext(); i++) {
                    writer.write((InternalRow) task.items.next());
                    rows++;
                }
                writer.finish();
                if (copies != null) {
                    copies.addAll(SparkColumns.rows(arrowBatch(root)));
                }
                writer.reset();
            }
        } finally {
            task.end();
            root.close();
        }
        return rows;
    }
}

/** A vector that stays after an operator is done with it, for the next pass. */
final class KeptArrowVector extends ArrowColumnVector {
    KeptArrowVector(ValueVector vector) {
        super(vector);
    }

    public void closeIfFreeable() {}
}

/** A task on this thread: the operators' iterators, and what they do when a task ends. */
final class Task {
    final scala.collection.Iterator items;
    private final TaskContextImpl context;

    Task(RDD rdd) {
        context = TaskContext$.MODULE$.empty();
        TaskContext$.MODULE$.setTaskContext(context);
        items = rdd.iterator(rdd.partitions()[0], context);
    }

    void end() {
        try {
            context.markTaskCompleted(scala.Option.empty());
        } finally {
            TaskContext$.MODULE$.unset();
        }
    }
}

/** A leaf that hands out items that are there already. */
final class ItemsExec extends SparkPlan {
    private final Seq attributes;
    private final boolean columnar;
    private final int number;

    ItemsExec(List items, StructType schema, int passes, boolean columnar) {
        this.attributes = DataTypeUtils.toAttributes(schema);
        this.columnar = columnar;
        synchronized (SparkPlans.LEAVES) {
            this.number = SparkPlans.LEAVES.size();
            SparkPlans.LEAVES.put(Integer.valueOf(number), new Items(items.toArray(), passes));
        }
    }

    public Seq children() {
        return scala.collection.immutable.Nil$.MODULE$;
    }

    public TreeNode withNewChildrenInternal(IndexedSeq children) {
        return this;
    }

    public Seq output() {
        return attributes;
    }

    public boolean supportsColumnar() {
        return columnar;
    }

    private RDD items() {
        JavaSparkContext context = JavaSparkContext.fromSparkContext(sparkContext());
        List one = Collections.singletonList(Integer.valueOf(number));
        return context.parallelize(one, 1).mapPartitions(new ItemsOf()).rdd();
    }

    public RDD doExecute() {
        return items();
    }

    public RDD doExecuteColumnar() {
        return items();
    }

    public int productArity() {
        return 1;
    }

    public Object productElement(int index) {
        return Integer.valueOf(number);
    }

    public boolean canEqual(Object other) {
        return other instanceof ItemsExec;
    }

    public boolean equals(Object other) {
        return this == other;
    }

    public int hashCode() {
        return number;
    }
}

/** The items of a leaf. */
final class Items {
    final Object[] items;
    final int passes;

    Items(Object[] items, int passes) {
        this.items = items;
        this.passes = passes;
    }
}

/** Hands out the items of the leaves whose numbers come in. */
final class ItemsOf implements FlatMapFunction {
    public Iterator call(Object numbers) {
        Object number = ((Iterator) numbers).next();
        return new ItemsIterator((Items) SparkPlans.LEAVES.get(number));
    }
}

/** Items, pass after pass. */
final class ItemsIterator implements Iterator {
    private final Object[] items;
    private final int passes;
    private int pass;
    private int at;

    ItemsIterator(Items of) {
        this.items = of.items;
        this.passes = of.passes;
    }

    public boolean hasNext() {
        return pass < passes;
    }

    public Object next() {
        if (pass >= passes) {
            throw new NoSuchElementException();
        }
        Object item = items[at++];
        if (at == items.length) {
            at = 0;
            pass++;
        }
        return item;
    }

    public void remove() {
        throw new UnsupportedOperationException();
    }
}
