package seambench;

import java.util.List;
import java.util.Map;

import seamkit.offheap.ConnectorScanner;

/** Rows of a case of the column seam, in chunks of the sizes that it states. */
public final class CaseScanner extends ConnectorScanner {
    private final int fetchSize;
    private final Map<String, String> parameters;
    private Case given;

    public CaseScanner(int fetchSize, Map<String, String> parameters) {
        this.fetchSize = fetchSize;
        this.parameters = parameters;
    }

    @Override
    public void open() {
        given = Case.of(parameters);
        initOffHeapTableWriter(given.types, given.required, fetchSize);
    }

    @Override
    public int getNext() {
        List<Object> rows = given.nextChunk();
        for (int i = 0; i < rows.size(); i++) {
            List<Object> values = (List<Object>) rows.get(i);
            for (int column = 0; column < given.places.length; column++) {
                int place = given.places[column];
                if (place >= 0) {
                    appendData(column, CaseValue.of(values.get(place), given.sources[column]));
                }
            }
        }
        return rows.size();
    }

    @Override
    public void close() {}
}
