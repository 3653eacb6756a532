package seamkit.offheap;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.List;

/**
 * A value that knows how to give itself as any kind it can be. NULL is a null reference.
 *
 * <p>A reader has one subclass for the objects of its format and writes the getters of the kinds that
 * it has. A getter that is not written refuses by name. `getUtf8`, `getDays`, `getMicros` and `getUnscaled`
 * are what columns call; they go through the objects of the standard library unless a subclass knows
 * better.
 */
public abstract class ColumnValue {
    private RefusedException none(String kind) {
        return new RefusedException(getClass().getName() + " gives no " + kind);
    }

    public boolean getBoolean() {
        throw none("boolean");
    }

    /** The value of a tinyint. */
    public byte getByte() {
        throw none("tinyint");
    }

    public short getShort() {
        throw none("smallint");
    }

    /** The value of an int, or the milliseconds of a time. */
    public int getInt() {
        throw none("int");
    }

    public long getLong() {
        throw none("bigint");
    }

    public float getFloat() {
        throw none("float");
    }

    public double getDouble() {
        throw none("double");
    }

    public String getString() {
        throw none("string");
    }

    /** A string's bytes; half a character becomes `?`. */
    public byte[] getUtf8() {
        return getString().getBytes(StandardCharsets.UTF_8);
    }

    public byte[] getBytes() {
        throw none("binary");
    }

    public LocalDate getDate() {
        throw none("date");
    }

    /** Days since 1970-01-01. */
    public long getDays() {
        return getDate().toEpochDay();
    }

    /** What the clock shows, whatever the kind's unit. */
    public LocalDateTime getDateTime(Kind kind) {
        throw none("timestamp");
    }

    /** Microseconds from 1970-01-01 00:00:00 to what the clock shows; what is finer is cut off. */
    public long getMicros(Kind kind) {
        LocalDateTime shown = getDateTime(kind);
        return Math.addExact(
                Math.multiplyExact(shown.toEpochSecond(ZoneOffset.UTC), 1000000L), shown.getNano() / 1000);
    }

    public BigDecimal getDecimal() {
        throw none("decimal");
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
        throw none("unscaled decimal");
    }

    /** Appends the elements, null for NULL. */
    public void unpackArray(List<ColumnValue> elements) {
        throw none("array");
    }

    /** Appends keys and values, as many of each. */
    public void unpackMap(List<ColumnValue> keys, List<ColumnValue> values) {
        throw none("map");
    }

    /** Appends one value for each of the source's fields that are named by index; -1: NULL. */
    public void unpackStruct(int[] fields, List<ColumnValue> values) {
        throw none("struct");
    }

    /** Metadata and value of a variant. */
    public byte[][] getVariant() {
        throw none("variant");
    }
}
