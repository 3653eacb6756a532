package com.example;

import java.util.Map;

import seamkit.offheap.ColumnType;
import seamkit.offheap.ConnectorScanner;

/** A scanner that counts rows which are not there. */
public class Bad extends ConnectorScanner {
    public Bad(int fetchSize, Map<String, String> parameters) {
        if (((String) parameters.get("base_path")).endsWith("throws")) {
            throw new IllegalStateException("out of order");
        }
    }

    @Override
    public void open() {
        initOffHeapTableWriter(new ColumnType[] {new ColumnType("int")}, new String[] {"n"}, 1);
    }

    @Override
    public int getNext() {
        return -7;
    }

    @Override
    public void close() {}
}
