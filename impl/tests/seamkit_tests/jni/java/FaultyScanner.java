package tests;

import java.io.IOException;
import java.util.List;
import java.util.Map;

import seamkit.offheap.ColumnType;
import seamkit.offheap.ColumnValue;
import seamkit.offheap.ConnectorScanner;
import seamkit.offheap.RefusedException;

/** Rows of a number, a text and a list; it throws where its parameters say. */
public final class FaultyScanner extends ConnectorScanner {
    private final Map<String, String> parameters;
    private final int fetchSize;
    private final int rows;
    private int next;
    private int chunks;

    public FaultyScanner(int fetchSize, Map<String, String> parameters) throws Exception {
        this.parameters = parameters;
        this.fetchSize = fetchSize;
        rows = Integer.parseInt((String) parameters.get("rows"));
        fault("constructor");
    }

    private void fault(String step) throws IOException {
        if (!step.equals(parameters.get("step"))) {
            return;
        }
        String what = (String) parameters.get("throws");
        if (what.equals("io")) {
            throw new IOException("the disk is gone", new IllegalStateException("unplugged"));
        }
        if (what.equals("refused")) {
            throw new RefusedException("no such rows here");
        }
        if (what.equals("error")) {
            throw new StackOverflowError();
        }
        throw new IllegalArgumentException("a bad " + step);
    }

    @Override
    public void open() throws IOException {
        fault("open");
        ColumnType[] types = {
            new ColumnType("bigint"), new ColumnType("string"), new ColumnType("array<int>")
        };
        initOffHeapTableWriter(types, new String[] {"n", "t", "l"}, fetchSize);
    }

    @Override
    public int getNext() throws IOException {
        int count = 0;
        String text = (String) parameters.get("text");
        for (; count < fetchSize && next < rows; count++) {
            final int row = next++;
            if (parameters.containsKey("clocked")) {
                rowBegins();
            }
            appendData(0, new Item(row, text));
            appendData(1, row % 3 == 0 ? null : new Item(row, text));
            if (count == fetchSize / 2 && chunks > 0) {
                fault("next");
            }
            appendData(2, row % 5 == 0 ? null : new Item(row, text));
            rowEnds();
        }
        chunks++;
        if (parameters.containsKey("converted")) {
            countConversion(Long.parseLong((String) parameters.get("converted")));
        }
        return count;
    }

    @Override
    public void close() throws IOException {
        fault("close");
    }

    private static final class Item implements ColumnValue {
        private final int row;
        private final String text;

        Item(int row, String text) {
            this.row = row;
            this.text = text;
        }

        @Override
        public long getLong() {
            return row;
        }

        @Override
        public int getInt() {
            return row;
        }

        @Override
        public String getString(ColumnType.TypeValue type) {
            return text + row;
        }

        @Override
        public void unpackArray(List<ColumnValue> elements) {
            for (int i = 0; i < row % 3; i++) {
                elements.add(i == 1 ? null : this);
            }
        }
    }
}
