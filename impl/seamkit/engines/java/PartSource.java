package seamkit;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.spark.TaskContext;
import org.apache.spark.api.python.PythonFunction;
import org.apache.spark.api.python.PythonRunner$;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsPushDownFilters;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils$;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.collection.Iterator;

/**
 * A scan whose parts Python's workers read, as Spark's second data source interface has it.
 *
 * <p>A task hands its worker four texts: the plan of some parts, the columns (a JSON array), the
 * filters as `FilterText` writes them, and whether Spark may read the parts' files. If so, what comes back for a part begins with its file's address; unless that is empty, with a byte
 * if decimals of it have fewer digits than the columns, and nothing if not; with a bit for each row that is gone (the lowest of a byte first; no bits if none is), and, if the columns
 * have any that all rows of a part may share, with these in an Arrow stream of one row. Then come
 * its other rows in Arrow streams, and nothing in the end.
 */
public final class PartSource {
    public PartSource() {}

    /**
     * A frame over a scan.
     *
     * @param schema of all columns, as Spark writes it in JSON
     * @param tasks for each the plan of its parts, a text
     * @param bytes of the files of all parts, by which Spark plans joins; -1 if unknown
     * @param rows of all parts, or a bound or estimate of them; -1 if unknown
     * @param shared names of columns that may have one value in all rows of a part
     * @param read what a worker runs; pickled
     */
    public Dataset frame(
            SparkSession session,
            String schema,
            List tasks,
            long bytes,
            long rows,
            List shared,
            PythonFunction read) {
        StructType columns = (StructType) DataType.fromJson(schema);
        PartTable table = new PartTable(session, columns, tasks, bytes, rows, shared, read);
        DataSourceV2Relation relation =
                DataSourceV2Relation.create(
                        table, scala.Option.empty(), scala.Option.empty(),
                        CaseInsensitiveStringMap.empty());
        return org.apache.spark.sql.Dataset$.MODULE$.ofRows(session, relation);
    }
}

/** A planned scan. */
final class PartTable implements Table, SupportsRead {
    final SparkSession session;
    final StructType schema;
    final List tasks;
    final long bytes;
    final long rows;
    final List shared;
    final PythonFunction read;

    PartTable(
            SparkSession session,
            StructType schema,
            List tasks,
            long bytes,
            long rows,
            List shared,
            PythonFunction read) {
        this.session = session;
        this.schema = schema;
        this.tasks = tasks;
        this.bytes = bytes;
        this.rows = rows;
        this.shared = shared;
        this.read = read;
    }

    public String name() {
        return "seamkit";
    }

    public StructType schema() {
        return schema;
    }

    public Set capabilities() {
        return Collections.singleton(TableCapability.BATCH_READ);
    }

    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        return new PartScanBuilder(this);
    }
}

/** Columns and filters of a query over a scan. */
final class PartScanBuilder
        implements ScanBuilder, SupportsPushDownRequiredColumns, SupportsPushDownFilters {
    private final PartTable table;
    private StructType schema;
    private Filter[] filters = new Filter[0];

    PartScanBuilder(PartTable table) {
        this.table = table;
        this.schema = table.schema;
    }

    /** Whole columns: a reader in another language gives structs with all of their fields. */
    public void pruneColumns(StructType required) {
        String[] names = required.fieldNames();
        StructField[] whole = new StructField[names.length];
        for (int i = 0; i < names.length; i++) {
            whole[i] = table.schema.apply(names[i]);
        }
        schema = new StructType(whole);
    }

    /** All filters stay with Spark: the reader only leaves out what surely does not pass them. */
    public Filter[] pushFilters(Filter[] pushed) {
        filters = pushed;
        return pushed;
    }

    public Filter[] pushedFilters() {
        return new Filter[0];
    }

    public Scan build() {
        return new PartScan(table, schema, filters);
    }
}

/** What is read of a scan. */
final class PartScan implements Scan, Batch, SupportsReportStatistics {
    private final PartTable table;
    private final StructType schema;
    private final Filter[] pushed;
    private final String filters;

    PartScan(PartTable table, StructType schema, Filter[] pushed) {
        this.table = table;
        this.schema = schema;
        this.pushed = pushed;
        this.filters = FilterText.of(pushed);
    }

    public StructType readSchema() {
        return schema;
    }

    public String description() {
        return "seamkit parts, filters " + filters;
    }

    public Batch toBatch() {
        return this;
    }

    /** A file's bytes are those of all columns; rows are those before any filter. */
    public Statistics estimateStatistics() {
        double share = (schema.size() + 1.0) / (table.schema.size() + 1.0);
        return new PartStatistics(
                table.bytes < 0
                        ? OptionalLong.empty()
                        : OptionalLong.of((long) (table.bytes * share)),
                table.rows < 0 ? OptionalLong.empty() : OptionalLong.of(table.rows));
    }

    public InputPartition[] planInputPartitions() {
        InputPartition[] found = new InputPartition[table.tasks.size()];
        for (int i = 0; i < found.length; i++) {
            found[i] = new Parts((String) table.tasks.get(i));
        }
        return found;
    }

    public PartitionReaderFactory createReaderFactory() {
        String[] names = schema.fieldNames();
        StringBuilder columns = new StringBuilder("[");
        for (int i = 0; i < names.length; i++) {
            columns.append(i > 0 ? "," : "");
            FilterText.quoted(names[i], columns);
        }
        PartFiles files = PartFiles.of(table.session, schema, table.shared, pushed);
        return new PartReaderFactory(table.read, columns.append(']').toString(), filters, files);
    }

    public boolean equals(Object other) {
        if (!(other instanceof PartScan)) {
            return false;
        }
        PartScan scan = (PartScan) other;
        return table == scan.table
                && schema.equals(scan.schema)
                && Arrays.equals(pushed, scan.pushed);
    }

    public int hashCode() {
        return schema.hashCode() * 31 + Arrays.hashCode(pushed);
    }
}

/** How much is read. */
final class PartStatistics implements Statistics {
    private final OptionalLong bytes;
    private final OptionalLong rows;

    PartStatistics(OptionalLong bytes, OptionalLong rows) {
        this.bytes = bytes;
        this.rows = rows;
    }

    public OptionalLong sizeInBytes() {
        return bytes;
    }

    public OptionalLong numRows() {
        return rows;
    }
}

/** The plan of what a task reads. */
final class Parts implements InputPartition {
    final String plan;

    Parts(String plan) {
        this.plan = plan;
    }
}

/** Makes the readers of parts, in their tasks. */
final class PartReaderFactory implements PartitionReaderFactory {
    private final PythonFunction read;
    private final String columns;
    private final String filters;
    private final PartFiles files;

    /**
     * @param files null if Spark cannot read files of these columns batch by batch
     */
    PartReaderFactory(PythonFunction read, String columns, String filters, PartFiles files) {
        this.read = read;
        this.columns = columns;
        this.filters = filters;
        this.files = files;
    }

    public boolean supportColumnarReads(InputPartition partition) {
        return true;
    }

    public PartitionReader createReader(InputPartition partition) {
        throw new UnsupportedOperationException("parts are read as batches");
    }

    public PartitionReader createColumnarReader(InputPartition partition) {
        List request = new ArrayList();
        request.add(((Parts) partition).plan);
        request.add(columns);
        request.add(filters);
        request.add(Boolean.toString(files != null));
        Iterator input =
                (Iterator)
                        scala.collection.JavaConverters.asScalaIteratorConverter(request.iterator())
                                .asScala();
        TaskContext task = TaskContext.get();
        Iterator streams =
                (Iterator)
                        PythonRunner$.MODULE$
                                .apply(read, scala.Option.empty())
                                .compute(input, task.partitionId(), task);
        return new PartReader(streams, files);
    }
}

/** Reads parts, of each its file, then what the worker sends. A batch is good until the next one. */
final class PartReader implements PartitionReader {
    private final Iterator streams;
    private final PartFiles files;
    private final BufferAllocator allocator;
    private ArrowStreamReader values;
    private ArrowStreamReader stream;
    private FileRows file;
    private ColumnarBatch batch;
    private boolean within;

    PartReader(Iterator streams, PartFiles files) {
        this.streams = streams;
        this.files = files;
        this.allocator =
                ArrowUtils$.MODULE$.rootAllocator().newChildAllocator("part", 0, Long.MAX_VALUE);
    }

    public boolean next() throws IOException {
        while (true) {
            if (file != null) {
                batch = file.next();
                if (batch != null) {
                    return true;
                }
                closeFile();
            }
            if (stream != null) {
                if (stream.loadNextBatch()) {
                    VectorSchemaRoot root = stream.getVectorSchemaRoot();
                    batch = new ColumnarBatch(PartColumns.of(root), root.getRowCount());
                    return true;
                }
                closeStream();
            }
            if (!streams.hasNext()) {
                return false;
            }
            if (within) {
                byte[] content = (byte[]) streams.next();
                within = content.length > 0;
                stream = within ? open(content) : null;
            } else {
                within = true;
                openFile();
            }
        }
    }

    /** The worker's first values; see `PartSource`. */
    private void openFile() throws IOException {
        if (files == null) {
            return;
        }
        String address = new String((byte[]) streams.next(), StandardCharsets.UTF_8);
        if (address.isEmpty()) {
            return;
        }
        boolean wider = ((byte[]) streams.next()).length > 0;
        byte[] gone = (byte[]) streams.next();
        ColumnVector[] shared = new ColumnVector[0];
        if (files.nShared() > 0) {
            values = open((byte[]) streams.next());
            values.loadNextBatch();
            shared = PartColumns.of(values.getVectorSchemaRoot());
        }
        file = files.open(address, wider, gone, shared);
    }

    public Object get() {
        return batch;
    }

    private ArrowStreamReader open(byte[] content) {
        return new ArrowStreamReader(new ByteArrayInputStream(content), allocator);
    }

    private void closeFile() throws IOException {
        FileRows open = file;
        file = null;
        batch = null;
        if (open != null) {
            open.close();
        }
        if (values != null) {
            values.close();
            values = null;
        }
    }

    private void closeStream() throws IOException {
        ArrowStreamReader open = stream;
        stream = null;
        batch = null;
        if (open != null) {
            open.close();
        }
    }

    public void close() throws IOException {
        try {
            closeFile();
            closeStream();
        } finally {
            allocator.close();
        }
    }
}
