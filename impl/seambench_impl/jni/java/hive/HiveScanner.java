package seambench.hive;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;

import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.serde2.Deserializer;
import org.apache.hadoop.hive.serde2.SerDeException;
import org.apache.hadoop.hive.serde2.objectinspector.StructField;
import org.apache.hadoop.hive.serde2.objectinspector.StructObjectInspector;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.io.WritableUtils;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapred.InputFormat;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RecordReader;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hadoop.util.ReflectionUtils;

import seamkit.offheap.ColumnType;
import seamkit.offheap.ConnectorScanner;
import seamkit.offheap.Parameters;
import seamkit.offheap.RefusedException;
import seamkit.offheap.SelectedFields;

/**
 * One file of a Hive table, or a part of it, by an input format and a serde of Hive (2.3).
 *
 * <p>Parameters: `hive_column_names` (`,`), `hive_column_types` (`#`), `required_fields`,
 * `nested_fields`, `data_file_path`, `block_offset`, `block_length`, `serde`, `input_format`, and
 * properties of table and serde as `SerDe.NAME`. A column that the table lacks is NULL.
 */
public final class HiveScanner extends ConnectorScanner {
    private static final String HEADER = "skip.header.line.count";
    private static final String FOOTER = "skip.footer.line.count";

    private final Parameters parameters;
    private final int fetchSize;
    private Deserializer serde;
    private RecordReader<Object, Object> records;
    private Object key;
    private Object value;
    private JobConf job;
    /** Lines at the end of the file that are no rows, and those that may turn out to be such. */
    private int footer;
    private final ArrayDeque<Writable> ahead = new ArrayDeque<Writable>();
    private StructObjectInspector rows;
    private StructField[] fields;

    public HiveScanner(int fetchSize, Map<String, String> parameters) {
        this.fetchSize = fetchSize;
        this.parameters = new Parameters(parameters);
    }

    @Override
    public void open() throws IOException {
        Map<String, ColumnType> columns = parameters.columns();
        String[] required = parameters.required();
        SelectedFields selected = parameters.nested();
        ColumnType[] pruned = new ColumnType[required.length];
        for (int i = 0; i < required.length; i++) {
            ColumnType whole = (ColumnType) columns.get(required[i]);
            pruned[i] = whole == null
                    ? ColumnType.UNKNOWN
                    : whole.prune(selected.child(required[i]), required[i]);
        }
        initOffHeapTableWriter(pruned, required, fetchSize);
        job = job(required);
        openSerde(job);
        fields = new StructField[required.length];
        for (int i = 0; i < required.length; i++) {
            fields[i] = columns.containsKey(required[i]) ? rows.getStructFieldRef(required[i]) : null;
        }
        openRecords(job);
    }

    /** What input formats look up: the table's columns, and which of them are read. */
    private JobConf job(String[] required) {
        JobConf job = new JobConf();
        List<String> names = java.util.Arrays.asList(parameters.list("hive_column_names", ","));
        List<String> ids = new ArrayList<String>();
        List<String> read = new ArrayList<String>();
        for (int i = 0; i < required.length; i++) {
            if (names.contains(required[i])) {
                ids.add("" + names.indexOf(required[i]));
                read.add(required[i]);
            }
        }
        job.set("hive.io.file.readcolumn.ids", String.join(",", ids));
        job.set("hive.io.file.readcolumn.names", String.join(",", read));
        job.setBoolean("hive.io.file.read.all.columns", false);
        Properties properties = properties();
        String[] all = (String[]) properties.stringPropertyNames().toArray(new String[0]);
        for (int i = 0; i < all.length; i++) {
            job.set(all[i], properties.getProperty(all[i]));
        }
        return job;
    }

    private Properties properties() {
        Properties properties = new Properties();
        properties.putAll(parameters.below("SerDe."));
        properties.setProperty("columns", parameters.text("hive_column_names"));
        properties.setProperty("columns.types", parameters.text("hive_column_types").replace('#', ':'));
        properties.setProperty("serialization.lib", parameters.needed("serde"));
        return properties;
    }

    private Class<?> named(String parameter) {
        String name = parameters.needed(parameter);
        try {
            return Class.forName(name, true, HiveScanner.class.getClassLoader());
        } catch (ClassNotFoundException error) {
            throw new RefusedException(parameter + " " + name + " is not among the jars");
        }
    }

    private void openSerde(JobConf job) throws IOException {
        Object made = ReflectionUtils.newInstance(named("serde"), job);
        if (!(made instanceof Deserializer)) {
            throw new RefusedException(parameters.text("serde") + " is no serde");
        }
        serde = (Deserializer) made;
        try {
            serde.initialize(job, properties());
            rows = (StructObjectInspector) serde.getObjectInspector();
        } catch (SerDeException error) {
            throw new IOException("the serde cannot be made", error);
        }
    }

    private void openRecords(JobConf job) throws IOException {
        Object made = ReflectionUtils.newInstance(named("input_format"), job);
        if (!(made instanceof InputFormat)) {
            throw new RefusedException(parameters.text("input_format") + " is no input format");
        }
        long offset = Long.parseLong(parameters.needed("block_offset"));
        long length = Long.parseLong(parameters.needed("block_length"));
        Path path = new Path(parameters.needed("data_file_path"));
        FileSplit split = new FileSplit(path, offset, length, (String[]) null);
        records = ((InputFormat) made).getRecordReader(split, job, Reporter.NULL);
        key = records.createKey();
        value = records.createValue();
        String header = parameters.text("SerDe." + HEADER);
        int skipped = header.isEmpty() || offset > 0 ? 0 : Integer.parseInt(header);
        for (int i = 0; i < skipped && records.next(key, value); i++) {
            continue;
        }
        String last = parameters.text("SerDe." + FOOTER);
        footer = last.isEmpty() ? 0 : Integer.parseInt(last);
        if (footer > 0 && offset + length < path.getFileSystem(job).getFileStatus(path).getLen()) {
            throw new RefusedException("lines at the end that are no rows (" + FOOTER
                    + "), and only a part of the file is read");
        }
    }

    /** The next line that is a row; null at the end. Input formats leave the footer to the engine. */
    private Writable next() throws IOException {
        if (footer <= 0) {
            return records.next(key, value) ? (Writable) value : null;
        }
        while (ahead.size() <= footer && records.next(key, value)) {
            ahead.addLast(WritableUtils.clone((Writable) value, job));
        }
        return ahead.size() > footer ? (Writable) ahead.removeFirst() : null;
    }

    @Override
    public int getNext() throws IOException {
        int count = 0;
        for (; count < fetchSize; count++) {
            Writable line = next();
            if (line == null) {
                break;
            }
            Object row;
            try {
                row = serde.deserialize(line);
            } catch (SerDeException error) {
                throw new IOException("a row is broken", error);
            }
            rowBegins();
            for (int i = 0; i < fields.length; i++) {
                if (fields[i] != null) {
                    Object item = rows.getStructFieldData(row, fields[i]);
                    appendData(i, HiveValue.of(item, fields[i].getFieldObjectInspector()));
                }
            }
            rowEnds();
        }
        return count;
    }

    @Override
    public void close() throws IOException {
        if (records != null) {
            records.close();
            records = null;
        }
    }
}
