package seamkit.offheap;

/** Kinds of columns, in the order that their numbers have in native code. */
public enum Kind {
    UNKNOWN(0, ""),
    BYTE(1, "byte"),
    BOOLEAN(1, "boolean"),
    SHORT(2, "smallint"),
    INT(4, "int"),
    FLOAT(4, "float"),
    LONG(8, "bigint"),
    DOUBLE(8, "double"),
    STRING(0, "string"),
    BINARY(0, "binary"),
    DATE(4, "date"),
    TIME(8, "time"),
    DATETIME(8, "timestamp"),
    DATETIME_MICROS(8, "timestamp-micros"),
    DATETIME_MILLIS(8, "timestamp-millis"),
    DECIMALV2(16, "decimalv2"),
    DECIMAL32(4, "decimal32"),
    DECIMAL64(8, "decimal64"),
    DECIMAL128(16, "decimal128"),
    ARRAY(0, "array"),
    MAP(0, "map"),
    STRUCT(0, "struct"),
    TINYINT(1, "tinyint"),
    VARIANT(0, "variant");

    /** Bytes of a value; 0 where values are found through offsets, or in children. */
    public final int width;

    /** The word that stands for it in type strings. */
    public final String word;

    Kind(int width, String word) {
        this.width = width;
        this.word = word;
    }

    /** Whether precision and scale count. */
    public boolean isDecimal() {
        return ordinal() >= DECIMALV2.ordinal() && ordinal() <= DECIMAL128.ordinal();
    }

    /** Whether values are packed Julian days and microseconds. */
    public boolean isDateTime() {
        return this == DATETIME || this == DATETIME_MICROS || this == DATETIME_MILLIS;
    }

    /** Whether values are runs of bytes. */
    public boolean isBytes() {
        return this == STRING || this == BINARY;
    }

    /** The kind of a word by itself; null if there is none. */
    static Kind ofWord(String word) {
        if (word.equals("short")) {
            return SHORT;
        }
        Kind[] kinds = values();
        for (int i = 1; i < kinds.length; i++) {
            Kind kind = kinds[i];
            boolean plain = !kind.isDecimal() && kind.ordinal() < ARRAY.ordinal();
            if ((plain || kind == TINYINT) && kind.word.equals(word)) {
                return kind;
            }
        }
        return null;
    }

    /** The kind that a decimal of that many digits has. */
    static Kind ofDecimal(int precision) {
        return precision <= 18 ? DECIMAL64 : DECIMAL128;
    }
}
