package seamkit;

import org.apache.spark.sql.execution.ColumnarToRowExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.Platform;

/** The backends that there are, by name. */
public final class Backends {
    private Backends() {}

    /** The backend of a name; null for a name that is none's. */
    public static Backend of(String name, long thresholdBytes, int batchRows) {
        if (name.equals("native")) {
            return new NativeBackend(thresholdBytes, batchRows);
        }
        return name.equals("arrow") ? new ArrowBackend(thresholdBytes, batchRows) : null;
    }
}

/** Batches stay behind handles, and native code turns them into rows and rows into them. */
final class NativeBackend implements Backend {
    private final long thresholdBytes;
    private final int batchRows;

    NativeBackend(long thresholdBytes, int batchRows) {
        this.thresholdBytes = thresholdBytes;
        this.batchRows = batchRows;
    }

    public ColumnarBatch batch(long handle, StructType schema, int rows) {
        return NativeBatches.of(handle, schema.size(), rows);
    }

    public SparkPlan columnarToRow(SparkPlan child) {
        return new NativeColumnarToRowExec(child, thresholdBytes);
    }

    public SparkPlan rowToColumnar(SparkPlan child) {
        return new RowToBatchesExec(child, NativeBuilders.INSTANCE, batchRows, thresholdBytes);
    }

    public long handle(ColumnarBatch batch, StructType schema) {
        long handle = NativeBatches.handle(batch);
        NativeCode.retain(NativeCode.handles(), handle);
        return handle;
    }
}

/** Batches are vectors of Arrow's Java library: Spark's code reads them, Java makes them of rows. */
final class ArrowBackend implements Backend {
    private final long thresholdBytes;
    private final int batchRows;

    ArrowBackend(long thresholdBytes, int batchRows) {
        this.thresholdBytes = thresholdBytes;
        this.batchRows = batchRows;
    }

    public ColumnarBatch batch(long handle, StructType schema, int rows) {
        return ArrowBatches.of(handle, schema, rows);
    }

    public SparkPlan columnarToRow(SparkPlan child) {
        return new ColumnarToRowExec(child);
    }

    public SparkPlan rowToColumnar(SparkPlan child) {
        return new RowToBatchesExec(child, ArrowBuilders.INSTANCE, batchRows, thresholdBytes);
    }

    public long handle(ColumnarBatch batch, StructType schema) {
        VectorWords words = new VectorWords();
        for (int i = 0; i < batch.numCols(); i++) {
            words.add(ArrowBatches.vectorOf(batch, i));
        }
        long address = words.address();
        try {
            return NativeBatches.calls.vectorsToColumns(
                    schema.fieldNames(), SparkTypes.texts(schema), address);
        } finally {
            Platform.freeMemory(address);
        }
    }
}
