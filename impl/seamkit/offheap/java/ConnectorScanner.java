package seamkit.offheap;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * A reader that hands rows over in off-heap tables, a chunk at a time.
 *
 * <p>A subclass has a constructor `(int fetchSize, Map&lt;String, String&gt; parameters)`. Its `open`
 * names the columns (`initOffHeapTableWriter`); `getNext` appends rows and returns how many, 0 at the
 * end. The host asks for chunks: each is a new table, which the host releases.
 */
public abstract class ConnectorScanner implements ChunkSource {
    private Memory memory = new Memory(0);
    private OffHeapTable table;
    private String[] names = new String[0];
    private ColumnType[] types = new ColumnType[0];
    private int tableSize;
    private boolean textForm;
    private long convertedNanos;
    private final RowClock rowClock = new RowClock();

    /** Makes ready to read. */
    @Override
    public abstract void open() throws IOException;

    /** Appends rows to the table; returns how many, 0 at the end. */
    public abstract int getNext() throws IOException;

    /** Gives back what `open` took; repeatable, and called in any state. */
    @Override
    public abstract void close() throws IOException;

    /** Has all tables made from now on take their blocks from a host's allocator, by its address. */
    public final void useAllocator(long allocator) {
        memory = new Memory(allocator);
    }

    /**
     * Has all tables made from now on hold dates, datetimes and decimals as formatted texts, as
     * StarRocks' first connector had them. A scanner's parameter `value_form`, which is `binary` or
     * `text`, says the same.
     */
    public final void useTextForm() {
        textForm = true;
    }

    @Override
    public final boolean textForm() {
        return table == null ? textForm : table.textForm();
    }

    /**
     * Names the columns of all tables, in the order in which they are asked for.
     *
     * @param requiredTypes what is left of each column's type after pruning
     * @param requiredFields names of the columns
     * @param fetchSize rows for which a table has room before it grows
     */
    protected final void initOffHeapTableWriter(
            ColumnType[] requiredTypes, String[] requiredFields, int fetchSize) {
        if (requiredTypes.length != requiredFields.length) {
            throw new IllegalArgumentException(
                    requiredFields.length + " columns have " + requiredTypes.length + " types");
        }
        types = requiredTypes;
        names = requiredFields;
        tableSize = fetchSize;
    }

    /** The table that is being filled, or was handed out last; null before the first and once released. */
    public final OffHeapTable getOffHeapTable() {
        return table;
    }

    /** Appends one value to column `index`; null for NULL. */
    protected final void appendData(int index, ColumnValue value) {
        table.column(index).appendValue(value);
    }

    /** Column `index` of the table that is being filled, for scanners that have plain numbers. */
    protected final OffHeapColumnVector column(int index) {
        return table.column(index);
    }

    /**
     * Tells how long a scanner appended rows that it had read before: what is left of the time in
     * `getNext` is its reader's. To be called for many rows at once: a clock costs as much as a value.
     */
    protected final void countConversion(long nanos) {
        convertedNanos += nanos;
    }

    /**
     * Tells that a row was read and is appended now, until `rowEnds`. For readers that give the same
     * object for each row, so that rows cannot be collected first; a few rows stand for all.
     */
    protected final void rowBegins() {
        rowClock.begin();
    }

    /** Tells that the row is appended. */
    protected final void rowEnds() {
        rowClock.end();
    }

    /** Nanoseconds that were spent on appending so far, as far as the scanner tells. */
    @Override
    public final long convertedNanos() {
        return convertedNanos + rowClock.nanos();
    }

    /** Rows for which a table has room. */
    protected final int getTableSize() {
        return tableSize;
    }

    @Override
    public final ClassLoader classes() {
        return getClass().getClassLoader();
    }

    /** Types of the columns, one line each: `name`, a tab, the type string. */
    @Override
    public final String describe() {
        List<String> lines = new ArrayList<String>();
        for (int i = 0; i < names.length; i++) {
            lines.add(names[i] + "\t" + types[i]);
        }
        return String.join("\n", lines);
    }

    /**
     * Fills a new table and returns the address of its meta chain. A table of 0 rows tells the end.
     * Whatever is thrown, the table is released.
     */
    @Override
    public final long getNextOffHeapChunk() throws IOException {
        releaseOffHeapTable();
        table = new OffHeapTable(types, names, tableSize, memory, textForm);
        boolean whole = false;
        try {
            table.setNumRows(getNext());
            long address = table.metaAddress();
            whole = true;
            return address;
        } finally {
            if (!whole) {
                releaseOffHeapTable();
            }
        }
    }

    /** Gives one column of the chunk back; repeatable. */
    @Override
    public final void releaseOffHeapColumnVector(int index) {
        if (table != null) {
            table.releaseColumn(index);
        }
    }

    /** Gives the chunk back; repeatable. */
    @Override
    public final void releaseOffHeapTable() {
        if (table != null) {
            table.close();
            table = null;
        }
    }
}
