package seambench.hudi;

import org.apache.avro.Schema;
import org.apache.avro.generic.GenericFixed;
import org.apache.avro.generic.IndexedRecord;
import org.apache.avro.util.Utf8;

import seamkit.offheap.ColumnType;
import seamkit.offheap.OffHeapColumnVector;

/**
 * Appends one field of records to its column.
 *
 * <p>Objects of the classes that records mostly have go straight to the column, without a choice of
 * kind for each; all others as values that check what they are.
 */
final class AvroColumn {
    private final int place;
    private final AvroValue value;

    /**
     * @param place of the field in records
     * @param type of its values, with all parts
     * @param schema of the field, without null
     */
    AvroColumn(int place, ColumnType type, Schema schema) {
        this.place = place;
        this.value = new AvroValue(null, type, schema);
    }

    /** Appends the first records of an array. */
    void append(OffHeapColumnVector column, IndexedRecord[] records, int count) {
        switch (column.type.kind) {
            case LONG:
                appendLongs(column, records, count);
                break;
            case INT:
                appendInts(column, records, count);
                break;
            case DATE:
                appendDays(column, records, count);
                break;
            case STRING:
                appendTexts(column, records, count);
                break;
            case DECIMAL32:
            case DECIMAL64:
            case DECIMAL128:
                appendDecimals(column, records, count);
                break;
            default:
                for (int row = 0; row < count; row++) {
                    appendOther(column, records[row].get(place));
                }
        }
    }

    private void appendOther(OffHeapColumnVector column, Object item) {
        column.appendValue(item == null ? null : value.with(item));
    }

    private void appendLongs(OffHeapColumnVector column, IndexedRecord[] records, int count) {
        for (int row = 0; row < count; row++) {
            Object item = records[row].get(place);
            if (item instanceof Long) {
                column.appendLong(((Long) item).longValue());
            } else {
                appendOther(column, item);
            }
        }
    }

    private void appendInts(OffHeapColumnVector column, IndexedRecord[] records, int count) {
        for (int row = 0; row < count; row++) {
            Object item = records[row].get(place);
            if (item instanceof Integer) {
                column.appendInt(((Integer) item).intValue());
            } else {
                appendOther(column, item);
            }
        }
    }

    private void appendDays(OffHeapColumnVector column, IndexedRecord[] records, int count) {
        for (int row = 0; row < count; row++) {
            Object item = records[row].get(place);
            if (item instanceof Integer) {
                column.appendDays(((Integer) item).intValue());
            } else {
                appendOther(column, item);
            }
        }
    }

    private void appendTexts(OffHeapColumnVector column, IndexedRecord[] records, int count) {
        for (int row = 0; row < count; row++) {
            Object item = records[row].get(place);
            if (item instanceof Utf8) {
                Utf8 text = (Utf8) item;
                column.appendBytes(text.getBytes(), 0, text.getByteLength());
            } else {
                appendOther(column, item);
            }
        }
    }

    private void appendDecimals(OffHeapColumnVector column, IndexedRecord[] records, int count) {
        int scale = column.type.scale;
        boolean known = false;
        for (int row = 0; row < count; row++) {
            Object item = records[row].get(place);
            if (item instanceof GenericFixed && (known || value.with(item).hasUnscaled(scale))) {
                known = true; // all have the width and the scale of their schema
                column.appendUnscaled(AvroValue.unscaled(((GenericFixed) item).bytes()));
            } else {
                appendOther(column, item);
            }
        }
    }
}
