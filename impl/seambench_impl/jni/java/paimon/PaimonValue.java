package seambench.paimon;

import java.math.BigDecimal;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.util.List;

import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.InternalArray;
import org.apache.paimon.data.InternalMap;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.types.ArrayType;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypes;
import org.apache.paimon.types.MapType;
import org.apache.paimon.types.MultisetType;
import org.apache.paimon.types.RowType;

import seamkit.offheap.BoxedValue;
import seamkit.offheap.ColumnType;
import seamkit.offheap.ColumnValue;

/** A value as Paimon's internal rows hold it. It is good until the reader goes on to the next row. */
final class PaimonValue extends BoxedValue {
    private final DataType type;
    private final ZoneId zone;

    PaimonValue(Object item, DataType type, ZoneId zone) {
        super(item);
        this.type = type;
        this.zone = zone;
    }

    static PaimonValue of(Object item, DataType type, ZoneId zone) {
        return item == null ? null : new PaimonValue(item, type, zone);
    }

    @Override
    public byte[] getUtf8() {
        return ((BinaryString) item).toBytes();
    }

    @Override
    public LocalDate getDate() {
        return LocalDate.ofEpochDay(getDays());
    }

    @Override
    public long getDays() {
        return getInt();
    }

    @Override
    public LocalDateTime getDateTime(ColumnType.TypeValue kind) {
        Timestamp timestamp = (Timestamp) item;
        boolean local = type.getTypeRoot().name().equals("TIMESTAMP_WITH_LOCAL_TIME_ZONE");
        return local
                ? LocalDateTime.ofInstant(timestamp.toInstant(), zone)
                : timestamp.toLocalDateTime();
    }

    @Override
    public BigDecimal getDecimal() {
        return ((Decimal) item).toBigDecimal();
    }

    @Override
    public boolean hasUnscaled(int scale) {
        Decimal decimal = (Decimal) item;
        return decimal.isCompact() && decimal.scale() == scale;
    }

    @Override
    public long getUnscaled() {
        return ((Decimal) item).toUnscaledLong();
    }

    @Override
    public void unpackArray(List<ColumnValue> elements) {
        append((InternalArray) item, ((ArrayType) type).getElementType(), elements);
    }

    @Override
    public void unpackMap(List<ColumnValue> keys, List<ColumnValue> values) {
        InternalMap map = (InternalMap) item;
        boolean counted = type instanceof MultisetType;
        DataType key = counted ? ((MultisetType) type).getElementType() : ((MapType) type).getKeyType();
        DataType value = counted ? DataTypes.INT() : ((MapType) type).getValueType();
        append(map.keyArray(), key, keys);
        append(map.valueArray(), value, values);
    }

    private void append(InternalArray array, DataType element, List<ColumnValue> out) {
        InternalArray.ElementGetter getter = InternalArray.createElementGetter(element);
        for (int i = 0; i < array.size(); i++) {
            out.add(of(getter.getElementOrNull(array, i), element, zone));
        }
    }

    @Override
    public void unpackStruct(List<Integer> fields, List<ColumnValue> values) {
        RowType own = (RowType) type;
        for (int i = 0; i < fields.size(); i++) {
            Integer place = (Integer) fields.get(i);
            if (place == null) {
                values.add(null);
                continue;
            }
            DataType field = own.getTypeAt(place.intValue());
            InternalRow.FieldGetter getter = InternalRow.createFieldGetter(field, place.intValue());
            values.add(of(getter.getFieldOrNull((InternalRow) item), field, zone));
        }
    }
}
