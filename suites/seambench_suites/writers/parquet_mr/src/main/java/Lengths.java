import org.apache.parquet.bytes.HeapByteBufferAllocator;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.ParquetProperties;
import org.apache.parquet.column.values.ValuesWriter;
import org.apache.parquet.column.values.deltalengthbytearray.DeltaLengthByteArrayValuesWriter;
import org.apache.parquet.column.values.factory.DefaultV2ValuesWriterFactory;
import org.apache.parquet.column.values.factory.ValuesWriterFactory;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;

/** Encodings as of pages of version 2, but texts as DELTA_LENGTH_BYTE_ARRAY, which none asks for. */
final class Lengths implements ValuesWriterFactory {
  private final ValuesWriterFactory others = new DefaultV2ValuesWriterFactory();

  @Override
  public void initialize(ParquetProperties properties) {
    others.initialize(properties);
  }

  @Override
  public ValuesWriter newValuesWriter(ColumnDescriptor column) {
    if (column.getPrimitiveType().getPrimitiveTypeName() == PrimitiveTypeName.BINARY) {
      return new DeltaLengthByteArrayValuesWriter(64, 1024, HeapByteBufferAllocator.getInstance());
    }
    return others.newValuesWriter(column);
  }
}
