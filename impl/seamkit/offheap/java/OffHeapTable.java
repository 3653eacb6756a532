package seamkit.offheap;

import seamkit.offheap.ColumnType.TypeValue;

/**
 * A table of off-heap columns and its meta chain: 64-bit words, the first of which is the number of
 * rows; then for each column, in order, the addresses of its parts. 0 rows tell the end of a stream.
 */
public final class OffHeapTable {
    private final OffHeapColumnVector[] columns;
    private final boolean[] released;
    private final Memory memory;
    private final boolean textForm;
    private int rows;
    private long meta;

    /**
     * An empty table with room for `capacity` rows.
     *
     * @param textForm whether dates, datetimes and decimals are formatted texts
     */
    public OffHeapTable(
            ColumnType[] types, String[] names, int capacity, Memory memory, boolean textForm) {
        if (capacity < 0) {
            throw new IllegalArgumentException("a table has room for 0 rows or more, not for " + capacity);
        }
        this.memory = memory;
        this.textForm = textForm;
        columns = new OffHeapColumnVector[types.length];
        released = new boolean[types.length];
        boolean whole = false;
        try {
            for (int i = 0; i < types.length; i++) {
                columns[i] = new OffHeapColumnVector(names[i], types[i], capacity, memory, textForm);
            }
            whole = true;
        } finally {
            if (!whole) {
                close();
            }
        }
    }

    public OffHeapColumnVector column(int index) {
        return columns[index];
    }

    boolean textForm() {
        return textForm;
    }

    public int getNumRows() {
        return rows;
    }

    /**
     * States how many rows the table has.
     *
     * @throws IllegalStateException a column has another number of them
     */
    public void setNumRows(int count) {
        if (count < 0) {
            throw new IllegalStateException("a table has no " + count + " rows");
        }
        for (int i = 0; i < columns.length; i++) {
            OffHeapColumnVector column = columns[i];
            if (column.type.kind != TypeValue.UNKNOWN && column.rows() != count) {
                throw new IllegalStateException(
                        "column '" + column.name + "' has " + column.rows() + " rows where the table has "
                                + count);
            }
        }
        rows = count;
    }

    /** Address of the meta chain over what is there now; it is the table's. */
    public long metaAddress() {
        int words = 1;
        for (int i = 0; i < columns.length; i++) {
            if (released[i]) {
                throw new IllegalStateException("column '" + columns[i].name + "' is released");
            }
            words += columns[i].words();
        }
        long fresh = memory.allocate(8L * words);
        memory.free(meta);
        meta = fresh;
        Memory.UNSAFE.putLong(meta, rows);
        long at = meta + 8;
        for (int i = 0; i < columns.length; i++) {
            at = columns[i].writeWords(at);
        }
        return meta;
    }

    /** The first rows, a line each, as texts with tabs between them; below their columns' names. */
    public String show(int limit) {
        StringBuilder out = new StringBuilder();
        for (int row = -1; row < Math.min(limit, rows); row++) {
            for (int i = 0; i < columns.length; i++) {
                String cell = row < 0 ? columns[i].name : columns[i].shown(row);
                out.append(i == 0 ? "" : "\t").append(cell);
            }
            out.append("\n");
        }
        return out.toString();
    }

    /** Gives one column's blocks back; repeatable. */
    public void releaseColumn(int index) {
        if (!released[index] && columns[index] != null) {
            released[index] = true;
            columns[index].release();
        }
    }

    /** Gives everything back; repeatable. */
    public void close() {
        for (int i = 0; i < columns.length; i++) {
            releaseColumn(i);
        }
        memory.free(meta);
        meta = 0;
    }
}
