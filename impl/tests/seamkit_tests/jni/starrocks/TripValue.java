package com.starrocks.trips;

import java.math.BigDecimal;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

import com.starrocks.jni.connector.ColumnType;
import com.starrocks.jni.connector.ColumnValue;

/** A part of a trip. */
public class TripValue implements ColumnValue {
    private final Object item;

    public TripValue(Object item) {
        this.item = item;
    }

    private static ColumnValue of(Object item) {
        return item == null ? null : new TripValue(item);
    }

    @Override
    public int getInt() {
        return ((Integer) item).intValue();
    }

    @Override
    public byte getByte() {
        return ((Byte) item).byteValue();
    }

    @Override
    public long getLong() {
        return ((Long) item).longValue();
    }

    @Override
    public double getDouble() {
        return ((Double) item).doubleValue();
    }

    @Override
    public String getString(ColumnType.TypeValue type) {
        if (type == ColumnType.TypeValue.DATE) {
            return getDate().toString();
        }
        return item.toString();
    }

    @Override
    public String getTimestamp(ColumnType.TypeValue type) {
        return getDateTime(type).format(DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss.SSS"));
    }

    @Override
    public byte[] getBytes() {
        return (byte[]) item;
    }

    @Override
    public BigDecimal getDecimal() {
        return (BigDecimal) item;
    }

    @Override
    public LocalDate getDate() {
        return LocalDate.ofEpochDay(getInt());
    }

    @Override
    public LocalDateTime getDateTime(ColumnType.TypeValue type) {
        if (type != ColumnType.TypeValue.DATETIME_MILLIS) {
            throw new UnsupportedOperationException("Unsupported type " + type);
        }
        long millis = getLong();
        return LocalDateTime.ofEpochSecond(
                Math.floorDiv(millis, 1000L), (int) Math.floorMod(millis, 1000L) * 1000000, ZoneOffset.UTC);
    }

    @Override
    public void unpackArray(List<ColumnValue> values) {
        Iterator<Object> items = ((List<Object>) item).iterator();
        while (items.hasNext()) {
            values.add(of(items.next()));
        }
    }

    @Override
    public void unpackMap(List<ColumnValue> keys, List<ColumnValue> values) {
        Iterator<Map.Entry<Object, Object>> entries = ((Map<Object, Object>) item).entrySet().iterator();
        while (entries.hasNext()) {
            Map.Entry<Object, Object> entry = (Map.Entry<Object, Object>) entries.next();
            keys.add(of(entry.getKey()));
            values.add(of(entry.getValue()));
        }
    }

    @Override
    public void unpackStruct(List<Integer> structFieldIndex, List<ColumnValue> values) {
        Object[] fields = (Object[]) item;
        for (int i = 0; i < structFieldIndex.size(); i++) {
            Integer index = (Integer) structFieldIndex.get(i);
            values.add(index == null ? null : of(fields[index.intValue()]));
        }
    }
}
