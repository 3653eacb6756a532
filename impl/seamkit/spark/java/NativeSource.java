package seamkit;

import java.util.Arrays;
import java.util.Collections;
import java.util.Set;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownFilters;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.Platform;

/** Tables that native readers read, as Spark's second data source interface has them. */
public final class NativeSource {
    private NativeSource() {}

    /** Lets a scan be queried by a name; columns come by their names and types as SQL writes them. */
    public static void view(
            SparkSession session, String name, int scan, int parts, String[] columns,
            String[] types) {
        CatalystSqlParser$ parser = CatalystSqlParser$.MODULE$;
        StructType schema = new StructType();
        for (int i = 0; i < columns.length; i++) {
            schema = schema.add(columns[i], parser.parseDataType(types[i]), true);
        }
        NativeTable table = new NativeTable(name, scan, parts, schema);
        DataSourceV2Relation relation =
                DataSourceV2Relation.create(
                        table, scala.Option.empty(), scala.Option.empty(),
                        CaseInsensitiveStringMap.empty());
        Dataset frame = org.apache.spark.sql.Dataset$.MODULE$.ofRows(session, relation);
        frame.createOrReplaceTempView(name);
    }
}

/** A planned scan under a name. */
final class NativeTable implements Table, SupportsRead {
    final String name;
    final int scan;
    final int parts;
    final StructType schema;

    NativeTable(String name, int scan, int parts, StructType schema) {
        this.name = name;
        this.scan = scan;
        this.parts = parts;
        this.schema = schema;
    }

    public String name() {
        return name;
    }

    public StructType schema() {
        return schema;
    }

    public Set capabilities() {
        return Collections.singleton(TableCapability.BATCH_READ);
    }

    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        return new NativeScanBuilder(this);
    }
}

/** Columns and filters of a query over a table. */
final class NativeScanBuilder
        implements ScanBuilder, SupportsPushDownRequiredColumns, SupportsPushDownFilters {
    private final NativeTable table;
    private StructType schema;
    private int condition;

    NativeScanBuilder(NativeTable table) {
        this.table = table;
        this.schema = table.schema;
    }

    public void pruneColumns(StructType required) {
        schema = required;
    }

    /** All filters stay with Spark: the reader only leaves out what surely does not pass them. */
    public Filter[] pushFilters(Filter[] filters) {
        condition = NativeBatches.calls.pushFilters(table.scan, FilterText.of(filters));
        return filters;
    }

    public Filter[] pushedFilters() {
        return new Filter[0];
    }

    public Scan build() {
        return new NativeScan(table, schema, condition);
    }
}

/** What is read of a table. */
public final class NativeScan implements Scan, Batch {
    private final NativeTable table;
    private final StructType schema;
    private final int condition;

    NativeScan(NativeTable table, StructType schema, int condition) {
        this.table = table;
        this.schema = schema;
        this.condition = condition;
    }

    public StructType readSchema() {
        return schema;
    }

    public String description() {
        return "native " + table.name;
    }

    public Batch toBatch() {
        return this;
    }

    public InputPartition[] planInputPartitions() {
        InputPartition[] found = new InputPartition[table.parts];
        for (int i = 0; i < found.length; i++) {
            found[i] = new NativePartition(i);
        }
        return found;
    }

    public PartitionReaderFactory createReaderFactory() {
        return new NativeReaderFactory(table.scan, schema, condition);
    }

    public boolean equals(Object other) {
        if (!(other instanceof NativeScan)) {
            return false;
        }
        NativeScan scan = (NativeScan) other;
        return table.scan == scan.table.scan
                && schema.equals(scan.schema)
                && condition == scan.condition;
    }

    public int hashCode() {
        return Arrays.asList(schema.fieldNames()).hashCode() * 31 + table.scan;
    }
}

/** The number of a part of a scan. */
final class NativePartition implements InputPartition {
    final int number;

    NativePartition(int number) {
        this.number = number;
    }
}

/** Makes the readers of a scan's parts, in their tasks. */
final class NativeReaderFactory implements PartitionReaderFactory {
    private final int scan;
    private final StructType schema;
    private final int condition;

    NativeReaderFactory(int scan, StructType schema, int condition) {
        this.scan = scan;
        this.schema = schema;
        this.condition = condition;
    }

    public boolean supportColumnarReads(InputPartition partition) {
        return true;
    }

    public PartitionReader createReader(InputPartition partition) {
        throw new UnsupportedOperationException("native readers give batches");
    }

    public PartitionReader createColumnarReader(InputPartition partition) {
        int part = ((NativePartition) partition).number;
        String[] columns = schema.fieldNames();
        return new NativeReader(
                NativeBatches.calls.openPart(scan, part, columns, condition), schema);
    }
}

/** Reads one part. A batch is good until the next one or the end. */
final class NativeReader implements PartitionReader {
    private final StructType schema;
    private final long[] opened;
    private final long words = Platform.allocateMemory(16);
    private boolean closed;
    private ColumnarBatch batch;

    NativeReader(long[] opened, StructType schema) {
        this.opened = opened;
        this.schema = schema;
    }

    public boolean next() {
        release();
        NativeCode.nextBatch(NativeCode.handles(), (int) opened[2], opened[1], words);
        int rows = (int) Platform.getLong(null, words + 8);
        if (rows >= 0) {
            batch = NativeBatches.backend.batch(Platform.getLong(null, words), schema, rows);
        }
        return rows >= 0;
    }

    public Object get() {
        return batch;
    }

    private void release() {
        ColumnarBatch last = batch;
        batch = null;
        if (last != null) {
            last.close();
        }
    }

    public void close() {
        if (!closed) {
            closed = true;
            Platform.freeMemory(words);
            try {
                release();
            } finally {
                NativeBatches.calls.closePart(opened[0]);
            }
        }
    }
}
