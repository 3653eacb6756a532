package seamkit;

import java.math.BigInteger;
import java.util.ArrayList;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.*;
import org.apache.spark.sql.util.ArrowUtils;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** Vectors of Arrow's library, which Java fills in memory of its own, without native code. */
public final class ArrowBuilders implements BatchBuilders {
    public static final ArrowBuilders INSTANCE = new ArrowBuilders();

    private ArrowBuilders() {}

    public String operator() {
        return "ArrowRowToColumnar";
    }

    public BatchBuilder of(StructType schema, int batchRows) {
        return new ArrowBuilder(schema);
    }
}

/** Rows are appended to a column each, whose buffers become vectors. */
final class ArrowBuilder implements BatchBuilder {
    private final StructType schema;
    private final BufferAllocator allocator;
    private final ArrowColumn[] columns;

    ArrowBuilder(StructType schema) {
        BufferAllocator root = ArrowUtils.rootAllocator();
        this.schema = schema;
        for (int i = 0; i < schema.size(); i++) {
            ArrowBatches.vectorFor(schema.apply(i), root).close(); // refuses what has none
        }
        this.allocator = root.newChildAllocator("rows to columns", 0, Long.MAX_VALUE);
        this.columns = new ArrowColumn[schema.size()];
        for (int i = 0; i < columns.length; i++) {
            columns[i] = ArrowColumn.of(schema.apply(i).dataType(), allocator);
        }
    }

    public void add(UnsafeRow row, int count, long used) {
        for (int i = 0; i < columns.length; i++) {
            columns[i].append(row, i);
        }
    }

    public ColumnarBatch finish(int count) {
        ColumnVector[] vectors = new ColumnVector[columns.length];
        for (int i = 0; i < columns.length; i++) {
            FieldVector vector = ArrowBatches.vectorFor(schema.apply(i), allocator);
            columns[i].moveTo(vector);
            vectors[i] = new OwnedVector(vector, 0);
        }
        return new ColumnarBatch(vectors, count);
    }

    public void end() {
        for (int i = 0; i < columns.length; i++) {
            columns[i].free();
        }
        allocator.close();
    }
}

/** Memory that grows, for one buffer of a column. */
final class Growing {
    private final BufferAllocator allocator;
    private ArrowBuf buffer;
    private long capacity;
    /** Where it begins. */
    long address;

    Growing(BufferAllocator allocator) {
        this.allocator = allocator;
    }

    /** Has room for so many bytes, of which the first `used` stay. */
    void reserve(long used, long needed) {
        if (needed > capacity) {
            ArrowBuf larger = allocator.buffer(Math.max(needed, Math.max(2 * capacity, 256)));
            if (used > 0) {
                Platform.copyMemory(null, address, null, larger.memoryAddress(), used);
            }
            free();
            buffer = larger;
            capacity = larger.capacity();
            address = larger.memoryAddress();
        }
    }

    /** The first bytes, which are the caller's; what is written next goes elsewhere. */
    ArrowBuf take(long used) {
        ArrowBuf taken = buffer == null ? allocator.buffer(0) : buffer.writerIndex(used);
        buffer = null;
        capacity = 0;
        address = 0;
        return taken;
    }

    void free() {
        if (buffer != null) {
            take(0).getReferenceManager().release();
        }
    }
}

/** A column in Arrow's layout: a bit that says not null a row, and what its type adds to that. */
abstract class ArrowColumn {
    final BufferAllocator allocator;
    private final Growing valid;
    int rows;
    private int nulls;

    ArrowColumn(BufferAllocator allocator) {
        this.allocator = allocator;
        this.valid = new Growing(allocator);
    }

    static ArrowColumn of(DataType type, BufferAllocator allocator) {
        if (type instanceof BooleanType) {
            return new BitColumn(allocator);
        }
        if (type instanceof StringType || type instanceof BinaryType) {
            return new TextColumn(allocator);
        }
        if (type instanceof ArrayType) {
            return new ListColumn(of(((ArrayType) type).elementType(), allocator), allocator);
        }
        if (type instanceof MapType) {
            return new MapColumn((MapType) type, allocator);
        }
        if (type instanceof StructType) {
            StructType struct = (StructType) type;
            DataType[] types = new DataType[struct.size()];
            for (int i = 0; i < types.length; i++) {
                types[i] = struct.apply(i).dataType();
            }
            return new StructColumn(types, allocator);
        }
        if (type instanceof NullType) {
            return new VoidColumn(allocator);
        }
        return new FixedColumn(type, allocator);
    }

    /** Appends a value of a row or array. */
    final void append(SpecializedGetters from, int at) {
        boolean present = from != null && !from.isNullAt(at);
        mark(present);
        if (present) {
            write(from, at);
        } else {
            writeNull();
        }
        rows++;
    }

    /** Says of the row that is being appended whether it is null. */
    final void mark(boolean present) {
        if ((rows & 7) == 0) {
            valid.reserve(rows >> 3, (rows >> 3) + 1);
            Platform.putByte(null, valid.address + (rows >> 3), (byte) 0);
        }
        if (present) {
            long bits = valid.address + (rows >> 3);
            Platform.putByte(null, bits, (byte) (Platform.getByte(null, bits) | 1 << (rows & 7)));
        } else {
            nulls++;
        }
    }

    /** Hands the rows so far to a vector, and begins anew. */
    final void moveTo(FieldVector vector) {
        ArrayList buffers = new ArrayList();
        buffers.add(valid.take((rows + 7) / 8));
        takeBuffers(buffers);
        ArrowBatches.give(vector, rows, nulls, buffers);
        for (int i = 0; i < vector.getChildrenFromFields().size(); i++) {
            child(i).moveTo((FieldVector) vector.getChildrenFromFields().get(i));
        }
        rows = 0;
        nulls = 0;
    }

    abstract void write(SpecializedGetters from, int at);

    abstract void writeNull();

    /** Adds the buffers behind the bits. */
    abstract void takeBuffers(ArrayList buffers);

    ArrowColumn child(int number) {
        throw new IndexOutOfBoundsException("a column without children");
    }

    void free() {
        valid.free();
    }
}

/** Nothing but nulls, which take no memory. */
final class VoidColumn extends ArrowColumn {
    VoidColumn(BufferAllocator allocator) {
        super(allocator);
    }

    void write(SpecializedGetters from, int at) {
        throw new IllegalStateException("a value of a type that has none");
    }

    void writeNull() {}

    void takeBuffers(ArrayList buffers) {
        ((ArrowBuf) buffers.remove(0)).getReferenceManager().release();
    }
}

/** A bit a row. */
final class BitColumn extends ArrowColumn {
    private final Growing values;

    BitColumn(BufferAllocator allocator) {
        super(allocator);
        this.values = new Growing(allocator);
    }

    private void put(boolean value) {
        values.reserve((rows + 7) >> 3, (rows >> 3) + 1);
        long at = values.address + (rows >> 3);
        int bit = value ? 1 << (rows & 7) : 0;
        if ((rows & 7) != 0) {
            bit |= Platform.getByte(null, at);
        }
        Platform.putByte(null, at, (byte) bit);
    }

    void write(SpecializedGetters from, int at) {
        put(from.getBoolean(at));
    }

    void writeNull() {
        put(false);
    }

    void takeBuffers(ArrayList buffers) {
        buffers.add(values.take((rows + 7) / 8));
    }

    void free() {
        super.free();
        values.free();
    }
}

/** A few bytes a row. */
final class FixedColumn extends ArrowColumn {
    private static final int FLOAT = 5;
    private static final int DOUBLE = 9;
    private static final int DECIMAL = 16;

    private final Growing values;
    private final int precision;
    private final int scale;
    private final int kind;
    private final int width;

    FixedColumn(DataType type, BufferAllocator allocator) {
        super(allocator);
        this.values = new Growing(allocator);
        boolean decimal = type instanceof DecimalType;
        this.precision = decimal ? ((DecimalType) type).precision() : 0;
        this.scale = decimal ? ((DecimalType) type).scale() : 0;
        if (decimal) {
            this.kind = DECIMAL;
        } else if (type instanceof FloatType) {
            this.kind = FLOAT;
        } else if (type instanceof DoubleType) {
            this.kind = DOUBLE;
        } else {
            this.kind = type.defaultSize();
        }
        this.width = kind == FLOAT || kind == DOUBLE ? kind - 1 : kind;
    }

    private long next() {
        long used = (long) rows * width;
        values.reserve(used, used + width);
        return values.address + used;
    }

    void write(SpecializedGetters from, int at) {
        long to = next();
        switch (kind) {
            case 1:
                Platform.putByte(null, to, from.getByte(at));
                break;
            case 2:
                Platform.putShort(null, to, from.getShort(at));
                break;
            case 4:
                Platform.putInt(null, to, from.getInt(at));
                break;
            case FLOAT:
                Platform.putFloat(null, to, from.getFloat(at));
                break;
            case 8:
                Platform.putLong(null, to, from.getLong(at));
                break;
            case DOUBLE:
                Platform.putDouble(null, to, from.getDouble(at));
                break;
            default:
                putDecimal(to, from.getDecimal(at, precision, scale));
        }
    }

    private void putDecimal(long to, Decimal value) {
        if (precision <= Decimal.MAX_LONG_DIGITS()) {
            long low = value.toUnscaledLong();
            Platform.putLong(null, to, low);
            Platform.putLong(null, to + 8, low >> 63);
        } else {
            BigInteger whole = value.toJavaBigDecimal().unscaledValue();
            Platform.putLong(null, to, whole.longValue());
            Platform.putLong(null, to + 8, whole.shiftRight(64).longValue());
        }
    }

    void writeNull() {
        long to = next();
        for (int i = 0; i < width; i++) {
            Platform.putByte(null, to + i, (byte) 0);
        }
    }

    void takeBuffers(ArrayList buffers) {
        buffers.add(values.take((long) rows * width));
    }

    void free() {
        super.free();
        values.free();
    }
}

/** Where each row's part ends in what lies beside: offsets of 32 bits. */
abstract class OffsetColumn extends ArrowColumn {
    private final Growing offsets;

    OffsetColumn(BufferAllocator allocator) {
        super(allocator);
        this.offsets = new Growing(allocator);
    }

    final void end(long end) {
        if (end > Integer.MAX_VALUE) {
            throw ArrowBatches.refusal("a column of a batch has more than 2^31 - 1 bytes or elements");
        }
        offsets.reserve(rows == 0 ? 0 : 4L * (rows + 1), 4L * (rows + 2));
        if (rows == 0) {
            Platform.putInt(null, offsets.address, 0);
        }
        Platform.putInt(null, offsets.address + 4L * (rows + 1), (int) end);
    }

    void takeBuffers(ArrayList buffers) {
        if (rows == 0) {
            offsets.reserve(0, 4);
            Platform.putInt(null, offsets.address, 0);
        }
        buffers.add(offsets.take(4L * (rows + 1)));
    }

    void free() {
        super.free();
        offsets.free();
    }
}

/** Texts, or bytes: both lie in a row alike. */
final class TextColumn extends OffsetColumn {
    private final Growing bytes;
    private long used;

    TextColumn(BufferAllocator allocator) {
        super(allocator);
        this.bytes = new Growing(allocator);
    }

    void write(SpecializedGetters from, int at) {
        UTF8String text = from.getUTF8String(at);
        long end = used + text.numBytes();
        bytes.reserve(used, end);
        Platform.copyMemory(
                text.getBaseObject(), text.getBaseOffset(), null, bytes.address + used,
                text.numBytes());
        used = end;
        end(used);
    }

    void writeNull() {
        end(used);
    }

    void takeBuffers(ArrayList buffers) {
        super.takeBuffers(buffers);
        buffers.add(bytes.take(used));
        used = 0;
    }

    void free() {
        super.free();
        bytes.free();
    }
}

/** Lists, whose elements are a column. */
final class ListColumn extends OffsetColumn {
    private final ArrowColumn elements;

    ListColumn(ArrowColumn elements, BufferAllocator allocator) {
        super(allocator);
        this.elements = elements;
    }

    void write(SpecializedGetters from, int at) {
        ArrayData array = from.getArray(at);
        for (int i = 0; i < array.numElements(); i++) {
            elements.append(array, i);
        }
        end(elements.rows);
    }

    void writeNull() {
        end(elements.rows);
    }

    ArrowColumn child(int number) {
        return elements;
    }

    void free() {
        super.free();
        elements.free();
    }
}

/** Maps, which are lists of pairs. */
final class MapColumn extends OffsetColumn {
    private final StructColumn pairs;

    MapColumn(MapType type, BufferAllocator allocator) {
        super(allocator);
        DataType[] types = {type.keyType(), type.valueType()};
        this.pairs = new StructColumn(types, allocator);
    }

    void write(SpecializedGetters from, int at) {
        MapData map = from.getMap(at);
        for (int i = 0; i < map.numElements(); i++) {
            pairs.appendPair(map.keyArray(), map.valueArray(), i);
        }
        end(pairs.rows);
    }

    void writeNull() {
        end(pairs.rows);
    }

    ArrowColumn child(int number) {
        return pairs;
    }

    void free() {
        super.free();
        pairs.free();
    }
}

/** A column for each field; below a null they are null. */
final class StructColumn extends ArrowColumn {
    private final ArrowColumn[] fields;

    StructColumn(DataType[] types, BufferAllocator allocator) {
        super(allocator);
        this.fields = new ArrowColumn[types.length];
        for (int i = 0; i < fields.length; i++) {
            fields[i] = of(types[i], allocator);
        }
    }

    void appendPair(ArrayData keys, ArrayData values, int at) {
        mark(true);
        fields[0].append(keys, at);
        fields[1].append(values, at);
        rows++;
    }

    void write(SpecializedGetters from, int at) {
        InternalRow struct = from.getStruct(at, fields.length);
        for (int i = 0; i < fields.length; i++) {
            fields[i].append(struct, i);
        }
    }

    void writeNull() {
        for (int i = 0; i < fields.length; i++) {
            fields[i].append(null, 0);
        }
    }

    void takeBuffers(ArrayList buffers) {}

    ArrowColumn child(int number) {
        return fields[number];
    }

    void free() {
        super.free();
        for (int i = 0; i < fields.length; i++) {
            fields[i].free();
        }
    }
}
