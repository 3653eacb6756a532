package seambench;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.List;

import seamkit.offheap.ColumnType;
import seamkit.offheap.ColumnValue;
import seamkit.offheap.RawValue;

/** A value as the cases spell it: numbers, truths, lists, and texts for all the rest. */
public final class CaseValue extends RawValue {
    private final Object item;
    private final ColumnType type;

    private CaseValue(Object item, ColumnType type) {
        this.item = item;
        this.type = type;
    }

    /** A value of a row, to be appended to a column; null for NULL. */
    public static ColumnValue of(Object item, ColumnType type) {
        return item == null ? null : new CaseValue(item, type);
    }

    private BigInteger whole() {
        return item instanceof BigInteger ? (BigInteger) item : new BigInteger(item.toString());
    }

    @Override
    public boolean getBoolean() {
        return ((Boolean) item).booleanValue();
    }

    @Override
    public byte getByte() {
        return whole().byteValueExact();
    }

    @Override
    public short getShort() {
        return whole().shortValueExact();
    }

    @Override
    public int getInt() {
        return whole().intValueExact();
    }

    @Override
    public long getLong() {
        return whole().longValueExact();
    }

    @Override
    public float getFloat() {
        return (float) getDouble();
    }

    @Override
    public double getDouble() {
        if (item instanceof Number) {
            return ((Number) item).doubleValue();
        }
        String text = item.toString().trim().toLowerCase(java.util.Locale.ROOT);
        if (text.equals("nan")) {
            return Double.NaN;
        }
        boolean negative = text.startsWith("-");
        String name = negative || text.startsWith("+") ? text.substring(1) : text;
        if (name.equals("inf") || name.equals("infinity")) {
            return negative ? Double.NEGATIVE_INFINITY : Double.POSITIVE_INFINITY;
        }
        return Double.parseDouble(text);
    }

    @Override
    public String getString(ColumnType.TypeValue kind) {
        return (String) item;
    }

    @Override
    public byte[] getBytes() {
        return bytesOf(item);
    }

    private static byte[] bytesOf(Object hex) {
        String digits = (String) hex;
        byte[] out = new byte[digits.length() / 2];
        for (int i = 0; i < out.length; i++) {
            out[i] = (byte) Integer.parseInt(digits.substring(2 * i, 2 * i + 2), 16);
        }
        return out;
    }

    private static LocalDate dateOf(String text) {
        int day = text.lastIndexOf('-');
        int month = text.lastIndexOf('-', day - 1);
        return LocalDate.of(
                Integer.parseInt(text.substring(0, month)),
                Integer.parseInt(text.substring(month + 1, day)),
                Integer.parseInt(text.substring(day + 1)));
    }

    @Override
    public LocalDate getDate() {
        return dateOf((String) item);
    }

    @Override
    public LocalDateTime getDateTime(ColumnType.TypeValue kind) {
        String[] parts = ((String) item).split(" ");
        String[] clock = parts[1].split(":");
        int point = clock[2].indexOf('.');
        String seconds = point < 0 ? clock[2] : clock[2].substring(0, point);
        String fraction = point < 0 ? "0" : clock[2].substring(point + 1);
        int nanos = Integer.parseInt((fraction + "000000000").substring(0, 9));
        return dateOf(parts[0])
                .atTime(Integer.parseInt(clock[0]), Integer.parseInt(clock[1]), Integer.parseInt(seconds), nanos);
    }

    @Override
    public BigDecimal getDecimal() {
        return new BigDecimal(item.toString());
    }

    @Override
    public byte[][] getVariant() {
        List<Object> pair = (List<Object>) item;
        return new byte[][] {bytesOf(pair.get(0)), bytesOf(pair.get(1))};
    }

    @Override
    public void unpackArray(List<ColumnValue> elements) {
        List<Object> items = (List<Object>) item;
        for (int i = 0; i < items.size(); i++) {
            elements.add(of(items.get(i), type.child(0)));
        }
    }

    @Override
    public void unpackMap(List<ColumnValue> keys, List<ColumnValue> values) {
        List<Object> entries = (List<Object>) item;
        for (int i = 0; i < entries.size(); i++) {
            List<Object> entry = (List<Object>) entries.get(i);
            keys.add(of(entry.get(0), type.child(0)));
            values.add(of(entry.get(1), type.child(1)));
        }
    }

    @Override
    public void unpackStruct(List<Integer> fields, List<ColumnValue> values) {
        List<Object> items = (List<Object>) item;
        if (items.size() != type.children().size()) {
            throw new IllegalArgumentException(
                    "a struct of " + type.children().size() + " fields has " + items.size() + " values");
        }
        for (int i = 0; i < fields.size(); i++) {
            Integer place = (Integer) fields.get(i);
            values.add(place == null ? null : of(items.get(place.intValue()), type.child(place.intValue())));
        }
    }
}
