package seambench;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.execution.vectorized.OffHeapColumnVector;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.types.*;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.CalendarInterval;

/**
 * Spark's columns and rows from a chain of addresses of native memory, and back.
 *
 * <p>A chain is an array of 64-bit words: the number of rows; then for each column its null bytes
 * and its data (fixed width), or null bytes, n + 1 offsets and bytes (texts); arrays and maps have
 * null bytes, offsets and their children's words, structs null bytes and their children's. What the
 * words of one column are is told by its form: the bytes a value, or one of the constants below.
 * All memory is read and written through Spark's {@code Platform}.
 *
 * <p>Janino compiles it: no lambdas, no generic inference.
 */
public final class SparkColumns {
    /** Forms that are not a width in bytes. */
    public static final int TEXT = 0;
    public static final int LIST = -1;
    public static final int MAP = -2;
    public static final int STRUCT = -3;
    /** One word, 0: every row is null. */
    public static final int ABSENT = -4;
    /** Null bytes, then data of months (4 bytes), days (4) and microseconds (8), without nulls. */
    public static final int INTERVAL = -5;
    /** 4 bytes: Julian day. */
    public static final int JULIAN_DAY = -6;
    /** 8 bytes: Julian day << 40 | microsecond of the day. */
    public static final int JULIAN_TIME = -7;

    private static final long EPOCH = 2440588L;
    private static final long DAY_MICROS = 86400000000L;
    private static final long CLOCK = (1L << 40) - 1;

    private final int[] forms;
    private int form;
    private long word;
    private ArrayList words = new ArrayList();
    private ArrayList sizes = new ArrayList();

    private SparkColumns(int[] forms, long word) {
        this.forms = forms;
        this.word = word;
    }

    // -------------------------------------------------------------------------- chain to columns

    /** A batch of the columns of a chain; the chain's memory is not needed any more. */
    public static ColumnarBatch batch(long chain, StructType schema, int[] forms, boolean offHeap) {
        SparkColumns cursor = new SparkColumns(forms, chain + 8);
        int rows = (int) Platform.getLong(null, chain);
        ColumnVector[] columns = new ColumnVector[schema.size()];
        for (int i = 0; i < columns.length; i++) {
            DataType type = schema.apply(i).dataType();
            WritableColumnVector column = vector(rows, type, offHeap);
            cursor.read(type, column, rows);
            columns[i] = column;
        }
        return new ColumnarBatch(columns, rows);
    }

    private static WritableColumnVector vector(int rows, DataType type, boolean offHeap) {
        DataType held = held(type);
        int capacity = Math.max(rows, 1);
        if (offHeap) {
            return new OffHeapColumnVector(capacity, held);
        }
        return new OnHeapColumnVector(capacity, held);
    }

    /** No vector of Spark holds void; one of bytes, all null, shows the same. */
    private static DataType held(DataType type) {
        if (type instanceof NullType) {
            return DataTypes.ByteType;
        }
        if (type instanceof ArrayType) {
            return DataTypes.createArrayType(held(((ArrayType) type).elementType()));
        }
        if (type instanceof MapType) {
            MapType map = (MapType) type;
            return DataTypes.createMapType(held(map.keyType()), held(map.valueType()));
        }
        if (type instanceof StructType) {
            StructType struct = new StructType();
            for (int i = 0; i < ((StructType) type).size(); i++) {
                StructField field = ((StructType) type).apply(i);
                struct = struct.add(field.name(), held(field.dataType()));
            }
            return struct;
        }
        return type;
    }

    private long next() {
        long value = Platform.getLong(null, word);
        word += 8;
        return value;
    }

    private void read(DataType type, WritableColumnVector out, int rows) {
        int kind = forms[form++];
        out.reserve(Math.max(rows, 1));
        long nulls = next();
        if (kind == ABSENT) {
            if (nulls != 0) {
                throw new IllegalArgumentException("an absent column has an address");
            }
            out.putNulls(0, rows);
            return;
        }
        for (int i = 0; i < rows; i++) {
            if (Platform.getByte(null, nulls + i) != 0) {
                out.putNull(i);
            }
        }
        if (kind == STRUCT) {
            StructType struct = (StructType) type;
            for (int i = 0; i < struct.size(); i++) {
                read(struct.apply(i).dataType(), out.getChild(i), rows);
            }
        } else if (kind == LIST || kind == MAP) {
            readSpans(type, out, rows);
        } else if (kind == INTERVAL) {
            readIntervals(out, rows);
        } else if (kind == TEXT) {
            readTexts(out, rows);
        } else {
            readFixed(type, kind, out, rows);
        }
    }

    private void readSpans(DataType type, WritableColumnVector out, int rows) {
        long offsets = next();
        for (int i = 0; i < rows; i++) {
            int start = Platform.getInt(null, offsets + 4L * i);
            out.putArray(i, start, Platform.getInt(null, offsets + 4L * i + 4) - start);
        }
        int total = Platform.getInt(null, offsets + 4L * rows);
        if (type instanceof ArrayType) {
            read(((ArrayType) type).elementType(), out.getChild(0), total);
        } else {
            read(((MapType) type).keyType(), out.getChild(0), total);
            read(((MapType) type).valueType(), out.getChild(1), total);
        }
    }

    private void readIntervals(WritableColumnVector out, int rows) {
        for (int c = 0; c < 3; c++) {
            out.getChild(c).reserve(Math.max(rows, 1));
        }
        long months = next();
        long days = next();
        long micros = next();
        for (int i = 0; i < rows; i++) {
            if (!out.isNullAt(i)) {
                int m = Platform.getInt(null, months + 4L * i);
                int d = Platform.getInt(null, days + 4L * i);
                long u = Platform.getLong(null, micros + 8L * i);
                out.putInterval(i, new CalendarInterval(m, d, u));
            }
        }
    }

    private void readTexts(WritableColumnVector out, int rows) {
        long offsets = next();
        long bytes = next();
        for (int i = 0; i < rows; i++) {
            if (!out.isNullAt(i)) {
                int start = Platform.getInt(null, offsets + 4L * i);
                byte[] text = new byte[Platform.getInt(null, offsets + 4L * i + 4) - start];
                Platform.copyMemory(
                        null, bytes + start, text, Platform.BYTE_ARRAY_OFFSET, text.length);
                out.putByteArray(i, text, 0, text.length);
            }
        }
    }

    private void readFixed(DataType type, int kind, WritableColumnVector out, int rows) {
        long data = next();
        for (int i = 0; i < rows; i++) {
            if (out.isNullAt(i)) {
                continue;
            }
            if (type instanceof DecimalType) {
                DecimalType decimal = (DecimalType) type;
                BigDecimal value = new BigDecimal(unscaled(data, kind, i), decimal.scale());
                int precision = decimal.precision();
                out.putDecimal(i, Decimal.apply(value, precision, decimal.scale()), precision);
            } else if (kind == JULIAN_DAY) {
                out.putInt(i, (int) (Platform.getInt(null, data + 4L * i) - EPOCH));
            } else if (kind == JULIAN_TIME) {
                long packed = Platform.getLong(null, data + 8L * i);
                out.putLong(i, ((packed >> 40) - EPOCH) * DAY_MICROS + (packed & CLOCK));
            } else if (type instanceof BooleanType) {
                out.putBoolean(i, Platform.getByte(null, data + i) != 0);
            } else if (kind == 1) {
                out.putByte(i, Platform.getByte(null, data + i));
            } else if (kind == 2) {
                out.putShort(i, Platform.getShort(null, data + 2L * i));
            } else if (type instanceof FloatType) {
                out.putFloat(i, Platform.getFloat(null, data + 4L * i));
            } else if (type instanceof DoubleType) {
                out.putDouble(i, Platform.getDouble(null, data + 8L * i));
            } else if (kind == 4) {
                out.putInt(i, Platform.getInt(null, data + 4L * i));
            } else {
                out.putLong(i, Platform.getLong(null, data + 8L * i));
            }
        }
    }

    private static BigInteger unscaled(long data, int width, int row) {
        if (width == 4) {
            return BigInteger.valueOf(Platform.getInt(null, data + 4L * row));
        }
        if (width == 8) {
            return BigInteger.valueOf(Platform.getLong(null, data + 8L * row));
        }
        BigInteger high = BigInteger.valueOf(Platform.getLong(null, data + 16L * row + 8));
        BigInteger low = BigInteger.valueOf(Platform.getLong(null, data + 16L * row));
        BigInteger mask = BigInteger.ONE.shiftLeft(64).subtract(BigInteger.ONE);
        return high.shiftLeft(64).or(low.and(mask));
    }

    // -------------------------------------------------------------------------- rows to chain

    /** A chain in memory of {@code Platform}, to be given back by {@code free}. */
    public static final class Chain {
        private boolean freed;

        /** Address of the words, and how many there are. */
        public final long address;
        public final int words;
        /** Address of as many byte counts: what lies behind each word. */
        public final long extents;

        Chain(List words, List sizes) {
            this.words = words.size();
            this.address = Platform.allocateMemory(16L * words.size());
            this.extents = address + 8L * words.size();
            for (int i = 0; i < words.size(); i++) {
                Platform.putLong(null, address + 8L * i, ((Long) words.get(i)).longValue());
                Platform.putLong(null, extents + 8L * i, ((Long) sizes.get(i)).longValue());
            }
        }

        /** Gives all memory back; repeatable. */
        public void free() {
            if (!freed) {
                for (int i = 1; i < words; i++) {
                    Platform.freeMemory(Platform.getLong(null, address + 8L * i));
                }
                Platform.freeMemory(address);
                freed = true;
            }
        }
    }

    /** A chain of rows, whose values are asked for through their getters. */
    public static Chain chain(List rows, StructType schema, int[] forms) {
        SparkColumns out = new SparkColumns(forms, 0);
        out.add(rows.size(), 0);
        SpecializedGetters[] owners = new SpecializedGetters[rows.size()];
        for (int i = 0; i < owners.length; i++) {
            owners[i] = (SpecializedGetters) rows.get(i);
        }
        for (int c = 0; c < schema.size(); c++) {
            int[] ordinals = new int[owners.length];
            java.util.Arrays.fill(ordinals, c);
            out.write(schema.apply(c).dataType(), owners, ordinals);
        }
        return new Chain(out.words, out.sizes);
    }

    /** Rows of a batch; they are looked up anew at each call of a getter. */
    public static List rows(ColumnarBatch batch) {
        ArrayList rows = new ArrayList();
        Iterator all = batch.rowIterator();
        while (all.hasNext()) {
            // The iterator hands out one row again and again.
            rows.add(((InternalRow) all.next()).copy());
        }
        return rows;
    }

    private long allocate(long bytes) {
        long address = Platform.allocateMemory(Math.max(bytes, 1L));
        Platform.setMemory(address, (byte) 0, Math.max(bytes, 1L));
        add(address, bytes);
        return address;
    }

    private void add(long value, long bytes) {
        words.add(new Long(value));
        sizes.add(new Long(bytes));
    }

    private void write(DataType type, SpecializedGetters[] owners, int[] at) {
        int kind = forms[form++];
        if (kind == ABSENT) {
            add(0, 0);
            return;
        }
        boolean[] present = new boolean[owners.length];
        long nulls = allocate(owners.length);
        for (int i = 0; i < owners.length; i++) {
            present[i] = owners[i] != null && !owners[i].isNullAt(at[i]);
            Platform.putByte(null, nulls + i, present[i] ? (byte) 0 : (byte) 1);
        }
        if (kind == STRUCT) {
            writeFields((StructType) type, owners, at, present);
        } else if (kind == LIST) {
            writeLists((ArrayType) type, owners, at, present);
        } else if (kind == MAP) {
            writeMaps((MapType) type, owners, at, present);
        } else if (kind == INTERVAL) {
            writeIntervals(owners, at, present);
        } else if (kind == TEXT) {
            writeTexts(type, owners, at, present);
        } else {
            writeFixed(type, kind, owners, at, present);
        }
    }

    private void writeFields(
            StructType type, SpecializedGetters[] owners, int[] at, boolean[] present) {
        SpecializedGetters[] structs = new SpecializedGetters[owners.length];
        for (int i = 0; i < owners.length; i++) {
            structs[i] = present[i] ? (SpecializedGetters) owners[i].getStruct(at[i], type.size()) : null;
        }
        for (int c = 0; c < type.size(); c++) {
            int[] ordinals = new int[owners.length];
            java.util.Arrays.fill(ordinals, c);
            write(type.apply(c).dataType(), structs, ordinals);
        }
    }

    private void writeLists(
            ArrayType type, SpecializedGetters[] owners, int[] at, boolean[] present) {
        ArrayData[] lists = new ArrayData[owners.length];
        for (int i = 0; i < owners.length; i++) {
            lists[i] = present[i] ? owners[i].getArray(at[i]) : null;
        }
        writeOffsets(lists);
        writeElements(type.elementType(), lists);
    }

    private void writeMaps(MapType type, SpecializedGetters[] owners, int[] at, boolean[] present) {
        ArrayData[] keys = new ArrayData[owners.length];
        ArrayData[] values = new ArrayData[owners.length];
        for (int i = 0; i < owners.length; i++) {
            MapData map = present[i] ? owners[i].getMap(at[i]) : null;
            keys[i] = map == null ? null : map.keyArray();
            values[i] = map == null ? null : map.valueArray();
        }
        writeOffsets(keys);
        writeElements(type.keyType(), keys);
        writeElements(type.valueType(), values);
    }

    private void writeOffsets(ArrayData[] lists) {
        long offsets = allocate(4L * (lists.length + 1));
        int total = 0;
        for (int i = 0; i < lists.length; i++) {
            total += lists[i] == null ? 0 : lists[i].numElements();
            Platform.putInt(null, offsets + 4L * i + 4, total);
        }
    }

    private void writeElements(DataType type, ArrayData[] lists) {
        int total = 0;
        for (int i = 0; i < lists.length; i++) {
            total += lists[i] == null ? 0 : lists[i].numElements();
        }
        SpecializedGetters[] owners = new SpecializedGetters[total];
        int[] at = new int[total];
        int next = 0;
        for (int i = 0; i < lists.length; i++) {
            for (int j = 0; lists[i] != null && j < lists[i].numElements(); j++) {
                owners[next] = lists[i];
                at[next++] = j;
            }
        }
        write(type, owners, at);
    }

    private void writeIntervals(SpecializedGetters[] owners, int[] at, boolean[] present) {
        long months = allocate(4L * owners.length);
        long days = allocate(4L * owners.length);
        long micros = allocate(8L * owners.length);
        for (int i = 0; i < owners.length; i++) {
            if (present[i]) {
                CalendarInterval value = owners[i].getInterval(at[i]);
                Platform.putInt(null, months + 4L * i, value.months);
                Platform.putInt(null, days + 4L * i, value.days);
                Platform.putLong(null, micros + 8L * i, value.microseconds);
            }
        }
    }

    private void writeTexts(
            DataType type, SpecializedGetters[] owners, int[] at, boolean[] present) {
        long offsets = allocate(4L * (owners.length + 1));
        byte[][] texts = new byte[owners.length][];
        int total = 0;
        for (int i = 0; i < owners.length; i++) {
            if (present[i]) {
                boolean binary = type instanceof BinaryType;
                texts[i] = binary ? owners[i].getBinary(at[i]) : owners[i].getUTF8String(at[i]).getBytes();
                total += texts[i].length;
            }
            Platform.putInt(null, offsets + 4L * i + 4, total);
        }
        long bytes = allocate(total);
        for (int i = 0; i < owners.length; i++) {
            if (present[i]) {
                int length = texts[i].length;
                Platform.copyMemory(texts[i], Platform.BYTE_ARRAY_OFFSET, null, bytes, length);
                bytes += length;
            }
        }
    }

    private void writeFixed(
            DataType type, int kind, SpecializedGetters[] owners, int[] at, boolean[] present) {
        int width = kind == JULIAN_DAY ? 4 : kind == JULIAN_TIME ? 8 : kind;
        long data = allocate((long) width * owners.length);
        for (int i = 0; i < owners.length; i++) {
            if (!present[i]) {
                continue;
            }
            long slot = data + (long) width * i;
            if (type instanceof DecimalType) {
                DecimalType decimal = (DecimalType) type;
                Decimal value = owners[i].getDecimal(at[i], decimal.precision(), decimal.scale());
                writeDecimal(slot, width, value.toJavaBigDecimal().setScale(decimal.scale()));
            } else if (kind == JULIAN_DAY) {
                Platform.putInt(null, slot, (int) (owners[i].getInt(at[i]) + EPOCH));
            } else if (kind == JULIAN_TIME) {
                long micros = owners[i].getLong(at[i]);
                long day = Math.floorDiv(micros, DAY_MICROS) + EPOCH;
                Platform.putLong(null, slot, day << 40 | Math.floorMod(micros, DAY_MICROS));
            } else if (type instanceof BooleanType) {
                Platform.putByte(null, slot, owners[i].getBoolean(at[i]) ? (byte) 1 : (byte) 0);
            } else if (width == 1) {
                Platform.putByte(null, slot, owners[i].getByte(at[i]));
            } else if (width == 2) {
                Platform.putShort(null, slot, owners[i].getShort(at[i]));
            } else if (type instanceof FloatType) {
                Platform.putFloat(null, slot, owners[i].getFloat(at[i]));
            } else if (type instanceof DoubleType) {
                Platform.putDouble(null, slot, owners[i].getDouble(at[i]));
            } else if (width == 4) {
                Platform.putInt(null, slot, owners[i].getInt(at[i]));
            } else {
                Platform.putLong(null, slot, owners[i].getLong(at[i]));
            }
        }
    }

    private static void writeDecimal(long slot, int width, BigDecimal value) {
        BigInteger unscaled = value.unscaledValue();
        if (unscaled.bitLength() >= 8 * width) {
            throw new ArithmeticException(value + " does not fit " + width + " bytes");
        }
        if (width == 4) {
            Platform.putInt(null, slot, unscaled.intValue());
        } else {
            Platform.putLong(null, slot, unscaled.longValue());
        }
        if (width == 16) {
            Platform.putLong(null, slot + 8, unscaled.shiftRight(64).longValue());
        }
    }
}
