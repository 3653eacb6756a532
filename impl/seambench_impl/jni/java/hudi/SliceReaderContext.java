package seambench.hudi;

import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

import org.apache.avro.Schema;
import org.apache.avro.generic.IndexedRecord;
import org.apache.hudi.avro.AvroRecordContext;
import org.apache.hudi.avro.HoodieAvroReaderContext;
import org.apache.hudi.common.config.TypedProperties;
import org.apache.hudi.common.schema.HoodieSchema;
import org.apache.hudi.common.table.HoodieTableConfig;
import org.apache.hudi.common.util.Option;
import org.apache.hudi.storage.StorageConfiguration;

/** Hudi's context of Avro records, in which a record's schema is looked at once, not at each record. */
final class SliceReaderContext extends HoodieAvroReaderContext {
    SliceReaderContext(StorageConfiguration storage, HoodieTableConfig table, TypedProperties properties) {
        super(storage, table, Option.empty(), Option.empty(), properties);
        recordContext = new SliceRecords(table);
    }
}

/**
 * Records of one slice, for one thread.
 *
 * <p>Hudi's own class makes a map of all fields for each value that a merge asks for, and compares all
 * types of both schemas for each row that it hands out.
 */
final class SliceRecords extends AvroRecordContext {
    private final Map<Schema, Map<String, Integer>> places = new IdentityHashMap<Schema, Map<String, Integer>>();

    SliceRecords(HoodieTableConfig table) {
        super(table, table.getPayloadClass());
    }

    @Override
    public Object getValue(IndexedRecord record, HoodieSchema schema, String name) {
        Schema own = record.getSchema();
        Map<String, Integer> known = (Map<String, Integer>) places.get(own);
        if (known == null) {
            known = new HashMap<String, Integer>();
            List<Schema.Field> fields = own.getFields();
            for (int i = 0; i < fields.size(); i++) {
                known.put(((Schema.Field) fields.get(i)).name(), Integer.valueOf(i));
            }
            places.put(own, known);
        }
        Integer place = (Integer) known.get(name);
        // A path of names, or a field that is not there.
        return place == null ? super.getValue(record, schema, name) : record.get(place.intValue());
    }

    /**
     * What makes records of another schema. A record whose first fields are those of the other schema
     * stays as it is: whoever takes it knows its fields by their places.
     */
    @Override
    public UnaryOperator<IndexedRecord> projectRecord(
            HoodieSchema from, HoodieSchema to, Map<String, String> renamed) {
        return new FirstFields(to.toAvroSchema(), super.projectRecord(from, to, renamed), renamed.isEmpty());
    }
}

/** Hands records through that begin with the fields of a schema; others as another operator has them. */
final class FirstFields implements UnaryOperator<IndexedRecord> {
    private final Schema schema;
    private final UnaryOperator<IndexedRecord> otherwise;
    private final boolean plain;
    /** Records of a base file and of logs come by turns: whether those of a schema stay. */
    private final Map<Schema, Boolean> known = new IdentityHashMap<Schema, Boolean>();

    FirstFields(Schema schema, UnaryOperator<IndexedRecord> otherwise, boolean plain) {
        this.schema = schema;
        this.otherwise = otherwise;
        this.plain = plain;
    }

    @Override
    public Object apply(Object given) {
        IndexedRecord record = (IndexedRecord) given;
        if (plain && record != null) {
            Boolean stays = (Boolean) known.get(record.getSchema());
            if (stays == null) {
                stays = Boolean.valueOf(begins(record.getSchema()));
                known.put(record.getSchema(), stays);
            }
            if (stays.booleanValue()) {
                return record;
            }
        }
        return otherwise.apply(record);
    }

    private boolean begins(Schema other) {
        List<Schema.Field> first = schema.getFields();
        List<Schema.Field> all = other.getFields();
        for (int i = 0; i < first.size(); i++) {
            Schema.Field wanted = (Schema.Field) first.get(i);
            Schema.Field found = i < all.size() ? (Schema.Field) all.get(i) : null;
            if (found == null || !found.name().equals(wanted.name()) || !found.schema().equals(wanted.schema())) {
                return false;
            }
        }
        return true;
    }
}
