package seamkit.offheap;

import java.io.IOException;

/** What a host drives: one of our scanners, or somebody else's class with the same five methods. */
interface ChunkSource {
    void open() throws IOException;

    /** Address of the next chunk's meta chain; a chunk of 0 rows tells the end. */
    long getNextOffHeapChunk() throws IOException;

    void releaseOffHeapColumnVector(int index) throws IOException;

    void releaseOffHeapTable() throws IOException;

    void close() throws IOException;

    /** The loader of the class that does the work. */
    ClassLoader classes();

    /** Nanoseconds that were spent on appending so far, as far as the scanner tells. */
    long convertedNanos();

    /** Whether dates, datetimes and decimals of its chunks are formatted texts. */
    boolean textForm();

    /** Types of the columns, one line each: `name`, a tab, the type string. */
    String describe();
}
