package seambench.hive;

import java.math.BigDecimal;
import java.sql.Date;
import java.sql.Timestamp;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

import org.apache.hadoop.hive.common.type.HiveChar;
import org.apache.hadoop.hive.common.type.HiveDecimal;
import org.apache.hadoop.hive.serde2.objectinspector.ListObjectInspector;
import org.apache.hadoop.hive.serde2.objectinspector.MapObjectInspector;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspector;
import org.apache.hadoop.hive.serde2.objectinspector.PrimitiveObjectInspector;
import org.apache.hadoop.hive.serde2.objectinspector.StructField;
import org.apache.hadoop.hive.serde2.objectinspector.StructObjectInspector;

import seamkit.offheap.BoxedValue;
import seamkit.offheap.ColumnType;
import seamkit.offheap.ColumnValue;
import seamkit.offheap.RefusedException;

/** A value as a serde of Hive gives it: an object, and the inspector that looks into it. */
final class HiveValue extends BoxedValue {
    private final ObjectInspector inspector;

    private HiveValue(Object item, ObjectInspector inspector) {
        super(item);
        this.inspector = inspector;
    }

    /** Null where the object is, or what a primitive's inspector sees in it. */
    static HiveValue of(Object item, ObjectInspector inspector) {
        if (item == null) {
            return null;
        }
        if (inspector instanceof PrimitiveObjectInspector) {
            Object plain = ((PrimitiveObjectInspector) inspector).getPrimitiveJavaObject(item);
            return plain == null ? null : new HiveValue(plain, inspector);
        }
        return new HiveValue(item, inspector);
    }

    @Override
    public short getShort() {
        return item instanceof Byte ? ((Byte) item).byteValue() : ((Short) item).shortValue();
    }

    @Override
    public int getInt() {
        return Math.toIntExact(getLong());
    }

    @Override
    public long getLong() {
        return ((Number) item).longValue();
    }

    @Override
    public double getDouble() {
        return ((Number) item).doubleValue();
    }

    @Override
    public String getString(ColumnType.TypeValue kind) {
        return item instanceof HiveChar ? ((HiveChar) item).getPaddedValue() : item.toString();
    }

    @Override
    public LocalDate getDate() {
        try {
            return ((Date) item).toLocalDate();
        } catch (DateTimeException error) {
            throw new RefusedException(item + " is a day of the Julian calendar alone");
        }
    }

    @Override
    public LocalDateTime getDateTime(ColumnType.TypeValue kind) {
        return ((Timestamp) item).toLocalDateTime();
    }

    @Override
    public BigDecimal getDecimal() {
        return ((HiveDecimal) item).bigDecimalValue();
    }

    @Override
    public void unpackArray(List<ColumnValue> elements) {
        ListObjectInspector list = (ListObjectInspector) inspector;
        for (int i = 0; i < list.getListLength(item); i++) {
            elements.add(of(list.getListElement(item, i), list.getListElementObjectInspector()));
        }
    }

    @Override
    public void unpackMap(List<ColumnValue> keys, List<ColumnValue> values) {
        MapObjectInspector map = (MapObjectInspector) inspector;
        Iterator<Object> entries = ((Map) map.getMap(item)).entrySet().iterator();
        while (entries.hasNext()) {
            Map.Entry<Object, Object> entry = (Map.Entry<Object, Object>) entries.next();
            keys.add(of(entry.getKey(), map.getMapKeyObjectInspector()));
            values.add(of(entry.getValue(), map.getMapValueObjectInspector()));
        }
    }

    @Override
    public void unpackStruct(List<Integer> fields, List<ColumnValue> values) {
        StructObjectInspector struct = (StructObjectInspector) inspector;
        List<StructField> own = (List) struct.getAllStructFieldRefs();
        for (int i = 0; i < fields.size(); i++) {
            Integer place = (Integer) fields.get(i);
            StructField field = place == null ? null : (StructField) own.get(place.intValue());
            values.add(
                    field == null
                            ? null
                            : of(struct.getStructFieldData(item, field), field.getFieldObjectInspector()));
        }
    }
}
