package com.example;

import java.util.List;
import java.util.Map;

import seambench.Case;
import seamkit.offheap.ConnectorScanner;

/** Rows of cases, all values of which are whole numbers. */
public final class Columns extends ConnectorScanner {
    private final int fetchSize;
    private final Case given;

    public Columns(int fetchSize, Map<String, String> parameters) {
        this.fetchSize = fetchSize;
        given = Case.of(parameters);
    }

    @Override
    public void open() {
        initOffHeapTableWriter(given.types, given.required, fetchSize);
    }

    @Override
    public int getNext() {
        List<Object> rows = given.nextChunk();
        for (int i = 0; i < rows.size(); i++) {
            Object value = ((List<Object>) rows.get(i)).get(given.places[0]);
            appendData(0, value == null ? null : new Texts(value.toString()));
        }
        return rows.size();
    }

    @Override
    public void close() {}
}
