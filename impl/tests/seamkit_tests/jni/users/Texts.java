package com.example;

import seamkit.offheap.ColumnType;
import seamkit.offheap.ColumnValue;

/** A number as a text. */
final class Texts implements ColumnValue {
    private final String text;

    Texts(String text) {
        this.text = text;
    }

    @Override
    public int getInt() {
        return Integer.parseInt(text);
    }

    @Override
    public long getLong() {
        return Long.parseLong(text);
    }

    @Override
    public String getString(ColumnType.TypeValue type) {
        return text;
    }
}
