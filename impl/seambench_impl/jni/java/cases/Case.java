package seambench;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import seamkit.offheap.ColumnType;
import seamkit.offheap.SelectedFields;

/**
 * A case of the column seam, as a scanner's parameters name it: what is asked for, and the rows.
 *
 * <p>A row is a list of values: `Boolean`, `BigInteger`, `Double`, `String` (dates, times, decimals
 * and binaries, too, as cases spell them), lists of such, null for NULL.
 */
public final class Case {
    private static final Map<String, Object[]> CASES = new ConcurrentHashMap<String, Object[]>();

    /** Names of the columns asked for, in order. */
    public final String[] required;
    /** What is left of their types; of kind UNKNOWN those that the rows lack. */
    public final ColumnType[] types;
    /** Their types before parts were chosen. */
    public final ColumnType[] sources;
    /** Where their values stand in a row; -1 for those that the rows lack. */
    public final int[] places;

    private final List<Object> rows;
    private final List<Object> sizes;
    private int row;
    private int chunk;

    private Case(Object[] parts) {
        String[] names = (String[]) parts[0];
        String[] texts = (String[]) parts[1];
        required = (String[]) parts[2];
        SelectedFields selected = SelectedFields.of((String[]) parts[3]);
        rows = (List<Object>) parts[4];
        sizes = (List<Object>) parts[5];
        types = new ColumnType[required.length];
        sources = new ColumnType[required.length];
        places = new int[required.length];
        for (int i = 0; i < required.length; i++) {
            places[i] = java.util.Arrays.asList(names).indexOf(required[i]);
            sources[i] = places[i] < 0 ? ColumnType.UNKNOWN : typeOf(texts[places[i]]);
            types[i] = places[i] < 0
                    ? ColumnType.UNKNOWN
                    : sources[i].prune(selected.child(required[i]), required[i]);
        }
    }

    /**
     * The case of a scanner's parameters; it can be asked for once.
     *
     * @throws IllegalArgumentException they name none
     */
    public static Case of(Map<String, String> parameters) {
        String name = (String) parameters.get("case");
        Object[] parts = name == null ? null : (Object[]) CASES.remove(name);
        if (parts == null) {
            throw new IllegalArgumentException("parameter 'case' names no case: " + name);
        }
        return new Case(parts);
    }

    /** Takes a case: names, types, required and nested fields, rows, rows of each chunk. */
    public static void put(
            String name,
            String[] names,
            String[] types,
            String[] required,
            String[] nested,
            List<Object> rows,
            List<Object> sizes) {
        CASES.put(name, new Object[] {names, types, required, nested, rows, sizes});
    }

    /** Where the strict parser has an answer, StarRocks has the same. */
    private static ColumnType typeOf(String text) {
        try {
            return new ColumnType(text);
        } catch (IllegalArgumentException error) {
            return ColumnType.parseLeniently(text);
        }
    }

    /** The rows of the next chunk, each a list of values; none after the last. */
    public List<Object> nextChunk() {
        int first = row;
        row += chunk < sizes.size() ? ((Number) sizes.get(chunk++)).intValue() : 0;
        return rows.subList(first, row);
    }
}
