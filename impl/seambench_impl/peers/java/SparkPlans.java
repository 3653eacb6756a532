package seambench;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
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
import seamkit.Backend;
import seamkit.KeptHandles;

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

    /** A backend's operator over batches of it. */
    public static RDD backendRows(Backend backend, List batches, StructType schema, int passes) {
        SparkPlan leaf = new ItemsExec(batches, schema, passes, true);
        SparkPlan plan = backend.columnarToRow(leaf);
        return plan instanceof ColumnarToRowExec
                ? sparkRows(batches, schema, passes)
                : plan.execute();
    }

    /** Spark's operator over rows. */
    public static RDD sparkColumns(List rows, StructType schema, int passes) {
        return new RowToColumnarExec(new ItemsExec(rows, schema, passes, false)).executeColumnar();
    }

    /** A backend's operator over rows. */
    public static RDD backendColumns(Backend backend, List rows, StructType schema, int passes) {
        return backend.rowToColumnar(new ItemsExec(rows, schema, passes, false)).executeColumnar();
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

    /**
     * Rows of a batch by Spark's projection. Spark's `copy` of a row reads every number of an array,
     * also those that are null, which vectors of Arrow's library refuse.
     */
    private static List unsafeRowsOf(ColumnarBatch batch, StructType schema) {
        ArrayList rows = new ArrayList();
        UnsafeProjection projection = UnsafeProjection.create(schema);
        Iterator all = batch.rowIterator();
        while (all.hasNext()) {
            rows.add(projection.apply((InternalRow) all.next()).copy());
        }
        return rows;
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

    /** Copies of the rows of each of a plan's batches: a list of lists. */
    public static List copiesByBatch(RDD rdd) {
        ArrayList found = new ArrayList();
        Task task = new Task(rdd);
        try {
            while (task.items.hasNext()) {
                found.add(SparkColumns.rows((ColumnarBatch) task.items.next()));
            }
        } finally {
            task.end();
        }
        return found;
    }

    /**
     * The rows of a plan as they came: their bytes end to end, the bytes of each, and of each
     * whether it lies behind the one before, as rows of one call do that native code wrote.
     */
    public static Object[] bytesOfRows(RDD rdd) {
        ByteArrayOutputStream data = new ByteArrayOutputStream();
        ArrayList lengths = new ArrayList();
        ArrayList follows = new ArrayList();
        long end = -1;
        Task task = new Task(rdd);
        try {
            while (task.items.hasNext()) {
                UnsafeRow row = (UnsafeRow) task.items.next();
                byte[] bytes = row.getBytes();
                data.write(bytes, 0, bytes.length);
                lengths.add(Integer.valueOf(bytes.length));
                boolean off = row.getBaseObject() == null;
                follows.add(Boolean.valueOf(off && row.getBaseOffset() == end));
                end = row.getBaseOffset() + bytes.length;
            }
        } finally {
            task.end();
        }
        return new Object[] {data.toByteArray(), lengths, follows};
    }

    /** Keeps a plan's batches for a collection: their handles, or below zero numbers of rows. */
    public static List keepBatches(RDD rdd, StructType schema, Backend backend, long collection) {
        Task task = new Task(rdd);
        try {
            return KeptHandles.keep(task.items, schema, backend, collection);
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
                    copies.add(unsafeRowsOf(arrowBatch(root), schema));
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
        return pass < passes && items.length > 0;
    }

    public Object next() {
        if (!hasNext()) {
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
