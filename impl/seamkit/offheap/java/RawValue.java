package seamkit.offheap;

import java.nio.charset.StandardCharsets;
import java.time.LocalDateTime;
import java.time.ZoneOffset;

/**
 * A value whose reader may have it as columns keep it: as bytes of UTF-8, days, microseconds, a number
 * without its point. A getter that is not written goes through the objects of the standard library.
 */
public abstract class RawValue implements ColumnValue {
    /** A string's bytes; half a character becomes `?`. */
    public byte[] getUtf8() {
        return utf8(this);
    }

    /** Days since 1970-01-01. */
    public long getDays() {
        return getDate().toEpochDay();
    }

    /** Microseconds from 1970-01-01 00:00:00 to what the clock shows; what is finer is cut off. */
    public long getMicros(ColumnType.TypeValue type) {
        return micros(getDateTime(type));
    }

    /**
     * Whether this decimal has just this scale, and an unscaled number that `getUnscaled` gives. What
     * has it need make no objects of the standard library.
     */
    public boolean hasUnscaled(int scale) {
        return false;
    }

    /** A decimal without its point; called where `hasUnscaled`. */
    public long getUnscaled() {
        throw new UnwrittenGetterException("unscaled decimal");
    }

    static byte[] utf8(ColumnValue value) {
        return value.getString(ColumnType.TypeValue.STRING).getBytes(StandardCharsets.UTF_8);
    }

    static long micros(LocalDateTime shown) {
        return Math.addExact(
                Math.multiplyExact(shown.toEpochSecond(ZoneOffset.UTC), 1000000L), shown.getNano() / 1000);
    }
}
