package seamkit.offheap;

import java.lang.reflect.Field;
import java.util.concurrent.atomic.AtomicLong;

import sun.misc.Unsafe;

/**
 * Where the blocks of off-heap columns come from, and how their bytes are written.
 *
 * <p>Blocks are a host's: the natives below are registered by it, and count every byte against the
 * limit of one of its allocators. Without a host (`new Memory(0)`) they come from `Unsafe`, which
 * counts blocks alone.
 */
public final class Memory {
    static final Unsafe UNSAFE = unsafe();

    private static final AtomicLong LIVE = new AtomicLong();
    private static final long BYTES = Unsafe.ARRAY_BYTE_BASE_OFFSET;
    /** Up to so many bytes a call of the library's copy costs more than a loop. */
    private static final int SHORT = 48;

    private final long allocator;

    /** Memory of a host's allocator, by its address; 0 for `Unsafe`. */
    public Memory(long allocator) {
        this.allocator = allocator;
    }

    /** Blocks of `Unsafe` that nobody has freed. */
    public static long liveUnsafeBlocks() {
        return LIVE.get();
    }

    /**
     * A block; its content is undefined.
     *
     * @throws NoMemoryException the allocator's limit is reached, or there is no memory
     */
    long allocate(long bytes) {
        // A block of nothing has an address, too: to a reader 0 is a column that the source lacks.
        long size = Math.max(bytes, 1);
        if (allocator == 0) {
            long block = UNSAFE.allocateMemory(size);
            LIVE.incrementAndGet();
            return block;
        }
        long block = allocate0(allocator, size);
        if (block == 0) {
            throw new NoMemoryException("no block of " + bytes + " bytes is left in the allocator");
        }
        return block;
    }

    /** A larger block with the first `used` bytes of another, which is freed. */
    long grow(long block, long used, long bytes) {
        long larger = allocate(bytes);
        if (used > 0) {
            UNSAFE.copyMemory(block, larger, used);
        }
        free(block);
        return larger;
    }

    /** Gives a block back; 0 is ignored. */
    void free(long block) {
        if (block == 0) {
            return;
        }
        if (allocator == 0) {
            LIVE.decrementAndGet();
            UNSAFE.freeMemory(block);
        } else {
            free0(block);
        }
    }

    static void put(long address, byte[] source, int from, int length) {
        if (length > SHORT) {
            UNSAFE.copyMemory(source, BYTES + from, null, address, length);
            return;
        }
        if (length < 8) {
            for (int done = 0; done < length; done++) {
                UNSAFE.putByte(address + done, source[from + done]);
            }
            return;
        }
        long own = BYTES + from;
        for (int done = 0; done < length - 8; done += 8) {
            UNSAFE.putLong(address + done, UNSAFE.getLong(source, own + done));
        }
        // The last eight bytes, some of them again.
        UNSAFE.putLong(address + length - 8, UNSAFE.getLong(source, own + length - 8));
    }

    private static native long allocate0(long allocator, long bytes);

    private static native void free0(long block);

    private static Unsafe unsafe() {
        try {
            Field field = Unsafe.class.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            return (Unsafe) field.get(null);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException("this Java has no sun.misc.Unsafe", error);
        }
    }
}
