package seamkit;

import org.apache.arrow.vector.DecimalVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** Columns over Arrow vectors. */
final class PartColumns {
    private PartColumns() {}

    /** The columns of a batch, valid as long as its vectors. */
    static ColumnVector[] of(VectorSchemaRoot root) {
        ColumnVector[] columns = new ColumnVector[root.getFieldVectors().size()];
        for (int i = 0; i < columns.length; i++) {
            FieldVector vector = root.getVector(i);
            ColumnVector column = new ArrowColumnVector(vector);
            boolean decimals = vector instanceof DecimalVector;
            columns[i] = decimals ? new Decimals(column, (DecimalVector) vector) : column;
        }
        return columns;
    }
}

/** A column whose values another one has, in rows that may differ. */
class RowsOf extends ColumnVector {
    private final ColumnVector column;
    private final int[] rows;
    private final boolean nulls;

    /**
     * @param rows the row of each value in the other column; null where they are the same
     */
    RowsOf(ColumnVector column, int[] rows) {
        super(column.dataType());
        this.column = column;
        this.rows = rows;
        this.nulls = column.hasNull();
    }

    private int at(int row) {
        return rows == null ? row : rows[row];
    }

    /** Nothing: whoever made the other column closes it. */
    public void close() {}

    public boolean hasNull() {
        return column.hasNull();
    }

    /** At most: those of rows that are left out count, too. */
    public int numNulls() {
        return column.numNulls();
    }

    public boolean isNullAt(int row) {
        return nulls && column.isNullAt(at(row));
    }

    public boolean getBoolean(int row) {
        return column.getBoolean(at(row));
    }

    public byte getByte(int row) {
        return column.getByte(at(row));
    }

    public short getShort(int row) {
        return column.getShort(at(row));
    }

    public int getInt(int row) {
        return column.getInt(at(row));
    }

    public long getLong(int row) {
        return column.getLong(at(row));
    }

    public float getFloat(int row) {
        return column.getFloat(at(row));
    }

    public double getDouble(int row) {
        return column.getDouble(at(row));
    }

    public ColumnarArray getArray(int row) {
        return column.getArray(at(row));
    }

    public ColumnarMap getMap(int row) {
        return column.getMap(at(row));
    }

    public Decimal getDecimal(int row, int precision, int scale) {
        return column.getDecimal(at(row), precision, scale);
    }

    public UTF8String getUTF8String(int row) {
        return column.getUTF8String(at(row));
    }

    public byte[] getBinary(int row) {
        return column.getBinary(at(row));
    }

    public ColumnVector getChild(int ordinal) {
        return new RowsOf(column.getChild(ordinal), rows);
    }
}

/** Decimals, without making a big one of Java's of each: those of few digits are whole numbers. */
final class Decimals extends RowsOf {
    private static final int WIDTH = 16;

    private final DecimalVector vector;
    private final long values;

    Decimals(ColumnVector column, DecimalVector vector) {
        super(column, null);
        this.vector = vector;
        this.values = vector.getDataBuffer().memoryAddress();
    }

    public boolean isNullAt(int row) {
        return vector.isNull(row);
    }

    public Decimal getDecimal(int row, int precision, int scale) {
        if (precision > Decimal.MAX_LONG_DIGITS()) {
            return super.getDecimal(row, precision, scale);
        }
        if (vector.isNull(row)) {
            return null;
        }
        long lower = Platform.getLong(null, values + (long) row * WIDTH);
        return Decimal.createUnsafe(lower, precision, scale);
    }
}
