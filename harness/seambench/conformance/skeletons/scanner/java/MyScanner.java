import java.util.Map;

import seamkit.offheap.ConnectorScanner;
import seamkit.offheap.RefusedException;

/**
 * NAME: a scanner of tables. `base_path` is the table's folder; `required_fields` names the columns,
 * parted by commas, and is absent where all are asked for; `instant_time` is the version, if one is.
 */
public final class MyScanner extends ConnectorScanner {
    private final int fetchSize;
    private final Map<String, String> parameters;

    public MyScanner(int fetchSize, Map<String, String> parameters) {
        this.fetchSize = fetchSize;
        this.parameters = parameters;
    }

    /** Names the columns: `initOffHeapTableWriter(types, names, fetchSize)`. */
    @Override
    public void open() {
        throw new RefusedException("NAME reads no tables yet, so not " + parameters.get("base_path"));
    }

    /** Appends up to `fetchSize` rows, value by value (`appendData`); returns how many, 0 at the end. */
    @Override
    public int getNext() {
        return 0;
    }

    /** Gives back what `open` took; called in any state. */
    @Override
    public void close() {}
}
