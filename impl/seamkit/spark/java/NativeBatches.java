package seamkit;

import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * What Java asks of the side that owns native batches.
 *
 * <p>Addresses are of memory that the native side owns. A method that fails throws an exception
 * whose message has a line with the name of the error's class and its sentence.
 */
public interface NativeCalls {
    /**
     * Begins to read a part of a scan: its number, the ArrowArrayStream that reads it, and the
     * form of its batches.
     */
    long[] openPart(int scan, int part, String[] columns, int condition);

    /** Ends a reader, wherever it is. */
    void closePart(long reader);

    /**
     * Begins to turn batches of columns into rows, so many bytes a call, or rows into batches;
     * returns a converter, which NativeCode.endConverter ends.
     */
    long openConverter(String[] names, String[] types, long thresholdBytes);

    /** A copy of a batch of Arrow's vectors, told as `VectorWords` does. Returns its handle. */
    long vectorsToColumns(String[] names, String[] types, long words);

    /** Takes over a user of each handle, who lets go when a collection of results ends. */
    void keep(long collection, long[] handles);

    /**
     * Takes filters of a query, as `FilterText` writes them; returns the number of the condition
     * that they came to.
     */
    int pushFilters(int scan, String filters);
}

/**
 * The core's functions, bound by JNI when a session starts: what tasks need of handles and
 * converters, without Python. One that fails throws a RuntimeException as NativeCalls does.
 */
public final class NativeCode {
    /** The handles of the session; 0 without one. */
    public static volatile long batches;

    private NativeCode() {}

    /** The handles; whoever closes a batch after its session ended is told so. */
    public static long handles() {
        long found = batches;
        if (found == 0) {
            throw new IllegalStateException("there is no session that has native batches");
        }
        return found;
    }

    /** One user more of a handle. */
    public static native void retain(long batches, long handle);

    /** One user less of a handle. */
    public static native void release(long batches, long handle);

    /**
     * Reads a batch of a stream: tells in two words its handle, 0 without columns, and its number
     * of rows, -1 at the end.
     */
    public static native void nextBatch(long batches, int form, long stream, long words);

    /**
     * The ArrowArray of a batch, whose arrays all begin with their first element; it is good as
     * long as the handle.
     */
    public static native long arrowArray(long batches, long handle);

    /**
     * Rows of a batch from one row on, as many as one call makes. Tells in three words their
     * number, where the first one lies, and the address of where each begins and the last one
     * ends, in bytes from any place. All of it is gone with the next call.
     */
    public static native void rowsOf(long converter, long handle, long firstRow, long words);

    /** A batch of rows that lie end to end; lengths have 64 bits. Returns its handle. */
    public static native long batchOf(long converter, long address, long lengths, int rows);

    /** Ends a converter; its rows are gone. */
    public static native void endConverter(long converter);
}

/** How batches lie, and the operators between them and rows: what a session has one of. */
public interface Backend {
    /** A batch of a reader's, of which this side has the handle; closing it releases that. */
    ColumnarBatch batch(long handle, StructType schema, int rows);

    /** The operator that makes rows of a plan of such batches. */
    SparkPlan columnarToRow(SparkPlan child);

    /** The operator that makes such batches of a plan of rows. */
    SparkPlan rowToColumnar(SparkPlan child);

    /** A handle of a batch with columns, which its caller is to release. */
    long handle(ColumnarBatch batch, StructType schema);
}

/** Makes columnar batches of handles, and finds the handle of one. */
public final class NativeBatches {
    /** The native side; set when a session starts. */
    public static volatile NativeCalls calls;

    /** How the session keeps its batches; set when it starts. */
    public static volatile Backend backend;

    private NativeBatches() {}

    /** A batch whose first vector holds the handle; one without columns is a number of rows. */
    public static ColumnarBatch of(long handle, int columns, int rows) {
        ColumnVector[] vectors = new ColumnVector[columns];
        for (int i = 0; i < columns; i++) {
            vectors[i] = PlaceholderVector.INSTANCE;
        }
        if (columns > 0) {
            vectors[0] = new IndicatorVector(handle);
        }
        return new ColumnarBatch(vectors, rows);
    }

    /** The handle of a batch; 0 for one without columns. */
    public static long handle(ColumnarBatch batch) {
        if (batch.numCols() == 0) {
            return 0;
        }
        if (!(batch.column(0) instanceof IndicatorVector)) {
            throw new IllegalArgumentException("a batch of Spark's own vectors is no native batch");
        }
        return ((IndicatorVector) batch.column(0)).handle;
    }
}

/** Stands for the first column of a native batch and holds its handle. */
final class IndicatorVector extends OpaqueVector {
    final long handle;

    IndicatorVector(long handle) {
        this.handle = handle;
    }

    /** One user less: whoever closes a batch twice took it from somebody else, which is an error. */
    public void close() {
        NativeCode.release(NativeCode.handles(), handle);
    }
}

/** Stands for any other column. */
final class PlaceholderVector extends OpaqueVector {
    static final PlaceholderVector INSTANCE = new PlaceholderVector();

    public void close() {}
}

/** A vector without values. */
abstract class OpaqueVector extends ColumnVector {
    OpaqueVector() {
        super(DataTypes.NullType);
    }

    /** Operators that are done with a batch say so by this; its owner closes it all the same. */
    public void closeIfFreeable() {}

    private static UnsupportedOperationException refusal() {
        return new UnsupportedOperationException(
                "a native batch shows no values; turn it into rows first (session without "
                        + "seamkit.NativeExtension?)");
    }

    public boolean hasNull() {
        throw refusal();
    }

    public int numNulls() {
        throw refusal();
    }

    public boolean isNullAt(int row) {
        throw refusal();
    }

    public boolean getBoolean(int row) {
        throw refusal();
    }

    public byte getByte(int row) {
        throw refusal();
    }

    public short getShort(int row) {
        throw refusal();
    }

    public int getInt(int row) {
        throw refusal();
    }

    public long getLong(int row) {
        throw refusal();
    }

    public float getFloat(int row) {
        throw refusal();
    }

    public double getDouble(int row) {
        throw refusal();
    }

    public Decimal getDecimal(int row, int precision, int scale) {
        throw refusal();
    }

    public UTF8String getUTF8String(int row) {
        throw refusal();
    }

    public byte[] getBinary(int row) {
        throw refusal();
    }

    public ColumnarArray getArray(int row) {
        throw refusal();
    }

    public ColumnarMap getMap(int row) {
        throw refusal();
    }

    public ColumnVector getChild(int ordinal) {
        throw refusal();
    }
}
