package seamkit;

import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.io.Serializable;
import java.net.URI;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.spark.paths.SparkPath;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow$;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.Function1;
import scala.collection.Iterator;
import scala.collection.JavaConverters;

/** Opens files of parts with Spark's own reader of Parquet, in tasks. */
final class PartFiles implements Serializable {
    private final Function1 read;
    private final Function1 readWider;
    private final int[] places;
    private final int nShared;

    private PartFiles(Function1 read, Function1 readWider, int[] places, int nShared) {
        this.read = read;
        this.readWider = readWider;
        this.places = places;
        this.nShared = nShared;
    }

    /**
     * What opens files; called on the driver.
     *
     * @param columns of the query
     * @param shared names of columns that are not read from the files
     * @param filters of the query, which rule out row groups and pages
     * @return null if Spark does not read these columns batch by batch
     */
    static PartFiles of(SparkSession session, StructType columns, List shared, Filter[] filters) {
        StructType own = new StructType();
        int[] places = new int[columns.size()];
        int nShared = 0;
        for (int i = 0; i < places.length; i++) {
            StructField field = columns.apply(i);
            if (shared.contains(field.name())) {
                nShared++;
                places[i] = -nShared;
            } else {
                places[i] = own.size();
                own = own.add(field);
            }
        }
        String row = ParquetFileFormat.ROW_INDEX_TEMPORARY_COLUMN_NAME();
        own = own.add(row, DataTypes.LongType);
        ParquetFileFormat format = new ParquetFileFormat();
        if (!format.supportBatch(session, own)) {
            return null;
        }
        List spelled = new ArrayList(shared); // a filter has some names in backquotes
        for (int i = 0; i < shared.size(); i++) {
            spelled.add("`" + ((String) shared.get(i)).replace("`", "``") + "`");
        }
        List pushed = new ArrayList();
        List exact = new ArrayList();
        for (int i = 0; i < filters.length; i++) {
            List names = Arrays.asList(filters[i].references());
            if (Collections.disjoint(names, spelled) && !testsZeros(names, columns)) {
                pushed.add(filters[i]);
                if (!mayBe("decimal(", names, columns)) {
                    exact.add(filters[i]);
                }
            }
        }
        Function1 read = reader(session, format, own, pushed);
        boolean alike = exact.size() == pushed.size();
        Function1 readWider = alike ? read : reader(session, format, own, exact);
        return new PartFiles(read, readWider, places, nShared);
    }

    /** Whether -0.0 may be among the values: in dictionaries Spark takes it for less than 0.0. */
    private static boolean testsZeros(List names, StructType columns) {
        return mayBe("float", names, columns) || mayBe("double", names, columns);
    }

    /** Whether one of some columns, or of fields within them, may be of a type. */
    private static boolean mayBe(String type, List names, StructType columns) {
        for (int i = 0; i < names.size(); i++) {
            int at = Arrays.asList(columns.fieldNames()).indexOf(names.get(i));
            DataType whole = at < 0 ? columns : columns.apply(at).dataType();
            if (whole.json().contains("\"" + type)) {
                return true;
            }
        }
        return false;
    }

    private static Function1 reader(
            SparkSession session, ParquetFileFormat format, StructType own, List filters) {
        // Days are as they stand in the file: those who write them so say nothing of it.
        scala.collection.immutable.Map options = scala.collection.immutable.Map$.MODULE$.empty();
        options = options.updated("returning_batch", "true");
        options = options.updated("datetimeRebaseMode", "CORRECTED");
        return format.buildReaderWithPartitionValues(
                session,
                own,
                new StructType(),
                own,
                ((scala.collection.mutable.Buffer)
                                JavaConverters.asScalaBufferConverter(filters).asScala())
                        .toSeq(),
                options,
                session.sessionState().newHadoopConfWithOptions(options));
    }

    /** How many columns are not read from the files. */
    int nShared() {
        return nShared;
    }

    /**
     * Opens a file.
     *
     * @param address of the file
     * @param wider whether its decimals have fewer digits than the columns: Spark widens them, but
     *     cuts a filter's value to what a file's type holds before it tests row groups by it
     * @param gone a bit for each row that is gone; nothing if none is
     * @param shared columns that are not read from the file, each of one row
     */
    FileRows open(String address, boolean wider, byte[] gone, ColumnVector[] shared) {
        long length = new File(URI.create(address)).length();
        PartitionedFile file =
                new PartitionedFile(
                        InternalRow$.MODULE$.empty(),
                        SparkPath.fromUrlString(address),
                        0L,
                        length,
                        new String[0],
                        0L,
                        length,
                        scala.collection.immutable.Map$.MODULE$.empty());
        return new FileRows((Iterator) (wider ? readWider : read).apply(file), gone, places, shared);
    }
}

/** The rows of a file that are left. */
final class FileRows implements Closeable {
    private final Iterator batches;
    private final byte[] gone;
    private final int[] places;
    private final ColumnVector[] shared;
    private int[] left = new int[0];
    private int[] first = new int[0];

    /**
     * @param places of the query's columns among those of a batch; one that is not read from the
     *     file is -1, the next -2, and so on
     */
    FileRows(Iterator batches, byte[] gone, int[] places, ColumnVector[] shared) {
        this.batches = batches;
        this.gone = gone;
        this.places = places;
        this.shared = shared;
    }

    /** The next batch with rows, or null. */
    ColumnarBatch next() {
        while (batches.hasNext()) {
            ColumnarBatch whole = (ColumnarBatch) batches.next();
            int rows = whole.numRows();
            if (first.length < rows) {
                left = new int[rows];
                first = new int[rows];
            }
            int kept = gone.length == 0 ? rows : rowsLeft(whole.column(whole.numCols() - 1), rows);
            if (kept > 0) {
                return new ColumnarBatch(columns(whole, kept < rows), kept);
            }
        }
        return null;
    }

    /** Fills `left`, given the numbers of rows within the file. */
    private int rowsLeft(ColumnVector numbers, int rows) {
        int kept = 0;
        for (int i = 0; i < rows; i++) {
            long number = numbers.getLong(i);
            left[kept] = i;
            kept += 1 - (gone[(int) (number >> 3)] >> (int) (number & 7) & 1);
        }
        return kept;
    }

    private ColumnVector[] columns(ColumnarBatch whole, boolean some) {
        ColumnVector[] found = new ColumnVector[places.length];
        for (int i = 0; i < found.length; i++) {
            if (places[i] < 0) {
                found[i] = new RowsOf(shared[-1 - places[i]], first);
            } else {
                ColumnVector own = whole.column(places[i]);
                found[i] = some ? new RowsOf(own, left) : own;
            }
        }
        return found;
    }

    public void close() throws IOException {
        if (batches instanceof Closeable) {
            ((Closeable) batches).close();
        }
    }
}
