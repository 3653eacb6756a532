package seamkit.offheap;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * A column's type, a tree.
 *
 * <p>Children: of an array its element (`$0`), of a map key (`$0`) and value (`$1`), either of which
 * may be missing because it was not asked for, of a struct its fields, of a variant two binaries.
 */
public final class ColumnType {
    /** Kinds of columns, in the order that their numbers have in native code. */
    public enum TypeValue {
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

        TypeValue(int width, String word) {
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

        /** Whether the text form has formatted texts in place of the kind's values. */
        boolean hasTextForm() {
            return this == DATE || isDateTime() || isDecimal();
        }

        /** The kind of a word by itself; null if there is none. */
        static TypeValue ofWord(String word) {
            if (word.equals("short")) {
                return SHORT;
            }
            TypeValue[] kinds = values();
            for (int i = 1; i < kinds.length; i++) {
                TypeValue kind = kinds[i];
                boolean plain = !kind.isDecimal() && kind.ordinal() < ARRAY.ordinal();
                if ((plain || kind == TINYINT) && kind.word.equals(word)) {
                    return kind;
                }
            }
            return null;
        }

        /** The kind that a decimal of that many digits has. */
        static TypeValue ofDecimal(int precision) {
            return precision <= 18 ? DECIMAL64 : DECIMAL128;
        }
    }

    /** A column that the source lacks. */
    public static final ColumnType UNKNOWN = new ColumnType(TypeValue.UNKNOWN, 0, 0);

    public final TypeValue kind;
    /** Digits of a decimal, and how many of them stand behind the point; else 0. */
    public final int precision;
    public final int scale;

    private final List<String> names;
    private final List<ColumnType> children;
    private final List<Integer> sources;

    /** The type that a type string names, read strictly. */
    public ColumnType(String text) {
        this(new StrictTypes(text).whole());
    }

    private ColumnType(ColumnType other) {
        this(other.kind, other.precision, other.scale, other.names, other.children, other.sources);
    }

    public ColumnType(TypeValue kind, int precision, int scale) {
        this(kind, precision, scale, Collections.emptyList(), Collections.emptyList(), null);
    }

    private ColumnType(
            TypeValue kind,
            int precision,
            int scale,
            List<String> names,
            List<ColumnType> children,
            List<Integer> sources) {
        this.kind = kind;
        this.precision = precision;
        this.scale = scale;
        this.names = names;
        this.children = children;
        this.sources = sources;
    }

    /** What StarRocks' parser makes of a type string, mistakes included. */
    public static ColumnType parseLeniently(String text) {
        return new LenientTypes(text).whole();
    }

    /** A type with children; each is its own source. */
    static ColumnType nested(TypeValue kind, List<String> names, List<ColumnType> children) {
        return new ColumnType(kind, 0, 0, names, children, null);
    }

    static ColumnType variant() {
        ColumnType binary = new ColumnType(TypeValue.BINARY, 0, 0);
        List<String> names = new ArrayList<String>();
        List<ColumnType> children = new ArrayList<ColumnType>();
        names.add("metadata");
        children.add(binary);
        names.add("value");
        children.add(binary);
        return nested(TypeValue.VARIANT, names, children);
    }

    public List<String> names() {
        return names;
    }

    public List<ColumnType> children() {
        return children;
    }

    public ColumnType child(int index) {
        return (ColumnType) children.get(index);
    }

    /**
     * For each child, which of the source's children it is: null for one that the source lacks. Of a
     * type that was never pruned each is itself.
     */
    public List<Integer> sources() {
        if (sources != null) {
            return sources;
        }
        List<Integer> all = new ArrayList<Integer>();
        for (int i = 0; i < children.size(); i++) {
            all.add(Integer.valueOf(i));
        }
        return all;
    }

    /**
     * What is left of the type when only some parts are asked for.
     *
     * @param name of the column, for messages
     * @throws IllegalArgumentException a path goes where there are no parts
     */
    public ColumnType prune(SelectedFields selected, String name) {
        if (selected.isWhole()) {
            return this;
        }
        if (kind == TypeValue.STRUCT) {
            return pruneStruct(selected, name);
        }
        if (kind == TypeValue.ARRAY || kind == TypeValue.MAP) {
            return pruneEntries(selected, name);
        }
        throw new IllegalArgumentException(
                "nested field '" + name + "." + selected.fields().get(0) + "': a value of type "
                        + this + " has no parts to choose from");
    }

    private ColumnType pruneStruct(SelectedFields selected, String name) {
        for (int i = 0; i < names.size(); i++) {
            String field = (String) names.get(i);
            if (field.indexOf(',') >= 0 || field.indexOf('#') >= 0 || field.indexOf('.') >= 0) {
                throw new IllegalArgumentException(
                        "parts of column '" + name + "' cannot be chosen: the name of its field '"
                                + field + "' holds one of the separators ,#.");
            }
        }
        List<String> fields = selected.fields();
        List<ColumnType> kept = new ArrayList<ColumnType>();
        List<Integer> from = new ArrayList<Integer>();
        for (int i = 0; i < fields.size(); i++) {
            String field = (String) fields.get(i);
            int place = names.indexOf(field);
            from.add(place < 0 ? null : Integer.valueOf(place));
            kept.add(
                    place < 0
                            ? UNKNOWN
                            : child(place).prune(selected.child(field), name + "." + field));
        }
        return new ColumnType(kind, 0, 0, fields, kept, from);
    }

    /** Keys stay in front of values, in whatever order they were asked for. */
    private ColumnType pruneEntries(SelectedFields selected, String name) {
        List<String> fields = selected.fields();
        for (int i = 0; i < fields.size(); i++) {
            if (!names.contains(fields.get(i))) {
                throw new IllegalArgumentException(
                        "nested field '" + name + "." + fields.get(i) + "': the parts of "
                                + kind.word + " columns are " + String.join(" and ", names));
            }
        }
        List<String> keptNames = new ArrayList<String>();
        List<ColumnType> kept = new ArrayList<ColumnType>();
        for (int i = 0; i < names.size(); i++) {
            String entry = (String) names.get(i);
            if (fields.contains(entry)) {
                keptNames.add(entry);
                kept.add(child(i).prune(selected.child(entry), name + "." + entry));
            }
        }
        List<Integer> from = new ArrayList<Integer>();
        for (int i = 0; i < kept.size(); i++) {
            from.add(Integer.valueOf(names.indexOf(keptNames.get(i))));
        }
        return new ColumnType(kind, 0, 0, keptNames, kept, from);
    }

    /** Whether a map's keys are among its children. */
    boolean hasKeys() {
        return names.contains("$0");
    }

    boolean hasValues() {
        return names.contains("$1");
    }

    /** The type string. */
    @Override
    public String toString() {
        if (kind.isDecimal()) {
            return "decimal(" + precision + "," + scale + ")";
        }
        if (kind == TypeValue.UNKNOWN || children.isEmpty() || kind == TypeValue.VARIANT) {
            return kind == TypeValue.UNKNOWN ? "unknown" : kind.word;
        }
        StringBuilder out = new StringBuilder(kind.word).append('<');
        for (int i = 0; i < children.size(); i++) {
            out.append(i == 0 ? "" : ",");
            if (kind == TypeValue.STRUCT) {
                out.append(names.get(i)).append(':');
            }
            out.append(children.get(i));
        }
        return out.append('>').toString();
    }
}
