package seambench.hudi;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

import org.apache.avro.LogicalType;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericFixed;
import org.apache.avro.generic.IndexedRecord;
import org.apache.avro.util.Utf8;

import seamkit.offheap.ColumnType;
import seamkit.offheap.ColumnValue;
import seamkit.offheap.RawValue;

/** A value as Avro's generic records hold it. */
final class AvroValue extends RawValue {
    private Object item;
    private final ColumnType type;
    private final Schema schema;

    AvroValue(Object item, ColumnType type, Schema schema) {
        this.item = item;
        this.type = type;
        this.schema = schema;
    }

    /** Another value of the same type in the same object; a column has taken the last one by then. */
    AvroValue with(Object next) {
        item = next;
        return this;
    }

    /** A schema without the null of its union. */
    static Schema plain(Schema schema) {
        if (schema.getType() != Schema.Type.UNION) {
            return schema;
        }
        Schema found = null;
        List<Schema> branches = schema.getTypes();
        for (int i = 0; i < branches.size(); i++) {
            Schema branch = (Schema) branches.get(i);
            if (branch.getType() != Schema.Type.NULL) {
                found = found == null ? branch : schema;
            }
        }
        return found == null ? schema : found;
    }

    private static AvroValue of(Object item, ColumnType type, Schema schema) {
        return item == null ? null : new AvroValue(item, type, schema);
    }

    @Override
    public boolean getBoolean() {
        return ((Boolean) item).booleanValue();
    }

    @Override
    public byte getByte() {
        return BigInteger.valueOf(getLong()).byteValueExact();
    }

    @Override
    public short getShort() {
        return BigInteger.valueOf(getLong()).shortValueExact();
    }

    @Override
    public int getInt() {
        return item instanceof Integer ? ((Integer) item).intValue() : Math.toIntExact(getLong());
    }

    @Override
    public long getLong() {
        return ((Number) item).longValue();
    }

    @Override
    public float getFloat() {
        return ((Number) item).floatValue();
    }

    @Override
    public double getDouble() {
        // A float that was widened is the number that its shortest text says, as Hudi has it.
        return item instanceof Float ? Double.parseDouble(item.toString()) : ((Number) item).doubleValue();
    }

    @Override
    public String getString(ColumnType.TypeValue kind) {
        return item.toString();
    }

    @Override
    public byte[] getUtf8() {
        if (!(item instanceof Utf8)) {
            return super.getUtf8();
        }
        Utf8 text = (Utf8) item;
        byte[] bytes = text.getBytes();
        int length = text.getByteLength();
        return bytes.length == length ? bytes : java.util.Arrays.copyOf(bytes, length);
    }

    @Override
    public byte[] getBytes() {
        if (item instanceof GenericFixed) {
            return ((GenericFixed) item).bytes();
        }
        ByteBuffer buffer = (ByteBuffer) item;
        int start = buffer.arrayOffset() + buffer.position();
        return java.util.Arrays.copyOfRange(buffer.array(), start, start + buffer.remaining());
    }

    @Override
    public LocalDate getDate() {
        return LocalDate.ofEpochDay(getDays());
    }

    @Override
    public long getDays() {
        return getLong();
    }

    @Override
    public LocalDateTime getDateTime(ColumnType.TypeValue kind) {
        long micros = getMicros(kind);
        return LocalDateTime.ofEpochSecond(
                Math.floorDiv(micros, 1000000L), (int) Math.floorMod(micros, 1000000L) * 1000, ZoneOffset.UTC);
    }

    @Override
    public long getMicros(ColumnType.TypeValue kind) {
        LogicalType logical = schema.getLogicalType();
        boolean millis = logical != null && logical.getName().endsWith("timestamp-millis");
        return millis ? Math.multiplyExact(getLong(), 1000L) : getLong();
    }

    @Override
    public BigDecimal getDecimal() {
        LogicalTypes.Decimal decimal = (LogicalTypes.Decimal) schema.getLogicalType();
        return new BigDecimal(new BigInteger(getBytes()), decimal.getScale());
    }

    @Override
    public boolean hasUnscaled(int scale) {
        return item instanceof GenericFixed
                && ((GenericFixed) item).bytes().length <= 8
                && ((LogicalTypes.Decimal) schema.getLogicalType()).getScale() == scale;
    }

    @Override
    public long getUnscaled() {
        return unscaled(((GenericFixed) item).bytes());
    }

    /** The number that up to eight bytes are, the highest first. */
    static long unscaled(byte[] bytes) {
        long number = bytes[0]; // with its sign
        for (int i = 1; i < bytes.length; i++) {
            number = number << 8 | bytes[i] & 0xFF;
        }
        return number;
    }

    @Override
    public void unpackArray(List<ColumnValue> elements) {
        Schema element = plain(schema.getElementType());
        Iterator<Object> items = ((Collection<Object>) item).iterator();
        while (items.hasNext()) {
            elements.add(of(items.next(), type.child(0), element));
        }
    }

    @Override
    public void unpackMap(List<ColumnValue> keys, List<ColumnValue> values) {
        Schema value = plain(schema.getValueType());
        Schema key = Schema.create(Schema.Type.STRING);
        Iterator<Object> entries = ((Map<Object, Object>) item).entrySet().iterator();
        while (entries.hasNext()) {
            Map.Entry<Object, Object> entry = (Map.Entry<Object, Object>) entries.next();
            keys.add(of(entry.getKey(), type.child(0), key));
            values.add(of(entry.getValue(), type.child(1), value));
        }
    }

    @Override
    public void unpackStruct(List<Integer> fields, List<ColumnValue> values) {
        IndexedRecord record = (IndexedRecord) item;
        for (int i = 0; i < fields.size(); i++) {
            Integer place = (Integer) fields.get(i);
            if (place == null) {
                values.add(null);
                continue;
            }
            Schema.Field field = schema.getField((String) type.names().get(place.intValue()));
            values.add(of(record.get(field.pos()), type.child(place.intValue()), plain(field.schema())));
        }
    }
}
