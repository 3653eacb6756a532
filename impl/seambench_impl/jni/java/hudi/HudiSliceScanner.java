package seambench.hudi;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import org.apache.avro.Schema;
import org.apache.avro.generic.IndexedRecord;
import org.apache.hadoop.conf.Configuration;
import org.apache.hudi.common.config.TypedProperties;
import org.apache.hudi.common.engine.HoodieReaderContext;
import org.apache.hudi.common.fs.FSUtils;
import org.apache.hudi.common.model.FileSlice;
import org.apache.hudi.common.model.HoodieBaseFile;
import org.apache.hudi.common.model.HoodieFileGroupId;
import org.apache.hudi.common.model.HoodieLogFile;
import org.apache.hudi.common.schema.HoodieSchema;
import org.apache.hudi.common.schema.HoodieSchemaUtils;
import org.apache.hudi.common.table.HoodieTableMetaClient;
import org.apache.hudi.common.table.TableSchemaResolver;
import org.apache.hudi.common.table.read.HoodieFileGroupReader;
import org.apache.hudi.common.util.Option;
import org.apache.hudi.common.util.collection.ClosableIterator;
import org.apache.hudi.storage.hadoop.HadoopStorageConfiguration;

import seamkit.offheap.ColumnType;
import seamkit.offheap.ConnectorScanner;
import seamkit.offheap.Parameters;
import seamkit.offheap.RefusedException;
import seamkit.offheap.SelectedFields;

/**
 * One file slice of a Hudi table by Hudi's own file-group reader (1.2.0), which gives Avro records.
 *
 * <p>Parameters: `base_path`, `instant_time`, `hive_column_names` (`,`), `hive_column_types` (`#`),
 * `required_fields`, `nested_fields`, `data_file_path` (empty: logs alone), `delta_file_paths` (`,`).
 */
public final class HudiSliceScanner extends ConnectorScanner {
    /** Records that are read before they are appended, so that a clock tells both apart. */
    private static final int HELD = 64;

    private final Parameters parameters;
    private final int fetchSize;
    private HoodieFileGroupReader<IndexedRecord> reader;
    private ClosableIterator<IndexedRecord> records;
    private AvroColumn[] columns;
    private final IndexedRecord[] held = new IndexedRecord[HELD];

    public HudiSliceScanner(int fetchSize, Map<String, String> parameters) {
        this.fetchSize = fetchSize;
        this.parameters = new Parameters(parameters);
    }

    @Override
    public void open() throws IOException {
        String[] required = parameters.required();
        Map<String, ColumnType> known = parameters.columns();
        SelectedFields selected = parameters.nested();
        ColumnType[] types = new ColumnType[required.length];
        ColumnType[] pruned = new ColumnType[required.length];
        List<String> wanted = new ArrayList<String>();
        for (int i = 0; i < required.length; i++) {
            types[i] = (ColumnType) known.get(required[i]);
            if (types[i] == null) {
                throw new RefusedException("column '" + required[i] + "' has no type");
            }
            pruned[i] = types[i].prune(selected.child(required[i]), required[i]);
            wanted.add(required[i]);
        }
        initOffHeapTableWriter(pruned, required, fetchSize);
        openReader(wanted, types);
    }

    private void openReader(List<String> wanted, ColumnType[] types) throws IOException {
        HoodieTableMetaClient meta =
                HoodieTableMetaClient.builder()
                        .setConf(new HadoopStorageConfiguration(new Configuration()))
                        .setBasePath(parameters.needed("base_path"))
                        .build();
        TableSchemaResolver resolver = new TableSchemaResolver(meta);
        HoodieSchema all;
        Option internal;
        try {
            all = resolver.getTableSchema(true);
            internal = resolver.getTableInternalSchemaFromCommitMetadata();
        } catch (Exception error) {
            throw new IOException("the table's schema cannot be read", error);
        }
        HoodieSchema projection = HoodieSchemaUtils.generateProjectionSchema(all, wanted);
        TypedProperties properties = TypedProperties.copy(meta.getTableConfig().getProps());
        HoodieReaderContext context =
                new SliceReaderContext(meta.getStorageConf(), meta.getTableConfig(), properties);
        reader =
                (HoodieFileGroupReader)
                        HoodieFileGroupReader.newBuilder()
                                .withReaderContext(context)
                                .withHoodieTableMetaClient(meta)
                                .withLatestCommitTime(parameters.needed("instant_time"))
                                .withFileSlice(slice())
                                .withDataSchema(all)
                                .withRequestedSchema(projection)
                                .withInternalSchema(internal)
                                .withProps(properties)
                                .withShouldUseRecordPosition(false)
                                .build();
        records = reader.getClosableIterator();
        Schema row = projection.toAvroSchema();
        columns = new AvroColumn[wanted.size()];
        for (int i = 0; i < columns.length; i++) {
            Schema.Field field = row.getField((String) wanted.get(i));
            if (field == null) {
                throw new RefusedException("the table has no column '" + wanted.get(i) + "'");
            }
            columns[i] = new AvroColumn(field.pos(), types[i], AvroValue.plain(field.schema()));
        }
    }

    /** The slice that the parameters' files are. */
    private FileSlice slice() {
        String base = parameters.text("data_file_path");
        String[] logs = parameters.list("delta_file_paths", ",");
        boolean logsAlone = base.isEmpty();
        if (logsAlone && logs.length == 0) {
            throw new IllegalArgumentException("a slice has a data_file_path or delta_file_paths");
        }
        List<HoodieLogFile> files = new ArrayList<HoodieLogFile>();
        for (int i = 0; i < logs.length; i++) {
            files.add(new HoodieLogFile(logs[i]));
        }
        String one = logsAlone ? logs[0] : base;
        String folder = one.substring(0, one.lastIndexOf('/'));
        String root = parameters.needed("base_path");
        String partition = folder.length() > root.length() ? folder.substring(root.length() + 1) : "";
        String name = one.substring(one.lastIndexOf('/') + 1);
        HoodieLogFile first = logsAlone ? (HoodieLogFile) files.get(0) : null;
        String fileId = logsAlone ? first.getFileId() : FSUtils.getFileId(name);
        String instant = logsAlone ? first.getDeltaCommitTime() : FSUtils.getCommitTime(name);
        return new FileSlice(
                new HoodieFileGroupId(partition, fileId),
                instant,
                logsAlone ? null : new HoodieBaseFile(base),
                files);
    }

    @Override
    public int getNext() throws IOException {
        int count = 0;
        while (count < fetchSize && records.hasNext()) {
            int most = Math.min(HELD, fetchSize - count);
            int read = 0;
            for (; read < most && records.hasNext(); read++) {
                held[read] = (IndexedRecord) records.next();
            }
            long start = System.nanoTime();
            // One kind of value after the other is faster.
            for (int i = 0; i < columns.length; i++) {
                columns[i].append(column(i), held, read);
            }
            countConversion(System.nanoTime() - start);
            count += read;
        }
        return count;
    }

    /** Reads the records that are left, and appends none; how many: what the reader costs alone. */
    public long drain() {
        long count = 0;
        for (; records.hasNext(); count++) {
            records.next();
        }
        return count;
    }

    @Override
    public void close() throws IOException {
        if (records != null) {
            records.close();
            records = null;
            java.util.Arrays.fill(held, null);
        }
        if (reader != null) {
            reader.close();
            reader = null;
        }
    }
}
