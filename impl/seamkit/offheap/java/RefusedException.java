package seamkit.offheap;

/** What was asked for is understood and not supported. */
public class RefusedException extends RuntimeException {
    public RefusedException(String message) {
        super(message);
    }
}
