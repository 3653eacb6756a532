package seamkit.offheap;

import java.math.BigDecimal;
import java.math.BigInteger;

import seamkit.offheap.ColumnType.TypeValue;

/** Values of one column as texts, for authors of scanners who look at what they appended. */
final class ShownValue {
    private static final int EPOCH_JULIAN = 2440588;

    private final OffHeapColumnVector column;

    ShownValue(OffHeapColumnVector column) {
        this.column = column;
    }

    /** A row that is not NULL. */
    String at(int row) {
        TypeValue kind = column.type.kind;
        if (kind.isDecimal()) {
            return new BigDecimal(unscaled(row), column.type.scale).toPlainString();
        }
        if (kind.isDateTime()) {
            return dateTime(column.getLong(row));
        }
        switch (kind) {
            case BOOLEAN:
                return String.valueOf(column.getBoolean(row));
            case BYTE:
            case TINYINT:
                return String.valueOf(column.getByte(row));
            case SHORT:
                return String.valueOf(column.getShort(row));
            case INT:
                return String.valueOf(column.getInt(row));
            case LONG:
                return String.valueOf(column.getLong(row));
            case FLOAT:
                return String.valueOf(column.getFloat(row));
            case DOUBLE:
            case TIME:
                return String.valueOf(column.getDouble(row));
            case DATE:
                return FormattedText.date(column.getInt(row) - EPOCH_JULIAN);
            case STRING:
                return column.getUTF8String(row);
            case BINARY:
                return hexadecimal(column.getBinary(row));
            default:
                return nested(row);
        }
    }

    private static String hexadecimal(byte[] raw) {
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < raw.length; i++) {
            out.append(Character.forDigit((raw[i] >> 4) & 15, 16)).append(Character.forDigit(raw[i] & 15, 16));
        }
        return out.toString();
    }

    private BigInteger unscaled(int row) {
        if (column.type.kind.width == 4) {
            return BigInteger.valueOf(column.getInt(row));
        }
        if (column.type.kind.width == 8) {
            return BigInteger.valueOf(column.getLong(row));
        }
        BigInteger low = new BigInteger(Long.toUnsignedString(column.half(row, 0)));
        return BigInteger.valueOf(column.half(row, 1)).shiftLeft(64).add(low);
    }

    /** The Julian day stands above the microsecond of it. */
    private static String dateTime(long packed) {
        long day = (packed >> 40) - EPOCH_JULIAN;
        return FormattedText.dateTime(day * FormattedText.MICROS_A_DAY + (packed & ((1L << 40) - 1)));
    }

    private String nested(int row) {
        ColumnType type = column.type;
        StringBuilder out = new StringBuilder();
        if (type.kind == TypeValue.STRUCT || type.kind == TypeValue.VARIANT) {
            for (int i = 0; i < type.children().size(); i++) {
                String name = type.kind == TypeValue.STRUCT ? type.names().get(i) + ": " : "";
                out.append(i == 0 ? "" : ", ").append(name).append(column.child(i).shown(row));
            }
            return "{" + out + "}";
        }
        for (int at = column.entriesFrom(row); at < column.entriesFrom(row + 1); at++) {
            out.append(at == column.entriesFrom(row) ? "" : ", ");
            for (int i = 0; i < type.children().size(); i++) {
                out.append(i == 0 ? "" : ": ").append(column.child(i).shown(at));
            }
        }
        return type.kind == TypeValue.MAP ? "{" + out + "}" : "[" + out + "]";
    }
}
