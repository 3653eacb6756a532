package seamkit.offheap;

/**
 * A value was asked for a kind whose getter its class does not write. The column that asked says which
 * class: the compiler of these sources lets no method of an interface look at its own object.
 */
final class UnwrittenGetterException extends RefusedException {
    private static final long serialVersionUID = 1;

    private final String kind;

    UnwrittenGetterException(String kind) {
        super("a value gives no " + kind);
        this.kind = kind;
    }

    RefusedException of(ColumnValue value) {
        return new RefusedException(value.getClass().getName() + " gives no " + kind);
    }
}
