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
    /** A column that the source lacks. */
    public static final ColumnType UNKNOWN = new ColumnType(Kind.UNKNOWN, 0, 0);

    public final Kind kind;
    /** Digits of a decimal, and how many of them stand behind the point; else 0. */
    public final int precision;
    public final int scale;

    private final List<String> names;
    private final List<ColumnType> children;
    private final int[] sources;

    public ColumnType(Kind kind, int precision, int scale) {
        this(kind, precision, scale, Collections.emptyList(), Collections.emptyList(), null);
    }

    private ColumnType(
            Kind kind,
            int precision,
            int scale,
            List<String> names,
            List<ColumnType> children,
            int[] sources) {
        this.kind = kind;
        this.precision = precision;
        this.scale = scale;
        this.names = names;
        this.children = children;
        this.sources = sources;
    }

    /** The type that a type string names, read strictly. */
    public static ColumnType parse(String text) {
        return new StrictTypes(text).whole();
    }

    /** What StarRocks' parser makes of a type string, mistakes included. */
    public static ColumnType parseLeniently(String text) {
        return new LenientTypes(text).whole();
    }

    /** A type with children; each is its own source. */
    static ColumnType nested(Kind kind, List<String> names, List<ColumnType> children) {
        return new ColumnType(kind, 0, 0, names, children, null);
    }

    static ColumnType variant() {
        ColumnType binary = new ColumnType(Kind.BINARY, 0, 0);
        List<String> names = new ArrayList<String>();
        List<ColumnType> children = new ArrayList<ColumnType>();
        names.add("metadata");
        children.add(binary);
        names.add("value");
        children.add(binary);
        return nested(Kind.VARIANT, names, children);
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
     * For each child, which of the source's children it is: -1 for one that the source lacks. Of a
     * type that was never pruned each is itself.
     */
    public int[] sources() {
        if (sources != null) {
            return sources;
        }
        int[] all = new int[children.size()];
        for (int i = 0; i < all.length; i++) {
            all[i] = i;
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
        if (kind == Kind.STRUCT) {
            return pruneStruct(selected, name);
        }
        if (kind == Kind.ARRAY || kind == Kind.MAP) {
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
        int[] from = new int[fields.size()];
        for (int i = 0; i < from.length; i++) {
            String field = (String) fields.get(i);
            from[i] = names.indexOf(field);
            kept.add(
                    from[i] < 0
                            ? UNKNOWN
                            : child(from[i]).prune(selected.child(field), name + "." + field));
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
        int[] from = new int[kept.size()];
        for (int i = 0; i < from.length; i++) {
            from[i] = names.indexOf(keptNames.get(i));
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
        if (kind == Kind.UNKNOWN || children.isEmpty() || kind == Kind.VARIANT) {
            return kind == Kind.UNKNOWN ? "unknown" : kind.word;
        }
        StringBuilder out = new StringBuilder(kind.word).append('<');
        for (int i = 0; i < children.size(); i++) {
            out.append(i == 0 ? "" : ",");
            if (kind == Kind.STRUCT) {
                out.append(names.get(i)).append(':');
            }
            out.append(children.get(i));
        }
        return out.append('>').toString();
    }
}
