package seambench.generator;

import java.math.BigDecimal;
import java.time.LocalDate;
import java.util.Map;

import seamkit.offheap.ColumnType;
import seamkit.offheap.ConnectorScanner;
import seamkit.offheap.RawValue;

/** Rows that cost nothing to make: parameters `rows` and `types` (joined by `#`). */
public final class GeneratorScanner extends ConnectorScanner {
    private final int fetchSize;
    private final String[] types;
    private final int rows;
    private final Item item = new Item();
    private int next;

    public GeneratorScanner(int fetchSize, Map<String, String> parameters) {
        this.fetchSize = fetchSize;
        types = ((String) parameters.get("types")).split("#");
        rows = Integer.parseInt((String) parameters.get("rows"));
    }

    @Override
    public void open() {
        ColumnType[] parsed = new ColumnType[types.length];
        String[] names = new String[types.length];
        for (int i = 0; i < types.length; i++) {
            parsed[i] = new ColumnType(types[i]);
            names[i] = "c" + i;
        }
        initOffHeapTableWriter(parsed, names, fetchSize);
    }

    @Override
    public int getNext() {
        int count = 0;
        for (; count < fetchSize && next < rows; count++) {
            item.row = next++;
            for (int i = 0; i < types.length; i++) {
                appendData(i, item);
            }
        }
        return count;
    }

    @Override
    public void close() {}

    private static final class Item extends RawValue {
        private static final BigDecimal PRICE = new BigDecimal("12345.67");
        private static final byte[] TEXT = "carefully final dependencies".getBytes();
        private static final LocalDate DATE = LocalDate.of(1996, 3, 13);

        private int row;

        @Override
        public int getInt() {
            return row;
        }

        @Override
        public long getLong() {
            return row;
        }

        @Override
        public double getDouble() {
            return row;
        }

        @Override
        public BigDecimal getDecimal() {
            return PRICE;
        }

        @Override
        public byte[] getUtf8() {
            return TEXT;
        }

        @Override
        public LocalDate getDate() {
            return DATE;
        }

        @Override
        public long getMicros(ColumnType.TypeValue kind) {
            return row;
        }
    }
}
