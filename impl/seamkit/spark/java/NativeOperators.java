package seamkit;

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
import scala.collection.Seq;
import scala.reflect.ClassTag$;

/** An operator with one child, whose columns and distribution it keeps. */
abstract class NativeOperator extends SparkPlan {
    final SparkPlan child;

    NativeOperator(SparkPlan child) {
        this.child = child;
    }

    abstract NativeOperator over(SparkPlan other);

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
        return canEqual(other) && child.equals(((NativeOperator) other).child);
    }

    public int hashCode() {
        return child.hashCode() * 31 + getClass().getName().hashCode();
    }
}

/** Rows of native batches, written by native code and read where they lie. */
public final class NativeColumnarToRowExec extends NativeOperator {
    public NativeColumnarToRowExec(SparkPlan child) {
        super(child);
    }

    NativeOperator over(SparkPlan other) {
        return new NativeColumnarToRowExec(other);
    }

    public RDD doExecute() {
        return new NativeRowsRDD(child.executeColumnar(), output().size());
    }
}

/** Native batches of rows, which are copied end to end and turned into columns by native code. */
public final class NativeRowToColumnarExec extends NativeOperator {
    public NativeRowToColumnarExec(SparkPlan child) {
        super(child);
    }

    NativeOperator over(SparkPlan other) {
        return new NativeRowToColumnarExec(other);
    }

    public boolean supportsColumnar() {
        return true;
    }

    public RDD doExecute() {
        throw new UnsupportedOperationException("this operator gives batches");
    }

    public RDD doExecuteColumnar() {
        return new NativeColumnsRDD(child.execute(), schema());
    }
}

/** Rows of the partitions of batches. */
final class NativeRowsRDD extends RDD {
    private final int fields;

    NativeRowsRDD(RDD batches, int fields) {
        super(batches, ClassTag$.MODULE$.apply(InternalRow.class));
        this.fields = fields;
    }

    public Partition[] getPartitions() {
        return parent(0, elementClassTag()).partitions();
    }

    public Iterator compute(Partition split, TaskContext context) {
        RDD batches = parent(0, elementClassTag());
        return new NativeRows(batches.iterator(split, context), fields, context);
    }
}

/** Batches of the partitions of rows. */
final class NativeColumnsRDD extends RDD {
    private final StructType schema;

    NativeColumnsRDD(RDD rows, StructType schema) {
        super(rows, ClassTag$.MODULE$.apply(ColumnarBatch.class));
        this.schema = schema;
    }

    public Partition[] getPartitions() {
        return parent(0, elementClassTag()).partitions();
    }

    public Iterator compute(Partition split, TaskContext context) {
        RDD rows = parent(0, elementClassTag());
        return new NativeColumns(rows.iterator(split, context), schema, context);
    }
}

/** Rows of batches; one row object for all, good until the next one. */
final class NativeRows extends AbstractIterator implements TaskCompletionListener {
    private final Iterator batches;
    private final UnsafeRow row;
    private final int fields;
    private long converter;
    private long handle;
    private int batchRows;
    /** Rows of the batch that were handed out, or lie in the buffer that is being read. */
    private int begun;
    private int at;
    private int count;
    private long data;
    private long offsets;
    private long lengths;

    NativeRows(Iterator batches, int fields, TaskContext context) {
        this.batches = batches;
        this.fields = fields;
        this.row = new UnsafeRow(fields);
        if (fields > 0) {
            this.converter = NativeBatches.calls.openRows();
            context.addTaskCompletionListener((TaskCompletionListener) this);
        } else {
            row.pointTo(new byte[0], Platform.BYTE_ARRAY_OFFSET, 0);
        }
    }

    public void onTaskCompletion(TaskContext context) {
        long open = converter;
        converter = 0;
        if (open != 0) {
            NativeBatches.calls.closeRows(open);
        }
    }

    public boolean hasNext() {
        while (at >= count) {
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
        at = 0;
        count = 0;
        if (begun < batchRows && fields == 0) {
            count = batchRows;
        } else if (begun < batchRows) {
            long words = NativeBatches.calls.columnsToRows(converter, handle, begun);
            count = (int) Platform.getLong(null, words);
            data = Platform.getLong(null, words + 8);
            offsets = Platform.getLong(null, words + 16);
            lengths = Platform.getLong(null, words + 24);
        }
        begun += count;
    }

    public Object next() {
        if (at >= count && !hasNext()) {
            throw new NoSuchElementException();
        }
        if (fields > 0) {
            row.pointTo(
                    null,
                    data + Platform.getInt(null, offsets + 4L * at),
                    Platform.getInt(null, lengths + 4L * at));
        }
        at++;
        return row;
    }
}

/** Batches of rows; a batch is good until the next one or the task's end. */
final class NativeColumns extends AbstractIterator implements TaskCompletionListener {
    /** A batch ends at so many rows or bytes, whichever comes first, and has at least one row. */
    private static final int MAX_ROWS = 4096;
    private static final long MAX_BYTES = 64L << 20;
    private static final int MANY_BYTES = 1024;

    private final Iterator rows;
    private final int fields;
    private final UnsafeProjection projection;
    private long converter;
    private long capacity = 1 << 20;
    private long data;
    private long lengths;
    private UnsafeRow waiting;
    private ColumnarBatch batch;

    NativeColumns(Iterator rows, StructType schema, TaskContext context) {
        this.rows = rows;
        this.fields = schema.size();
        this.projection = UnsafeProjection.create(schema);
        context.addTaskCompletionListener((TaskCompletionListener) this);
        if (fields > 0) {
            String[] types = new String[fields];
            for (int i = 0; i < fields; i++) {
                types[i] = SparkTypes.text(schema.apply(i).dataType());
            }
            this.converter = NativeBatches.calls.openColumns(schema.fieldNames(), types);
            this.data = Platform.allocateMemory(capacity);
            this.lengths = Platform.allocateMemory(8L * MAX_ROWS);
        }
    }

    public void onTaskCompletion(TaskContext context) {
        long open = converter;
        converter = 0;
        try {
            release();
        } finally {
            Platform.freeMemory(data);
            Platform.freeMemory(lengths);
            data = 0;
            lengths = 0;
            if (open != 0) {
                NativeBatches.calls.closeColumns(open);
            }
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
        while (count < MAX_ROWS && hasNext()) {
            UnsafeRow row = waiting != null ? waiting : unsafe(rows.next());
            waiting = null;
            long size = row.getSizeInBytes();
            if (count > 0 && used + size > MAX_BYTES) {
                waiting = row;
                break;
            }
            if (fields > 0) {
                reserve(used, used + size);
                copy(row.getBaseObject(), row.getBaseOffset(), data + used, size);
                Platform.putLong(null, lengths + 8L * count, size);
            }
            used += size;
            count++;
        }
        long handle =
                fields > 0
                        ? NativeBatches.calls.rowsToColumns(converter, data, lengths, count)
                        : 0;
        batch = NativeBatches.of(handle, fields, count);
        return batch;
    }

    /** A row is whole words, and mostly few of them: a call into the JVM would cost more. */
    private static void copy(Object base, long offset, long target, long size) {
        if (size > MANY_BYTES) {
            Platform.copyMemory(base, offset, null, target, size);
            return;
        }
        for (int at = 0; at < size; at += 8) {
            Platform.putLong(null, target + at, Platform.getLong(base, offset + at));
        }
    }

    private UnsafeRow unsafe(Object row) {
        return row instanceof UnsafeRow ? (UnsafeRow) row : projection.apply((InternalRow) row);
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
final class SparkTypes {
    private SparkTypes() {}

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
