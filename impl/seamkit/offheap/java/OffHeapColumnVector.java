package seamkit.offheap;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;

import seamkit.offheap.ColumnType.TypeValue;
import sun.misc.Unsafe;

/**
 * One off-heap column: a null flag a row (1: null), and values of fixed width, or 32-bit offsets and
 * bytes, or offsets and children, or children alone. All little-endian; the first offset is 0.
 *
 * <p>Room for n rows that is not there becomes min(2^31-16, 2 n). The slot under a null is 0. A vector
 * belongs to one thread at a time. An append that fails may leave a part of its row in children: the
 * table is to be released.
 */
public final class OffHeapColumnVector {
    private static final int LIMIT = Integer.MAX_VALUE - 15;
    private static final int STRING_BYTES = 4;
    private static final Unsafe UNSAFE = Memory.UNSAFE;
    private static final int EPOCH_JULIAN = 2440588;

    public final String name;
    public final ColumnType type;

    private final TypeValue kind;
    private final int width;
    /** Whether values are formatted texts in place of numbers. */
    private final boolean asText;
    /** Whether values are runs of bytes. */
    private final boolean runs;
    private final boolean textForm;
    private final Memory memory;
    private final OffHeapColumnVector[] children;
    private final List<Integer> sources;

    private int capacity;
    private int rows;
    private int nullCount;
    private long nulls;
    private long data;
    private long offsets;
    private long bytes;
    private int bytesCapacity;
    /** Bytes of strings, or rows of children, behind the last row. */
    private int end;

    OffHeapColumnVector(String name, ColumnType type, int capacity, Memory memory, boolean textForm) {
        this.name = name;
        this.type = type;
        this.kind = type.kind;
        this.textForm = textForm;
        this.asText = textForm && type.kind.hasTextForm();
        this.width = asText ? 0 : type.kind.width;
        this.runs = asText || type.kind.isBytes();
        this.memory = memory;
        this.sources = type.sources();
        this.children = new OffHeapColumnVector[type.children().size()];
        boolean whole = false;
        try {
            resize(capacity);
            if (runs) {
                bytesCapacity = (int) Math.min((long) capacity * STRING_BYTES, LIMIT);
                bytes = memory.allocate(bytesCapacity);
            }
            for (int i = 0; i < children.length; i++) {
                String child = name + "." + type.names().get(i);
                children[i] = new OffHeapColumnVector(child, type.child(i), capacity, memory, textForm);
            }
            whole = true;
        } finally {
            if (!whole) {
                release();
            }
        }
    }

    /** Rows appended so far. */
    public int rows() {
        return rows;
    }

    /** How many of them are NULL. */
    public int nullCount() {
        return nullCount;
    }

    /** Gives every block back; repeatable. */
    void release() {
        memory.free(nulls);
        memory.free(data);
        memory.free(offsets);
        memory.free(bytes);
        nulls = 0;
        data = 0;
        offsets = 0;
        bytes = 0;
        for (int i = 0; i < children.length; i++) {
            if (children[i] != null) {
                children[i].release();
            }
        }
    }

    private void resize(int wanted) {
        if (kind == TypeValue.UNKNOWN) {
            capacity = wanted;
            return;
        }
        nulls = memory.grow(nulls, rows, wanted);
        UNSAFE.setMemory(nulls + rows, wanted - rows, (byte) 0);
        if (width > 0) {
            data = memory.grow(data, (long) rows * width, (long) wanted * width);
        }
        if (runs || kind == TypeValue.ARRAY || kind == TypeValue.MAP) {
            offsets = memory.grow(offsets, offsets == 0 ? 0 : 4L * (rows + 1), 4L * (wanted + 1L));
            UNSAFE.putInt(offsets, 0);
        }
        capacity = wanted;
    }

    private static int grown(long wanted, String what) {
        if (wanted > LIMIT) {
            throw new ArithmeticException(wanted + " " + what + " are too many; the limit is " + LIMIT);
        }
        return wanted > LIMIT / 2 ? LIMIT : (int) (2 * wanted);
    }

    private void room() {
        if (rows == capacity) {
            resize(grown(rows + 1L, "rows"));
        }
    }

    /** One NULL. */
    public void appendNull() {
        if (kind == TypeValue.UNKNOWN) {
            return;
        }
        room();
        UNSAFE.putByte(nulls + rows, (byte) 1);
        nullCount++;
        if (width == 16) {
            UNSAFE.putLong(data + 16L * rows, 0);
            UNSAFE.putLong(data + 16L * rows + 8, 0);
        } else if (width > 0) {
            UNSAFE.setMemory(data + (long) rows * width, width, (byte) 0);
        } else if (offsets != 0) {
            UNSAFE.putInt(offsets + 4L * (rows + 1), end);
        } else {
            for (int i = 0; i < children.length; i++) {
                children[i].appendNull();
            }
        }
        rows++;
    }

    private RuntimeException unfit(Object value) {
        return new ArithmeticException(value + " does not fit a column of type " + type);
    }

    private void fixed() {
        room();
        rows++;
    }

    public void appendBoolean(boolean value) {
        fixed();
        UNSAFE.putByte(data + rows - 1, (byte) (value ? 1 : 0));
    }

    public void appendByte(byte value) {
        fixed();
        UNSAFE.putByte(data + rows - 1, value);
    }

    public void appendShort(short value) {
        fixed();
        UNSAFE.putShort(data + 2L * (rows - 1), value);
    }

    public void appendInt(int value) {
        fixed();
        UNSAFE.putInt(data + 4L * (rows - 1), value);
    }

    public void appendLong(long value) {
        fixed();
        UNSAFE.putLong(data + 8L * (rows - 1), value);
    }

    public void appendFloat(float value) {
        fixed();
        UNSAFE.putFloat(data + 4L * (rows - 1), value);
    }

    public void appendDouble(double value) {
        fixed();
        UNSAFE.putDouble(data + 8L * (rows - 1), value);
    }

    /** Days since 1970-01-01; stored as the Julian day. */
    public void appendDays(long days) {
        long julian = days + EPOCH_JULIAN;
        if (julian != (int) julian || (asText && !FormattedText.hasYear(days))) {
            throw unfit(days + " days");
        }
        if (asText) {
            appendText(FormattedText.date(days));
            return;
        }
        appendInt((int) julian);
    }

    /** Microseconds since 1970-01-01 00:00:00; stored as the Julian day over the microsecond of it. */
    public void appendMicros(long micros) {
        long day = Math.floorDiv(micros, FormattedText.MICROS_A_DAY) + EPOCH_JULIAN;
        boolean packs = day >= -(1L << 23) && day < 1L << 23;
        if (!packs || (asText && !FormattedText.hasYear(day - EPOCH_JULIAN))) {
            throw unfit(micros + " microseconds");
        }
        if (asText) {
            appendText(FormattedText.dateTime(micros));
            return;
        }
        appendLong((day << 40) | Math.floorMod(micros, FormattedText.MICROS_A_DAY));
    }

    /** A run of bytes: UTF-8 for strings. */
    public void appendBytes(byte[] value, int from, int length) {
        room();
        long wanted = (long) end + length;
        if (wanted > bytesCapacity) {
            int larger = grown(wanted, "bytes");
            bytes = memory.grow(bytes, end, larger);
            bytesCapacity = larger;
        }
        Memory.put(bytes + end, value, from, length);
        end += length;
        UNSAFE.putInt(offsets + 4L * (rows + 1), end);
        rows++;
    }

    private void appendText(String text) {
        byte[] content = text.getBytes(java.nio.charset.StandardCharsets.UTF_8);
        appendBytes(content, 0, content.length);
    }

    /**
     * A decimal, at the column's scale.
     *
     * @throws ArithmeticException digits would be lost, or the number is wider than the column
     */
    public void appendDecimal(BigDecimal value) {
        BigDecimal exact = value.setScale(type.scale, java.math.RoundingMode.UNNECESSARY);
        if (asText) {
            appendText(exact.toPlainString());
            return;
        }
        if (exact.precision() <= 18) {
            appendUnscaled(exact.unscaledValue().longValue());
            return;
        }
        BigInteger whole = exact.unscaledValue();
        if (whole.bitLength() >= 8 * width) {
            throw unfit(value);
        }
        if (width == 8) {
            appendLong(whole.longValue());
            return;
        }
        fixed();
        UNSAFE.putLong(data + 16L * (rows - 1), whole.longValue());
        UNSAFE.putLong(data + 16L * (rows - 1) + 8, whole.shiftRight(64).longValue());
    }

    /** A decimal's unscaled number, which is at the column's scale already. */
    public void appendUnscaled(long unscaled) {
        if (asText) {
            appendText(BigDecimal.valueOf(unscaled, type.scale).toPlainString());
            return;
        }
        if (width == 4 && unscaled != (int) unscaled) {
            throw unfit("the unscaled number " + unscaled);
        }
        fixed();
        if (width == 4) {
            UNSAFE.putInt(data + 4L * (rows - 1), (int) unscaled);
        } else if (width == 8) {
            UNSAFE.putLong(data + 8L * (rows - 1), unscaled);
        } else {
            UNSAFE.putLong(data + 16L * (rows - 1), unscaled);
            UNSAFE.putLong(data + 16L * (rows - 1) + 8, unscaled >> 63);
        }
    }

    /**
     * One value; null for NULL.
     *
     * @throws RefusedException the kind holds no values, or the value gives none of this kind
     * @throws ArithmeticException the value does not fit
     */
    public void appendValue(ColumnValue value) {
        if (value == null) {
            appendNull();
            return;
        }
        try {
            appendGiven(value);
        } catch (UnwrittenGetterException error) {
            throw error.of(value);
        }
    }

    private void appendGiven(ColumnValue value) {
        switch (kind) {
            case BOOLEAN:
                appendBoolean(value.getBoolean());
                break;
            case TINYINT:
                appendByte(value.getByte());
                break;
            case SHORT:
                appendShort(value.getShort());
                break;
            case INT:
                appendInt(value.getInt());
                break;
            case LONG:
                appendLong(value.getLong());
                break;
            case FLOAT:
                appendFloat(value.getFloat());
                break;
            case DOUBLE:
                appendDouble(value.getDouble());
                break;
            case DATE:
                if (value instanceof RawValue) {
                    appendDays(((RawValue) value).getDays());
                } else {
                    appendObject(value);
                }
                break;
            case TIME:
                appendDouble(value.getInt() / 1000.0);
                break;
            case DATETIME:
            case DATETIME_MICROS:
            case DATETIME_MILLIS:
                if (value instanceof RawValue) {
                    appendMicros(((RawValue) value).getMicros(kind));
                } else {
                    appendObject(value);
                }
                break;
            case DECIMALV2:
            case DECIMAL32:
            case DECIMAL64:
            case DECIMAL128:
                if (!(value instanceof RawValue)) {
                    appendObject(value);
                } else if (((RawValue) value).hasUnscaled(type.scale)) {
                    appendUnscaled(((RawValue) value).getUnscaled());
                } else {
                    appendDecimal(value.getDecimal());
                }
                break;
            case STRING:
                byte[] text = value instanceof RawValue ? ((RawValue) value).getUtf8() : RawValue.utf8(value);
                appendBytes(text, 0, text.length);
                break;
            case BINARY:
                byte[] content = value.getBytes();
                appendBytes(content, 0, content.length);
                break;
            case ARRAY:
                appendArray(value);
                break;
            case MAP:
                appendMap(value);
                break;
            case STRUCT:
                appendStruct(value);
                break;
            case VARIANT:
                appendVariant(value.getVariant());
                break;
            default:
                if (kind != TypeValue.UNKNOWN) {
                    throw new RefusedException("no value can be appended to a column of type " + type);
                }
        }
    }

    /** A date, datetime or decimal in an object of the standard library, or in a text of its own. */
    private void appendObject(ColumnValue value) {
        if (asText) {
            appendText(kind.isDateTime() ? value.getTimestamp(kind) : value.getString(kind));
        } else if (kind == TypeValue.DATE) {
            appendDays(value.getDate().toEpochDay());
        } else if (kind.isDateTime()) {
            appendMicros(RawValue.micros(value.getDateTime(kind)));
        } else {
            appendDecimal(value.getDecimal());
        }
    }

    private static void appendAll(OffHeapColumnVector child, List<ColumnValue> values) {
        for (int i = 0; i < values.size(); i++) {
            child.appendValue((ColumnValue) values.get(i));
        }
    }

    private void entries(int count) {
        room();
        long wanted = (long) end + count;
        if (wanted > LIMIT) {
            throw new ArithmeticException(wanted + " entries are too many; the limit is " + LIMIT);
        }
        end = (int) wanted;
        UNSAFE.putInt(offsets + 4L * (rows + 1), end);
        rows++;
    }

    private void appendArray(ColumnValue value) {
        List<ColumnValue> elements = new ArrayList<ColumnValue>();
        value.unpackArray(elements);
        appendAll(children[0], elements);
        entries(elements.size());
    }

    private void appendMap(ColumnValue value) {
        List<ColumnValue> keys = new ArrayList<ColumnValue>();
        List<ColumnValue> values = new ArrayList<ColumnValue>();
        value.unpackMap(keys, values);
        if (keys.size() != values.size()) {
            throw new IllegalArgumentException(
                    "a map has " + keys.size() + " keys and " + values.size() + " values");
        }
        int next = 0;
        if (type.hasKeys()) {
            appendAll(children[next++], keys);
        }
        if (type.hasValues()) {
            appendAll(children[next], values);
        }
        entries(keys.size());
    }

    private void appendStruct(ColumnValue value) {
        List<ColumnValue> fields = new ArrayList<ColumnValue>();
        value.unpackStruct(sources, fields);
        if (fields.size() != children.length) {
            throw new IllegalArgumentException(
                    "a struct of " + children.length + " fields has " + fields.size() + " values");
        }
        for (int i = 0; i < children.length; i++) {
            children[i].appendValue((ColumnValue) fields.get(i));
        }
        room();
        rows++;
    }

    private void appendVariant(byte[][] parts) {
        children[0].appendBytes(parts[0], 0, parts[0].length);
        children[1].appendBytes(parts[1], 0, parts[1].length);
        room();
        rows++;
    }

    /** Whether a row is NULL; in a column that the source lacks each is. */
    public boolean isNullAt(int row) {
        return kind == TypeValue.UNKNOWN || UNSAFE.getByte(slot(row, nulls, 1)) != 0;
    }

    /** Where a row's slot of some width is; for who reads what was appended. */
    private long slot(int row, long from, int wide) {
        if (row < 0 || row >= rows) {
            throw new IndexOutOfBoundsException("column '" + name + "' has no row " + row);
        }
        if (from == 0 || (from == data && wide != width)) {
            throw new RefusedException(
                    "column '" + name + "' of type " + type + " has values of " + width + " bytes, not "
                            + wide);
        }
        return from + (long) wide * row;
    }

    public boolean getBoolean(int row) {
        return getByte(row) != 0;
    }

    public byte getByte(int row) {
        return UNSAFE.getByte(slot(row, data, 1));
    }

    public short getShort(int row) {
        return UNSAFE.getShort(slot(row, data, 2));
    }

    public int getInt(int row) {
        return UNSAFE.getInt(slot(row, data, 4));
    }

    public long getLong(int row) {
        return UNSAFE.getLong(slot(row, data, 8));
    }

    public float getFloat(int row) {
        return Float.intBitsToFloat(getInt(row));
    }

    public double getDouble(int row) {
        return Double.longBitsToDouble(getLong(row));
    }

    /** The bytes of a string or binary. */
    public byte[] getBinary(int row) {
        int from = UNSAFE.getInt(slot(row, runs ? offsets : 0, 4));
        byte[] found = new byte[UNSAFE.getInt(offsets + 4L * (row + 1)) - from];
        UNSAFE.copyMemory(null, bytes + from, found, Unsafe.ARRAY_BYTE_BASE_OFFSET, found.length);
        return found;
    }

    /** The text of a string. */
    public String getUTF8String(int row) {
        return new String(getBinary(row), java.nio.charset.StandardCharsets.UTF_8);
    }

    /**
     * A row as a text, as `OffHeapTable.show` has it: numbers, dates and times in SQL's form, texts as
     * they are, bytes in hexadecimal, `[...]` for lists, `{key: value}` for maps and structs.
     */
    String shown(int row) {
        return isNullAt(row) ? "NULL" : asText ? getUTF8String(row) : new ShownValue(this).at(row);
    }

    /** Where a list's or map's entries begin, by rows of the children; row `rows` tells the end. */
    int entriesFrom(int row) {
        return UNSAFE.getInt(offsets + 4L * row);
    }

    OffHeapColumnVector child(int index) {
        return children[index];
    }

    /** The upper half of a number of 16 bytes, and the lower. */
    long half(int row, int which) {
        return UNSAFE.getLong(slot(row, data, 16) + 8L * which);
    }

    /** Number of words of the meta chain. */
    int words() {
        if (kind == TypeValue.UNKNOWN) {
            return 1;
        }
        int count = runs ? 3 : width > 0 || offsets != 0 ? 2 : 1;
        for (int i = 0; i < children.length; i++) {
            count += children[i].words();
        }
        return count;
    }

    /** Writes the words of this column and returns the address behind them. */
    long writeWords(long at) {
        if (kind == TypeValue.UNKNOWN) {
            UNSAFE.putLong(at, 0);
            return at + 8;
        }
        UNSAFE.putLong(at, nulls);
        at += 8;
        if (width > 0) {
            UNSAFE.putLong(at, data);
            at += 8;
        }
        if (offsets != 0) {
            UNSAFE.putLong(at, offsets);
            at += 8;
        }
        if (runs) {
            UNSAFE.putLong(at, bytes);
            at += 8;
        }
        for (int i = 0; i < children.length; i++) {
            at = children[i].writeWords(at);
        }
        return at;
    }
}
