package seamkit;

import java.util.Arrays;
import java.util.NoSuchElementException;
import org.apache.spark.Partition;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.types.*;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.util.TaskCompletionListener;
import scala.collection.AbstractIterator;
import scala.collection.IndexedSeq;
import scala.collection.Iterator;
import scala.collection.JavaConverters;
import scala.collection.Seq;
import scala.reflect.ClassTag$;

/** An operator with one child, whose columns and distribution it keeps. */
public abstract class NativeOperator extends SparkPlan {
    public final SparkPlan child;

    public NativeOperator(SparkPlan child) {
        this.child = child;
    }

    /** The same operator over another child. */
    public abstract NativeOperator over(SparkPlan other);

    /** What its constructor takes behind the child. */
    public abstract Object[] settings();

    public Seq otherCopyArgs() {
        return JavaConverters.asScalaBuffer(Arrays.asList(settings())).toList();
    }

    public Seq children() {
        return scala.collection.immutable.Nil$.MODULE$.$colon$colon(child);
    }

    public TreeNode withNewChildrenInternal(IndexedSeq children) {
        return over((SparkPlan) children.apply(0));
    }

    public Seq output() {
        return child.output();
    }

    public Partitioning outputPartitioning() {
        return child.outputPartitioning();
    }

    public Seq outputOrdering() {
        return child.outputOrdering();
    }

    public int productArity() {
        return 1;
    }

    public Object productElement(int index) {
        return child;
    }

    public boolean canEqual(Object other) {
        return other != null && other.getClass() == getClass();
    }

    public boolean equals(Object other) {
        return canEqual(other)
                && child.equals(((NativeOperator) other).child)
                && Arrays.equals(settings(), ((NativeOperator) other).settings());
    }

    public int hashCode() {
        return child.hashCode() * 31 + getClass().getName().hashCode();
    }
}

/** Rows of native batches, written by native code and read where they lie. */
public final class NativeColumnarToRowExec extends NativeOperator {
    private final long thresholdBytes;

    /** Rows come so many bytes a call, or one at a time. */
    public NativeColumnarToRowExec(SparkPlan child, long thresholdBytes) {
        super(child);
        this.thresholdBytes = thresholdBytes;
    }

    public NativeOperator over(SparkPlan other) {
        return new NativeColumnarToRowExec(other, thresholdBytes);
    }

    public Object[] settings() {
        return new Object[] {Long.valueOf(thresholdBytes)};
    }

    public RDD doExecute() {
        return new NativeRowsRDD(child.executeColumnar(), schema(), thresholdBytes);
    }
}

/** What makes batches of the rows of one task. */
public interface BatchBuilder {
    /** Takes a row, before which the batch has so many rows of so many bytes. */
    void add(UnsafeRow row, int count, long used);

    /** The batch of the rows since the last one, which its user closes. */
    ColumnarBatch finish(int count);

    /** Gives back what the task held; comes once, after the last batch is closed. */
    void end();
}

/** Makes the builders of tasks. */
public interface BatchBuilders extends java.io.Serializable {
    /** The name by which plans show the operator. */
    String operator();

    /** One for rows of a schema, and batches of at most so many. */
    BatchBuilder of(StructType schema, int batchRows);
}

/** Batches of rows, as a builder makes them. */
public final class RowToBatchesExec extends NativeOperator {
    private final BatchBuilders builders;
    private final int batchRows;
    private final long batchBytes;

    /** A batch ends at so many rows or bytes, whichever comes first, and has at least one row. */
    public RowToBatchesExec(
            SparkPlan child, BatchBuilders builders, int batchRows, long batchBytes) {
        super(child);
        this.builders = builders;
        this.batchRows = batchRows;
        this.batchBytes = batchBytes;
    }

    public NativeOperator over(SparkPlan other) {
        return new RowToBatchesExec(other, builders, batchRows, batchBytes);
    }

    public Object[] settings() {
        return new Object[] {builders, Integer.valueOf(batchRows), Long.valueOf(batchBytes)};
    }

    public String nodeName() {
        return builders.operator();
    }

    public boolean supportsColumnar() {
        return true;
    }

    public RDD doExecute() {
        throw new UnsupportedOperationException("this operator gives batches");
    }

    public RDD doExecuteColumnar() {
        return new BatchesRDD(child.execute(), schema(), builders, batchRows, batchBytes);
    }
}

/** Rows of the partitions of batches. */
final class NativeRowsRDD extends RDD {
    private final StructType schema;
    private final long thresholdBytes;

    NativeRowsRDD(RDD batches, StructType schema, long thresholdBytes) {
        super(batches, ClassTag$.MODULE$.apply(InternalRow.class));
        this.schema = schema;
        this.thresholdBytes = thresholdBytes;
    }

    public Partition[] getPartitions() {
        return parent(0, elementClassTag()).partitions();
    }

    public Iterator compute(Partition split, TaskContext context) {
        RDD batches = parent(0, elementClassTag());
        Iterator found = batches.iterator(split, context);
        return new NativeRows(found, schema, thresholdBytes, context);
    }
}

/** Batches of the partitions of rows. */
final class BatchesRDD extends RDD {
    private final StructType schema;
    private final BatchBuilders builders;
    private final int batchRows;
    private final long batchBytes;

    BatchesRDD(
            RDD rows, StructType schema, BatchBuilders builders, int batchRows, long batchBytes) {
        super(rows, ClassTag$.MODULE$.apply(ColumnarBatch.class));
        this.schema = schema;
        this.builders = builders;
        this.batchRows = batchRows;
        this.batchBytes = batchBytes;
    }

    public Partition[] getPartitions() {
        return parent(0, elementClassTag()).partitions();
    }

    public Iterator compute(Partition split, TaskContext context) {
        RDD rows = parent(0, elementClassTag());
        BatchBuilder builder = builders.of(schema, batchRows);
        UnsafeProjection projection = UnsafeProjection.create(schema);
        RowBatches found = new RowBatches(projection, builder, batchRows, batchBytes);
        context.addTaskCompletionListener((TaskCompletionListener) found);
        return found.of(rows.iterator(split, context));
    }
}

/** Rows of batches; one row object for all, good until the next one. */
final class NativeRows extends AbstractIterator implements TaskCompletionListener {
    private final Iterator batches;
    private final UnsafeRow row;
    private final int fields;
    private long converter;
    /** What the core tells of a call's rows. */
    private long words;
    private long handle;
    private int batchRows;
    /** Rows of the batch that were handed out, or lie in the buffer that is being read. */
    private int begun;
    private int left;
    /** Where the next row lies, where it begins in the core's count, and where that stands. */
    private long data;
    private long start;
    private long starts;

    NativeRows(Iterator batches, StructType schema, long thresholdBytes, TaskContext context) {
        this.batches = batches;
        this.fields = schema.size();
        this.row = new UnsafeRow(fields);
        if (fields > 0) {
            this.converter = SparkTypes.open(schema, thresholdBytes);
            this.words = Platform.allocateMemory(24);
            context.addTaskCompletionListener((TaskCompletionListener) this);
        } else {
            row.pointTo(new byte[0], Platform.BYTE_ARRAY_OFFSET, 0);
        }
    }

    public void onTaskCompletion(TaskContext context) {
        long open = converter;
        converter = 0;
        left = 0;
        if (open != 0) {
            Platform.freeMemory(words);
            NativeCode.endConverter(open);
        }
    }

    public boolean hasNext() {
        return left > 0 || more();
    }

    private boolean more() {
        while (left == 0) {
            if (begun >= batchRows) {
                if (!batches.hasNext()) {
                    return false;
                }
                ColumnarBatch batch = (ColumnarBatch) batches.next();
                handle = NativeBatches.handle(batch);
                batchRows = batch.numRows();
                begun = 0;
            }
            convert();
        }
        return true;
    }

    private void convert() {
        if (begun < batchRows && fields == 0) {
            left = batchRows;
        } else if (begun < batchRows) {
            NativeCode.rowsOf(converter, handle, begun, words);
            left = (int) Platform.getLong(null, words);
            data = Platform.getLong(null, words + 8);
            starts = Platform.getLong(null, words + 16);
            start = Platform.getLong(null, starts);
        }
        begun += left;
    }

    public Object next() {
        if (left == 0 && !more()) {
            throw new NoSuchElementException();
        }
        if (fields > 0) {
            starts += 8;
            long end = Platform.getLong(null, starts);
            int size = (int) (end - start);
            row.pointTo(null, data, size);
            data += size;
            start = end;
        }
        left--;
        return row;
    }
}

/** Batches of rows; a batch is good until the next one or the task's end. */
final class RowBatches extends AbstractIterator implements TaskCompletionListener {
    private final UnsafeProjection projection;
    private final BatchBuilder builder;
    private final int batchRows;
    private final long batchBytes;
    private Iterator rows;
    private UnsafeRow waiting;
    private ColumnarBatch batch;

    RowBatches(
            UnsafeProjection projection, BatchBuilder builder, int batchRows, long batchBytes) {
        this.projection = projection;
        this.builder = builder;
        this.batchRows = batchRows;
        this.batchBytes = batchBytes;
    }

    RowBatches of(Iterator from) {
        rows = from;
        return this;
    }

    public void onTaskCompletion(TaskContext context) {
        try {
            release();
        } finally {
            builder.end();
        }
    }

    private void release() {
        ColumnarBatch last = batch;
        batch = null;
        if (last != null) {
            last.close();
        }
    }

    public boolean hasNext() {
        return waiting != null || rows.hasNext();
    }

    public Object next() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        release();
        int count = 0;
        long used = 0;
        while (count < batchRows && hasNext()) {
            UnsafeRow row = waiting != null ? waiting : unsafe(rows.next());
            waiting = null;
            long size = row.getSizeInBytes();
            if (count > 0 && used + size > batchBytes) {
                waiting = row;
                break;
            }
            builder.add(row, count, used);
            used += size;
            count++;
        }
        batch = builder.finish(count);
        return batch;
    }

    private UnsafeRow unsafe(Object row) {
        return row instanceof UnsafeRow ? (UnsafeRow) row : projection.apply((InternalRow) row);
    }
}

/** Native batches: rows are copied end to end, and native code makes columns of them. */
public final class NativeBuilders implements BatchBuilders {
    public static final NativeBuilders INSTANCE = new NativeBuilders();

    private NativeBuilders() {}

    public String operator() {
        return "NativeRowToColumnar";
    }

    public BatchBuilder of(StructType schema, int batchRows) {
        return new NativeBuilder(schema, batchRows);
    }
}

/** The rows of a task, and the converter that takes them. */
final class NativeBuilder implements BatchBuilder {
    private static final int MANY_BYTES = 1024;

    private final int fields;
    private long converter;
    private long capacity = 1 << 20;
    private long data;
    private long lengths;

    NativeBuilder(StructType schema, int batchRows) {
        this.fields = schema.size();
        if (fields > 0) {
            this.converter = SparkTypes.open(schema, 0);
            this.data = Platform.allocateMemory(capacity);
            this.lengths = Platform.allocateMemory(8L * batchRows);
        }
    }

    public void end() {
        Platform.freeMemory(data);
        Platform.freeMemory(lengths);
        data = 0;
        lengths = 0;
        long open = converter;
        converter = 0;
        if (open != 0) {
            NativeCode.endConverter(open);
        }
    }

    public void add(UnsafeRow row, int count, long used) {
        if (fields > 0) {
            long size = row.getSizeInBytes();
            reserve(used, used + size);
            copy(row.getBaseObject(), row.getBaseOffset(), data + used, size);
            Platform.putLong(null, lengths + 8L * count, size);
        }
    }

    public ColumnarBatch finish(int count) {
        long handle =
                fields > 0
                        ? NativeCode.batchOf(converter, data, lengths, count)
                        : 0;
        return NativeBatches.of(handle, fields, count);
    }

    /** A row is whole words, and mostly few of them: a call into the JVM would cost more. */
    private static void copy(Object base, long offset, long target, long size) {
        if (size > MANY_BYTES || (size & 7) != 0 || !(base instanceof byte[])) {
            Platform.copyMemory(base, offset, null, target, size);
            return;
        }
        byte[] from = (byte[]) base; // of a known kind: compiled code keeps words in registers
        int at = 0;
        for (; at + 32 <= size; at += 32) {
            long first = Platform.getLong(from, offset + at);
            long second = Platform.getLong(from, offset + at + 8);
            long third = Platform.getLong(from, offset + at + 16);
            long fourth = Platform.getLong(from, offset + at + 24);
            Platform.putLong(null, target + at, first);
            Platform.putLong(null, target + at + 8, second);
            Platform.putLong(null, target + at + 16, third);
            Platform.putLong(null, target + at + 24, fourth);
        }
        for (; at < size; at += 8) {
            Platform.putLong(null, target + at, Platform.getLong(from, offset + at));
        }
    }

    private void reserve(long used, long needed) {
        if (needed > capacity) {
            long larger = Math.max(needed, 2 * capacity);
            data = Platform.reallocateMemory(data, used, larger);
            capacity = larger;
        }
    }
}

/** Spark's types as text, names of fields quoted. */
public final class SparkTypes {
    private SparkTypes() {}

    /** A converter for a schema. */
    static long open(StructType schema, long thresholdBytes) {
        return NativeBatches.calls.openConverter(
                schema.fieldNames(), texts(schema), thresholdBytes);
    }

    /** The types of a schema's columns. */
    public static String[] texts(StructType schema) {
        String[] types = new String[schema.size()];
        for (int i = 0; i < types.length; i++) {
            types[i] = text(schema.apply(i).dataType());
        }
        return types;
    }

    static String text(DataType type) {
        if (type instanceof ArrayType) {
            return "array<" + text(((ArrayType) type).elementType()) + ">";
        }
        if (type instanceof MapType) {
            MapType map = (MapType) type;
            return "map<" + text(map.keyType()) + "," + text(map.valueType()) + ">";
        }
        if (type instanceof StructType) {
            StringBuilder fields = new StringBuilder();
            StructType struct = (StructType) type;
            for (int i = 0; i < struct.size(); i++) {
                String name = struct.apply(i).name().replace("`", "``");
                fields.append(i > 0 ? "," : "").append("`").append(name).append("`:");
                fields.append(text(struct.apply(i).dataType()));
            }
            return "struct<" + fields + ">";
        }
        return type.catalogString();
    }
}
