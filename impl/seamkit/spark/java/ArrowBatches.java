package seamkit;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.ForeignAllocation;
import org.apache.arrow.vector.BaseVariableWidthVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.NullVector;
import org.apache.arrow.vector.BaseFixedWidthVector;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.arrow.vector.ipc.message.ArrowFieldNode;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.Platform;

/** Batches of vectors of Arrow's Java library, whose values Spark's own code reads. */
public final class ArrowBatches {
    private ArrowBatches() {}

    /** The vector that holds a column; a type that Arrow's library has no vector for is refused. */
    public static FieldVector vectorFor(StructField field, BufferAllocator allocator) {
        try {
            return ArrowUtils.toArrowField(field.name(), field.dataType(), true, "UTC", false)
                    .createVector(allocator);
        } catch (RuntimeException error) {
            throw refusal(
                    "column " + field.name() + ": the backend arrow has no vectors of type "
                            + field.dataType().catalogString());
        }
    }

    /** An error that reaches Python as RefusedError. */
    public static RuntimeException refusal(String sentence) {
        return new RuntimeException("\nseambase.errors.RefusedError: " + sentence);
    }

    /** Vectors over the memory of a batch behind a handle, which goes when the batch is closed. */
    public static ColumnarBatch of(long handle, StructType schema, int rows) {
        ColumnVector[] columns = new ColumnVector[schema.size()];
        if (columns.length > 0) {
            long children = Platform.getLong(null, NativeCode.arrowArray(NativeCode.handles(), handle) + 48);
            for (int i = 0; i < columns.length; i++) {
                FieldVector vector = vectorFor(schema.apply(i), ArrowUtils.rootAllocator());
                load(vector, Platform.getLong(null, children + 8L * i));
                columns[i] = new OwnedVector(vector, i + 1 == columns.length ? handle : 0);
            }
        }
        return new ColumnarBatch(columns, rows);
    }

    /** Lets a vector read the memory of an `ArrowArray` of Arrow's C Data Interface. */
    private static void load(FieldVector vector, long array) {
        long rows = Platform.getLong(null, array);
        long nulls = Platform.getLong(null, array + 8);
        long buffers = Platform.getLong(null, array + 40);
        ArrayList found = new ArrayList();
        for (int i = 0; i < Platform.getLong(null, array + 24); i++) {
            long address = Platform.getLong(null, buffers + 8L * i);
            found.add(foreign(vector.getAllocator(), address, size(vector, i, rows, buffers)));
        }
        // Without a bitmap nothing is null, whatever else the count says.
        boolean all = found.isEmpty() || Platform.getLong(null, buffers) == 0;
        give(vector, rows, all ? 0 : nulls, found);
        long children = Platform.getLong(null, array + 48);
        for (int i = 0; i < Platform.getLong(null, array + 32); i++) {
            load((FieldVector) vector.getChildrenFromFields().get(i),
                    Platform.getLong(null, children + 8L * i));
        }
    }

    /** Hands buffers over to a vector. */
    public static void give(FieldVector vector, long rows, long nulls, List buffers) {
        vector.loadFieldBuffers(new ArrowFieldNode(rows, nulls), buffers);
        if (vector instanceof NullVector) {
            vector.setValueCount((int) rows); // which is all that it has
        }
        for (int i = 0; i < buffers.size(); i++) {
            ((ArrowBuf) buffers.get(i)).getReferenceManager().release();
        }
    }

    private static ArrowBuf foreign(BufferAllocator allocator, long address, long size) {
        if (address == 0 || size == 0) {
            return allocator.buffer(0);
        }
        ArrowBuf buffer = allocator.wrapForeignAllocation(new HeldByHandle(size, address));
        return buffer.writerIndex(size);
    }

    private static long size(FieldVector vector, int number, long rows, long buffers) {
        if (number == 0) {
            return (rows + 7) / 8;
        }
        if (vector instanceof BitVector) {
            return (rows + 7) / 8;
        }
        if (vector instanceof BaseFixedWidthVector) {
            return rows * ((BaseFixedWidthVector) vector).getTypeWidth();
        }
        if (number == 1) {
            return 4 * (rows + 1);
        }
        // Of no rows there may be no offsets at all.
        return rows == 0 ? 0 : Platform.getInt(null, Platform.getLong(null, buffers + 8) + 4 * rows);
    }

    /** The vector of a column of a batch of this kind. */
    public static FieldVector vectorOf(ColumnarBatch batch, int column) {
        if (!(batch.column(column) instanceof OwnedVector)) {
            throw new IllegalArgumentException("a batch of others' vectors is none of this backend");
        }
        return (FieldVector) ((OwnedVector) batch.column(column)).getValueVector();
    }
}

/** Memory that lives as long as a handle. */
final class HeldByHandle extends ForeignAllocation {
    HeldByHandle(long size, long address) {
        super(size, address);
    }

    protected void release0() {}
}

/** A vector that its owner closes, whatever operators say, and with the last one the handle. */
public final class OwnedVector extends ArrowColumnVector {
    private final long handle;

    /** Over a vector; of a handle, which is 0 if there is none to release. */
    public OwnedVector(FieldVector vector, long handle) {
        super(vector);
        this.handle = handle;
    }

    public void closeIfFreeable() {}

    public void close() {
        super.close();
        if (handle != 0) {
            NativeCode.release(NativeCode.handles(), handle);
        }
    }
}

/**
 * Vectors as words, depth first: number of rows, number of buffers, address and bytes of each.
 */
public final class VectorWords {
    private long[] words = new long[64];
    private int count;

    /** Adds a vector and those within. */
    public void add(FieldVector vector) {
        List buffers = vector.getFieldBuffers();
        put(vector.getValueCount());
        put(buffers.size());
        for (int i = 0; i < buffers.size(); i++) {
            ArrowBuf buffer = (ArrowBuf) buffers.get(i);
            put(buffer.memoryAddress());
            put(buffer.writerIndex());
        }
        List children = vector.getChildrenFromFields();
        for (int i = 0; i < children.size(); i++) {
            add((FieldVector) children.get(i));
        }
    }

    private void put(long word) {
        if (count == words.length) {
            words = Arrays.copyOf(words, 2 * count);
        }
        words[count++] = word;
    }

    /** A copy of them in memory that the caller frees, after their number. */
    public long address() {
        long address = Platform.allocateMemory(8L * (count + 1));
        Platform.putLong(null, address, count);
        for (int i = 0; i < count; i++) {
            Platform.putLong(null, address + 8L * (i + 1), words[i]);
        }
        return address;
    }
}
