package seambench;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.UnsafeRowSerializer;
import org.apache.spark.sql.types.*;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.Platform;

/**
 * Rows by Spark's projection and serializer.
 *
 * <p>Janino compiles it: no lambdas, no generic inference.
 */
public final class SparkRows {
    private static long sink;

    private SparkRows() {}

    /** Rows as Spark's shuffle writes them: before each its length, 32 bits, big-endian. */
    public static byte[] writeStream(ColumnarBatch batch, StructType schema) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        UnsafeProjection projection = UnsafeProjection.create(schema);
        SerializationStream stream =
                new UnsafeRowSerializer(schema.size(), null).newInstance().serializeStream(out);
        Iterator rows = batch.rowIterator();
        while (rows.hasNext()) {
            stream.writeValue(projection.apply((InternalRow) rows.next()), null);
        }
        stream.close();
        return out.toByteArray();
    }

    /** Rows end to end, with nothing between them. */
    public static byte[] writePacked(ColumnarBatch batch, StructType schema) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        UnsafeProjection projection = UnsafeProjection.create(schema);
        Iterator rows = batch.rowIterator();
        while (rows.hasNext()) {
            byte[] row = projection.apply((InternalRow) rows.next()).getBytes();
            out.write(row, 0, row.length);
        }
        return out.toByteArray();
    }

    /** Rows of a shuffle's stream, each with memory of its own. */
    public static List readStream(byte[] data, StructType schema) {
        scala.collection.Iterator pairs =
                new UnsafeRowSerializer(schema.size(), null)
                        .newInstance()
                        .deserializeStream(new ByteArrayInputStream(data))
                        .asKeyValueIterator();
        ArrayList rows = new ArrayList();
        long read = 0;
        while (pairs.hasNext()) {
            UnsafeRow row = ((UnsafeRow) ((scala.Tuple2) pairs.next())._2()).copy();
            rows.add(row);
            read += 4 + row.getSizeInBytes();
        }
        // Spark takes a stream that ends within a length for one that ends before it.
        require(read == data.length, "the stream ends within the length of row " + rows.size());
        return rows;
    }

    /** Rows within a buffer, by their offsets and lengths. */
    public static List readPacked(byte[] data, int fields, int[] offsets, int[] lengths) {
        ArrayList rows = new ArrayList();
        for (int i = 0; i < offsets.length; i++) {
            UnsafeRow row = new UnsafeRow(fields);
            row.pointTo(data, Platform.BYTE_ARRAY_OFFSET + offsets[i], lengths[i]);
            rows.add(row);
        }
        return rows;
    }

    // ------------------------------------------------------------------------------ structure

    /**
     * Throws unless everything that the getters of rows would follow lies within them.
     *
     * <p>Spark's getters believe what rows say, and would read whatever lies behind them.
     */
    public static void check(List rows, StructType schema) {
        for (int i = 0; i < rows.size(); i++) {
            UnsafeRow row = (UnsafeRow) rows.get(i);
            try {
                checkRow(row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes(), schema);
            } catch (IllegalArgumentException error) {
                throw new IllegalArgumentException("row " + i + ": " + error.getMessage());
            }
        }
    }

    private static void require(boolean holds, String what) {
        if (!holds) {
            throw new IllegalArgumentException(what);
        }
    }

    private static void checkRow(Object base, long at, long size, StructType schema) {
        int nullBytes = UnsafeRow.calculateBitSetWidthInBytes(schema.size());
        require(size % 8 == 0, "its " + size + " bytes are no multiple of 8");
        require(nullBytes + 8L * schema.size() <= size, "its " + size + " bytes are too few");
        for (int i = 0; i < schema.size(); i++) {
            boolean isNull = (Platform.getByte(base, at + (i >> 3)) >> (i & 7) & 1) != 0;
            DataType type = schema.apply(i).dataType();
            if (!isNull && !UnsafeRow.isFixedLength(type)) {
                long word = Platform.getLong(base, at + nullBytes + 8L * i);
                try {
                    checkTail(base, at, size, word, type);
                } catch (IllegalArgumentException error) {
                    String name = schema.apply(i).name();
                    throw new IllegalArgumentException("field " + name + ": " + error.getMessage());
                }
            }
        }
    }

    private static void checkTail(Object base, long at, long size, long word, DataType type) {
        long start = word >>> 32;
        long length = word & 0xffffffffL;
        if (type instanceof CalendarIntervalType) {
            length = 16;
        }
        require(start + length <= size, start + " + " + length + " is beyond " + size + " bytes");
        if (type instanceof DecimalType) {
            require(length >= 1 && length <= 16, "a decimal of " + length + " bytes");
        } else if (type instanceof StructType) {
            checkRow(base, at + start, length, (StructType) type);
        } else if (type instanceof ArrayType) {
            checkArray(base, at + start, length, ((ArrayType) type).elementType());
        } else if (type instanceof MapType) {
            require(length >= 8, "a map of " + length + " bytes");
            long keys = Platform.getLong(base, at + start);
            require(keys >= 0 && keys <= length - 8, "a map's keys of " + keys + " bytes");
            long values = at + start + 8 + keys;
            checkArray(base, at + start + 8, keys, ((MapType) type).keyType());
            checkArray(base, values, length - 8 - keys, ((MapType) type).valueType());
            require(
                    Platform.getLong(base, at + start + 8) == Platform.getLong(base, values),
                    "a map whose keys and values differ in number");
            requireNoNulls(base, at + start + 8);
        }
    }

    private static void requireNoNulls(Object base, long array) {
        long count = Platform.getLong(base, array);
        for (long i = 0; i < (count + 63) / 64; i++) {
            require(Platform.getLong(base, array + 8 + 8 * i) == 0, "a map with a null key");
        }
    }

    private static void checkArray(Object base, long at, long size, DataType type) {
        require(size >= 8, "an array of " + size + " bytes");
        long count = Platform.getLong(base, at);
        require(count >= 0 && count <= 8 * size, "an array of " + count + " elements");
        long head = 8 + (count + 63) / 64 * 8;
        boolean fixed = UnsafeRow.isFixedLength(type);
        long width = fixed && !(type instanceof NullType) ? type.defaultSize() : 8;
        if (type instanceof DecimalType) {
            width = 8;
        }
        require(head + (type instanceof NullType ? 0 : width * count) <= size, "too many elements");
        for (int i = 0; !fixed && i < count; i++) {
            boolean isNull = (Platform.getByte(base, at + 8 + (i >> 3)) >> (i & 7) & 1) != 0;
            if (!isNull) {
                checkTail(base, at, size, Platform.getLong(base, at + head + 8L * i), type);
            }
        }
    }

    // ---------------------------------------------------------------------------------- times

    /** Seconds of each of some passes of the projection over rows. */
    public static double[] timeProject(List list, StructType schema, int passes) {
        InternalRow[] rows = (InternalRow[]) list.toArray(new InternalRow[0]);
        UnsafeProjection projection = UnsafeProjection.create(schema);
        double[] seconds = new double[passes];
        for (int pass = 0; pass < passes; pass++) {
            long begin = System.nanoTime();
            long bytes = 0;
            for (int i = 0; i < rows.length; i++) {
                bytes += projection.apply(rows[i]).getSizeInBytes();
            }
            seconds[pass] = (System.nanoTime() - begin) / 1e9;
            sink += bytes;
        }
        return seconds;
    }

    /**
     * Seconds of each of some passes that visit every field of rows end to end.
     *
     * <p>Ordinals come by the getter that reads them; row i spans offsets i to i + 1.
     */
    public static double[] timeTouch(
            byte[] data, int[] offsets, int[] longs, int[] ints, int[] texts, int passes) {
        UnsafeRow row = new UnsafeRow(longs.length + ints.length + texts.length);
        double[] seconds = new double[passes];
        for (int pass = 0; pass < passes; pass++) {
            long begin = System.nanoTime();
            for (int i = 0; i + 1 < offsets.length; i++) {
                int bytes = offsets[i + 1] - offsets[i];
                row.pointTo(data, Platform.BYTE_ARRAY_OFFSET + offsets[i], bytes);
                long sum = 0;
                for (int c = 0; c < longs.length; c++) {
                    sum += row.isNullAt(longs[c]) ? 0L : row.getLong(longs[c]);
                }
                for (int c = 0; c < ints.length; c++) {
                    sum += row.isNullAt(ints[c]) ? 0 : row.getInt(ints[c]);
                }
                for (int c = 0; c < texts.length; c++) {
                    sum += row.isNullAt(texts[c]) ? 0 : row.getUTF8String(texts[c]).numBytes();
                }
                sink += sum;
            }
            seconds[pass] = (System.nanoTime() - begin) / 1e9;
        }
        return seconds;
    }
}
