package seamkit.offheap;

/** A type string that cannot be read. */
public final class TypeStringException extends IllegalArgumentException {
    /**
     * For StarRocks' way of reading, how it gives up: `index-out-of-range`, `unsupported-type` or
     * `bad-number`; for strict reading null.
     */
    public final String reason;

    /** The word that is no type; null for other reasons. */
    public final String token;

    TypeStringException(String text, int at, String what, String reason, String token) {
        super("column type '" + text + "', character " + (Math.min(at, text.length()) + 1) + ": " + what);
        this.reason = reason;
        this.token = token;
    }
}
