package seamkit.offheap;

/** A host's allocator is at its limit, or there is no memory. */
public final class NoMemoryException extends RuntimeException {
    public NoMemoryException(String message) {
        super(message);
    }
}
