package com.example;

import java.util.Map;

import seamkit.offheap.ColumnType;
import seamkit.offheap.ConnectorScanner;

/** Three rows of two columns, whatever the table is. */
public final class Tables extends ConnectorScanner {
    private final Map<String, String> parameters;
    private String[] names;
    private boolean done;

    public Tables(int fetchSize, Map<String, String> parameters) {
        this.parameters = parameters;
    }

    @Override
    public void open() {
        String asked = (String) parameters.get("required_fields");
        names = asked == null ? new String[] {"n", "t"} : asked.isEmpty() ? new String[0] : asked.split(",");
        ColumnType[] types = new ColumnType[names.length];
        for (int i = 0; i < names.length; i++) {
            types[i] = new ColumnType(names[i].equals("n") ? "bigint" : "string");
        }
        initOffHeapTableWriter(types, names, 3);
    }

    @Override
    public int getNext() {
        if (done) {
            return 0;
        }
        done = true;
        for (int row = 0; row < 3; row++) {
            for (int i = 0; i < names.length; i++) {
                appendData(i, row == 1 ? null : new Texts("" + row));
            }
        }
        return 3;
    }

    @Override
    public void close() {}
}
