package seamkit.offheap;

/**
 * How long rows take, told by a few of them: to time each would cost more than to append it.
 *
 * <p>Each time is less the clock's own, which is taken right before. A row of over a millisecond is one
 * in which the thread stood still, for the garbage collector or for another program, and is no sample.
 * A few samples of code that Java has yet to compile say nothing of all rows.
 */
final class RowClock {
    private static final int EVERY = 64;
    private static final int ENOUGH = 16;
    private static final long PAUSE = 1000000;

    private long rows;
    private long samples;
    private long sampled;
    private long clock;
    private long start;

    void begin() {
        if (rows++ % EVERY == 0) {
            long first = System.nanoTime();
            start = System.nanoTime();
            clock = start - first;
        }
    }

    void end() {
        if (start != 0) {
            long spent = System.nanoTime() - start;
            start = 0;
            if (spent < PAUSE && clock < PAUSE) {
                samples++;
                sampled += spent - clock;
            }
        }
    }

    /** What all rows took, if they took what the samples did; 0 where there are too few of them. */
    long nanos() {
        return samples < ENOUGH ? 0 : (long) ((double) Math.max(sampled, 0) / samples * rows);
    }
}
