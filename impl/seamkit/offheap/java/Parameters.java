package seamkit.offheap;

import java.time.DateTimeException;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.LinkedHashMap;
import java.util.Map;

/** What a scanner's constructor is handed, in the words that StarRocks uses. */
public final class Parameters {
    private final Map<String, String> values;

    public Parameters(Map<String, String> values) {
        this.values = values;
    }

    /** The text of a parameter; empty if it is not there. */
    public String text(String name) {
        String value = (String) values.get(name);
        return value == null ? "" : value;
    }

    /**
     * The text of a parameter that must be there.
     *
     * @throws IllegalArgumentException it is not
     */
    public String needed(String name) {
        String value = (String) values.get(name);
        if (value == null) {
            throw new IllegalArgumentException("parameter '" + name + "' is missing");
        }
        return value;
    }

    /** The parts of a parameter; none if it is empty or not there. */
    public String[] list(String name, String separator) {
        String text = text(name);
        return text.isEmpty() ? new String[0] : text.split(separator, -1);
    }

    /** Names and values of the parameters whose names begin with a prefix, which is cut off. */
    public Map<String, String> below(String prefix) {
        Map<String, String> found = new LinkedHashMap<String, String>();
        String[] names = (String[]) values.keySet().toArray(new String[0]);
        for (int i = 0; i < names.length; i++) {
            if (names[i].startsWith(prefix)) {
                found.put(names[i].substring(prefix.length()), (String) values.get(names[i]));
            }
        }
        return found;
    }

    /** `required_fields`: the columns to hand out, in order. */
    public String[] required() {
        return list("required_fields", ",");
    }

    /** `nested_fields`: the parts of columns to hand out. */
    public SelectedFields nested() {
        return SelectedFields.of(list("nested_fields", ","));
    }

    /**
     * `time_zone`: of the clocks that show timestamps with a zone; UTC by default.
     *
     * @throws RefusedException there is no such zone
     */
    public ZoneId zone() {
        String name = text("time_zone");
        try {
            return name.isEmpty() ? ZoneOffset.UTC : ZoneId.of(name);
        } catch (DateTimeException error) {
            throw new RefusedException("parameter 'time_zone': there is no zone '" + name + "'");
        }
    }

    /**
     * `hive_column_names` and `hive_column_types`: the columns of the source.
     *
     * @throws IllegalArgumentException there are not as many of both
     */
    public Map<String, ColumnType> columns() {
        String[] names = list("hive_column_names", ",");
        String[] texts = list("hive_column_types", "#");
        if (names.length != texts.length) {
            throw new IllegalArgumentException(names.length + " columns have " + texts.length + " types");
        }
        Map<String, ColumnType> columns = new LinkedHashMap<String, ColumnType>();
        for (int i = 0; i < names.length; i++) {
            columns.put(names[i], new ColumnType(texts[i]));
        }
        return columns;
    }
}
