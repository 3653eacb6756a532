package seamkit.offheap;

/** What was asked for is understood and not supported. */
public final class RefusedException extends RuntimeException {
    public RefusedException(String message) {
        super(message);
    }
}
