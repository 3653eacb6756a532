package seamkit.offheap;

import java.math.BigDecimal;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.List;

/**
 * A value that gives itself as the kind of its column. NULL is a null reference.
 *
 * <p>A reader has a class for the objects of its format and writes the getters of the kinds that it has.
 * One that is not written is refused by name when a column asks for it. `RawValue` is for readers that
 * have values in the form in which columns keep them.
 */
public interface ColumnValue {
    default boolean getBoolean() {
        throw new UnwrittenGetterException("boolean");
    }

    /** The value of a tinyint. */
    default byte getByte() {
        throw new UnwrittenGetterException("tinyint");
    }

    default short getShort() {
        throw new UnwrittenGetterException("smallint");
    }

    /** The value of an int, or the milliseconds of a time. */
    default int getInt() {
        throw new UnwrittenGetterException("int");
    }

    default long getLong() {
        throw new UnwrittenGetterException("bigint");
    }

    default float getFloat() {
        throw new UnwrittenGetterException("float");
    }

    default double getDouble() {
        throw new UnwrittenGetterException("double");
    }

    /** The text of a string; in the text form also that of a date (yyyy-MM-dd) or a decimal. */
    default String getString(ColumnType.TypeValue type) {
        throw new UnwrittenGetterException("string");
    }

    /** In the text form the text of a timestamp: yyyy-MM-dd HH:mm:ss, with a fraction or without. */
    default String getTimestamp(ColumnType.TypeValue type) {
        throw new UnwrittenGetterException("timestamp as text");
    }

    default byte[] getBytes() {
        throw new UnwrittenGetterException("binary");
    }

    default LocalDate getDate() {
        throw new UnwrittenGetterException("date");
    }

    /** What the clock shows, whatever the kind's unit. */
    default LocalDateTime getDateTime(ColumnType.TypeValue type) {
        throw new UnwrittenGetterException("timestamp");
    }

    default BigDecimal getDecimal() {
        throw new UnwrittenGetterException("decimal");
    }

    /** Appends the elements, null for NULL. */
    default void unpackArray(List<ColumnValue> values) {
        throw new UnwrittenGetterException("array");
    }

    /** Appends keys and values, as many of each. */
    default void unpackMap(List<ColumnValue> keys, List<ColumnValue> values) {
        throw new UnwrittenGetterException("map");
    }

    /** Appends one value for each of the source's fields that are named by index; null: NULL. */
    default void unpackStruct(List<Integer> structFieldIndex, List<ColumnValue> values) {
        throw new UnwrittenGetterException("struct");
    }

    /** Metadata and value of a variant. */
    default byte[][] getVariant() {
        throw new UnwrittenGetterException("variant");
    }
}
