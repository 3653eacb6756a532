package seamkit;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.Collections;
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
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils$;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.collection.Iterator;

/**
 * A scan whose parts Python's workers read, as Spark's second data source interface has it.
 *
 * <p>A task hands its worker three texts: the number of a part, the columns (a JSON array), and the
 * filters as `FilterText` writes them. Each value that comes back is an Arrow stream.
 */
public final class PartSource {
    public PartSource() {}

    /**
     * A frame over a scan.
     *
     * @param schema of all columns, as Spark writes it in JSON
     * @param bytes of the files of all parts, by which Spark plans joins; -1 if unknown
     * @param rows of all parts, or a bound or estimate of them; -1 if unknown
     * @param read what a worker runs; pickled
     */
    public Dataset frame(
            SparkSession session, String schema, int parts, long bytes, long rows, PythonFunction read) {
        StructType columns = (StructType) DataType.fromJson(schema);
        PartTable table = new PartTable(columns, parts, bytes, rows, read);
        DataSourceV2Relation relation =
                DataSourceV2Relation.create(
                        table, scala.Option.empty(), scala.Option.empty(),
                        CaseInsensitiveStringMap.empty());
        return org.apache.spark.sql.Dataset$.MODULE$.ofRows(session, relation);
    }
}

/** A planned scan. */
final class PartTable implements Table, SupportsRead {
    final StructType schema;
    final int parts;
    final long bytes;
    final long rows;
    final PythonFunction read;

    PartTable(StructType schema, int parts, long bytes, long rows, PythonFunction read) {
        this.schema = schema;
        this.parts = parts;
        this.bytes = bytes;
        this.rows = rows;
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
    private String filters = "[]";

    PartScanBuilder(PartTable table) {
        this.table = table;
        this.schema = table.schema;
    }

    public void pruneColumns(StructType required) {
        schema = required;
    }

    /** All filters stay with Spark: the reader only leaves out what surely does not pass them. */
    public Filter[] pushFilters(Filter[] pushed) {
        filters = FilterText.of(pushed);
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
    private final String filters;

    PartScan(PartTable table, StructType schema, String filters) {
        this.table = table;
        this.schema = schema;
        this.filters = filters;
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
        InputPartition[] found = new InputPartition[table.parts];
        for (int i = 0; i < found.length; i++) {
            found[i] = new Part(i);
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
        return new PartReaderFactory(table.read, columns.append(']').toString(), filters);
    }

    public boolean equals(Object other) {
        if (!(other instanceof PartScan)) {
            return false;
        }
        PartScan scan = (PartScan) other;
        return table == scan.table && schema.equals(scan.schema) && filters.equals(scan.filters);
    }

    public int hashCode() {
        return schema.hashCode() * 31 + filters.hashCode();
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

/** The number of a part. */
final class Part implements InputPartition {
    final int number;

    Part(int number) {
        this.number = number;
    }
}

/** Makes the readers of parts, in their tasks. */
final class PartReaderFactory implements PartitionReaderFactory {
    private final PythonFunction read;
    private final String columns;
    private final String filters;

    PartReaderFactory(PythonFunction read, String columns, String filters) {
        this.read = read;
        this.columns = columns;
        this.filters = filters;
    }

    public boolean supportColumnarReads(InputPartition partition) {
        return true;
    }

    public PartitionReader createReader(InputPartition partition) {
        throw new UnsupportedOperationException("parts are read as batches");
    }

    public PartitionReader createColumnarReader(InputPartition partition) {
        int number = ((Part) partition).number;
        java.util.List asked = new java.util.ArrayList();
        asked.add(Integer.toString(number));
        asked.add(columns);
        asked.add(filters);
        Iterator input =
                (Iterator)
                        scala.collection.JavaConverters.asScalaIteratorConverter(asked.iterator())
                                .asScala();
        TaskContext task = TaskContext.get();
        Iterator streams =
                (Iterator)
                        PythonRunner$.MODULE$
                                .apply(read, scala.Option.empty())
                                .compute(input, task.partitionId(), task);
        return new PartReader(streams);
    }
}

/** Reads one part. A batch is good until the next one or the end. */
final class PartReader implements PartitionReader {
    private final Iterator streams;
    private final BufferAllocator allocator;
    private ArrowStreamReader stream;
    private ColumnarBatch batch;

    PartReader(Iterator streams) {
        this.streams = streams;
        this.allocator =
                ArrowUtils$.MODULE$.rootAllocator().newChildAllocator("part", 0, Long.MAX_VALUE);
    }

    public boolean next() throws IOException {
        while (true) {
            if (stream != null && stream.loadNextBatch()) {
                VectorSchemaRoot root = stream.getVectorSchemaRoot();
                ColumnVector[] vectors = new ColumnVector[root.getFieldVectors().size()];
                for (int i = 0; i < vectors.length; i++) {
                    vectors[i] = new ArrowColumnVector(root.getVector(i));
                }
                batch = new ColumnarBatch(vectors, root.getRowCount());
                return true;
            }
            closeStream();
            if (!streams.hasNext()) {
                return false;
            }
            byte[] content = (byte[]) streams.next();
            stream = new ArrowStreamReader(new ByteArrayInputStream(content), allocator);
        }
    }

    public Object get() {
        return batch;
    }

    private void closeStream() throws IOException {
        batch = null;
        if (stream != null) {
            ArrowStreamReader open = stream;
            stream = null;
            open.close();
        }
    }

    public void close() throws IOException {
        try {
            closeStream();
        } finally {
            allocator.close();
        }
    }
}
