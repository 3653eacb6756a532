import java.util.List;
import java.util.Map;

import seambench.Case;
import seamkit.offheap.ConnectorScanner;
import seamkit.offheap.RefusedException;

/** NAME: appends the rows of cases to off-heap columns, a chunk at a time. */
public final class MyColumns extends ConnectorScanner {
    private final int fetchSize;
    private final Map<String, String> parameters;
    private Case given;

    public MyColumns(int fetchSize, Map<String, String> parameters) {
        this.fetchSize = fetchSize;
        this.parameters = parameters;
    }

    @Override
    public void open() {
        given = Case.of(parameters);
        initOffHeapTableWriter(given.types, given.required, fetchSize);
    }

    /** Appends the rows of the next chunk; returns how many. */
    @Override
    public int getNext() {
        List<Object> rows = given.nextChunk();
        for (int i = 0; i < rows.size(); i++) {
            List<Object> values = (List<Object>) rows.get(i);
            for (int column = 0; column < given.places.length; column++) {
                int place = given.places[column]; // -1: the rows have no such column
                Object value = place < 0 ? null : values.get(place);
                // appendData(column, a ColumnValue of your own that gives this value)
                throw new RefusedException("NAME appends no values yet, so not " + value);
            }
        }
        return rows.size();
    }

    @Override
    public void close() {}
}
