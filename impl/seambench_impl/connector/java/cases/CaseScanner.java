package seambench;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import seamkit.offheap.ColumnType;
import seamkit.offheap.ConnectorScanner;
import seamkit.offheap.SelectedFields;

/** Rows of a case of the column seam, in chunks of the sizes that it states. */
public final class CaseScanner extends ConnectorScanner {
    private static final Map<String, Object[]> CASES = new ConcurrentHashMap<String, Object[]>();

    private final int fetchSize;
    private final String[] names;
    private final String[] types;
    private final String[] required;
    private final String[] nested;
    private final List<Object> rows;
    private final List<Object> sizes;
    private ColumnType[] sources;
    private int[] places;
    private int row;
    private int chunk;

    /** The parameter `case` names what `put` was given. */
    public CaseScanner(int fetchSize, Map<String, String> parameters) {
        Object[] parts = (Object[]) CASES.remove(parameters.get("case"));
        this.fetchSize = fetchSize;
        names = (String[]) parts[0];
        types = (String[]) parts[1];
        required = (String[]) parts[2];
        nested = (String[]) parts[3];
        rows = (List<Object>) parts[4];
        sizes = (List<Object>) parts[5];
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
            return ColumnType.parse(text);
        } catch (IllegalArgumentException error) {
            return ColumnType.parseLeniently(text);
        }
    }

    @Override
    public void open() {
        SelectedFields selected = SelectedFields.of(nested);
        ColumnType[] pruned = new ColumnType[required.length];
        sources = new ColumnType[required.length];
        places = new int[required.length];
        for (int i = 0; i < required.length; i++) {
            places[i] = -1;
            for (int j = 0; j < names.length; j++) {
                if (names[j].equals(required[i])) {
                    places[i] = j;
                }
            }
            sources[i] = places[i] < 0 ? ColumnType.UNKNOWN : typeOf(types[places[i]]);
            pruned[i] = places[i] < 0
                    ? ColumnType.UNKNOWN
                    : sources[i].prune(selected.child(required[i]), required[i]);
        }
        initOffHeapTableWriter(pruned, required, fetchSize);
    }

    @Override
    public int getNext() {
        int count = ((Number) sizes.get(chunk++)).intValue();
        for (int i = 0; i < count; i++) {
            List<Object> values = (List<Object>) rows.get(row++);
            for (int column = 0; column < places.length; column++) {
                if (places[column] >= 0) {
                    appendData(column, CaseValue.of(values.get(places[column]), sources[column]));
                }
            }
        }
        return count;
    }

    @Override
    public void close() {}
}
