import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.DataGetters;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.GenericArray;
import org.apache.paimon.data.GenericMap;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalArray;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.fs.Path;
import org.apache.paimon.fs.local.LocalFileIO;
import org.apache.paimon.reader.RecordReaderIterator;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.schema.SchemaChange;
import org.apache.paimon.schema.SchemaManager;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.FileStoreTableFactory;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.sink.BatchTableWrite;
import org.apache.paimon.table.sink.BatchWriteBuilder;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.types.ArrayType;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypeRoot;
import org.apache.paimon.types.DecimalType;
import org.apache.paimon.types.LocalZonedTimestampType;
import org.apache.paimon.types.MapType;
import org.apache.paimon.types.RowKind;
import org.apache.paimon.types.RowType;
import org.apache.paimon.types.TimestampType;
import org.apache.paimon.utils.JsonSerdeUtil;

/** Carries out steps of golden tables through Paimon's own core, and reads what came of them. */
public class PaimonCore {
    private static FileStoreTable open(String path) throws Exception {
        return FileStoreTableFactory.create(LocalFileIO.create(), new Path(path));
    }

    /** The table, or the branch that a step names. */
    private static FileStoreTable open(String path, JsonNode step) throws Exception {
        FileStoreTable table = open(path);
        return step.has("on")
                ? (FileStoreTable) call(table, "switchToBranch", texts(step, "on"))
                : table;
    }

    private static String[] texts(JsonNode step, String key) {
        return new String[] {step.get(key).asText()};
    }

    /** Calls what older versions lack, by its name. */
    private static Object call(FileStoreTable table, String name, String[] texts)
            throws Exception {
        Class[] kinds = new Class[texts.length];
        for (int i = 0; i < texts.length; i++) {
            kinds[i] = String.class;
        }
        return FileStoreTable.class.getMethod(name, kinds).invoke(table, (Object[]) texts);
    }

    /** One step, as JSON: create, set, evolve, tag, branch, write or compact; reads do nothing. */
    public static void step(String path, String text, String temporary) throws Exception {
        JsonNode step = new ObjectMapper().readTree(text);
        if (step.has("create")) {
            create(path, step);
        } else if (step.has("set")) {
            List changes = new ArrayList();
            Iterator options = step.get("set").fields();
            while (options.hasNext()) {
                Map.Entry option = (Map.Entry) options.next();
                changes.add(
                        SchemaChange.setOption(
                                (String) option.getKey(), ((JsonNode) option.getValue()).asText()));
            }
            new SchemaManager(LocalFileIO.create(), new Path(path)).commitChanges(changes);
        } else if (step.has("evolve")) {
            evolve(path, step.get("evolve"));
        } else if (step.has("tag")) {
            call(open(path, step), "createTag", texts(step, "tag"));
        } else if (step.has("branch") && step.has("from")) {
            String[] names = {step.get("branch").asText(), step.get("from").asText()};
            call(open(path), "createBranch", names);
        } else if (step.has("branch")) {
            call(open(path), "createBranch", texts(step, "branch"));
        } else if (step.has("write")) {
            write(open(path, step), step.get("write"), temporary, step.has("overwrite"), false);
        } else if (!step.has("read")) {
            write(open(path, step), null, temporary, false, true);
        }
    }

    private static void create(String path, JsonNode step) throws Exception {
        Schema.Builder schema = Schema.newBuilder();
        Iterator columns = step.get("create").fields();
        while (columns.hasNext()) {
            Map.Entry column = (Map.Entry) columns.next();
            schema.column((String) column.getKey(), type((JsonNode) column.getValue()));
        }
        schema.primaryKey(texts(step.get("keys")));
        schema.partitionKeys(texts(step.get("partition")));
        Iterator options = step.get("options").fields();
        while (options.hasNext()) {
            Map.Entry option = (Map.Entry) options.next();
            schema.option((String) option.getKey(), ((JsonNode) option.getValue()).asText());
        }
        new SchemaManager(LocalFileIO.create(), new Path(path)).createTable(schema.build());
    }

    /** Columns: a word and a name; then another name, or a type. */
    private static void evolve(String path, JsonNode change) throws Exception {
        String word = at(change, 0).asText();
        String name = at(change, 1).asText();
        List changes = new ArrayList();
        if (word.equals("rename")) {
            changes.add(SchemaChange.renameColumn(name, at(change, 2).asText()));
        } else if (word.equals("drop")) {
            changes.add(SchemaChange.dropColumn(name));
        } else if (word.equals("add")) {
            changes.add(SchemaChange.addColumn(name, type(at(change, 2))));
        } else {
            changes.add(SchemaChange.updateColumnType(name, type(at(change, 2))));
        }
        new SchemaManager(LocalFileIO.create(), new Path(path)).commitChanges(changes);
    }

    private static DataType type(JsonNode stated) throws Exception {
        return (DataType) JsonSerdeUtil.fromJson(stated.toString(), DataType.class);
    }

    private static JsonNode at(JsonNode array, int i) {
        return (JsonNode) array.get(i);
    }

    private static List texts(JsonNode names) {
        List found = new ArrayList();
        for (int i = 0; names != null && i < names.size(); i++) {
            found.add(at(names, i).asText());
        }
        return found;
    }

    private static void write(
            FileStoreTable table,
            JsonNode rows,
            String temporary,
            boolean overwrite,
            boolean compact)
            throws Exception {
        BatchWriteBuilder builder = table.newBatchWriteBuilder();
        if (overwrite) {
            builder.withOverwrite();
        }
        BatchTableWrite write = builder.newWrite();
        write.withIOManager(IOManager.create(temporary));
        for (int i = 0; rows != null && i < rows.size(); i++) {
            write.write(row(at(rows, i), table.rowType()));
        }
        if (compact) {
            write.compact(BinaryRow.EMPTY_ROW, 0, true);
        }
        BatchTableCommit commit = builder.newCommit();
        commit.commit(write.prepareCommit());
        commit.close();
        write.close();
    }

    /** A row: its kind, then the values. */
    private static GenericRow row(JsonNode values, RowType type) {
        GenericRow row = new GenericRow(type.getFieldCount());
        String kind = at(values, 0).asText();
        row.setRowKind(
                kind.equals("+I")
                        ? RowKind.INSERT
                        : kind.equals("-U")
                                ? RowKind.UPDATE_BEFORE
                                : kind.equals("+U") ? RowKind.UPDATE_AFTER : RowKind.DELETE);
        for (int i = 0; i < type.getFieldCount(); i++) {
            row.setField(i, value(at(values, i + 1), type.getTypeAt(i)));
        }
        return row;
    }

    private static Object value(JsonNode value, DataType type) {
        DataTypeRoot root = type.getTypeRoot();
        if (value.isTextual() && value.asText().equals("null")) {
            return null;
        }
        if (root == DataTypeRoot.INTEGER || root == DataTypeRoot.DATE) {
            return Integer.valueOf(value.asInt());
        }
        if (root == DataTypeRoot.BIGINT) {
            return Long.valueOf(value.asLong());
        }
        if (root == DataTypeRoot.DOUBLE) {
            return Double.valueOf(value.asText());
        }
        if (root == DataTypeRoot.FLOAT) {
            return Float.valueOf(value.asText());
        }
        if (root == DataTypeRoot.DECIMAL) {
            DecimalType own = (DecimalType) type;
            BigDecimal number = new BigDecimal(value.asText());
            return Decimal.fromBigDecimal(number, own.getPrecision(), own.getScale());
        }
        if (root == DataTypeRoot.BOOLEAN) {
            return Boolean.valueOf(value.asBoolean());
        }
        if (root == DataTypeRoot.TIMESTAMP_WITHOUT_TIME_ZONE
                || root == DataTypeRoot.TIMESTAMP_WITH_LOCAL_TIME_ZONE) {
            return Timestamp.fromMicros(value.asLong());
        }
        if (root == DataTypeRoot.ROW) {
            RowType inner = (RowType) type;
            GenericRow row = new GenericRow(inner.getFieldCount());
            for (int i = 0; i < inner.getFieldCount(); i++) {
                row.setField(i, value(at(value, i), inner.getTypeAt(i)));
            }
            return row;
        }
        if (root == DataTypeRoot.ARRAY) {
            Object[] items = new Object[value.size()];
            for (int i = 0; i < items.length; i++) {
                items[i] = value(at(value, i), ((ArrayType) type).getElementType());
            }
            return new GenericArray(items);
        }
        if (root == DataTypeRoot.MAP) {
            Map entries = new LinkedHashMap();
            for (int i = 0; i < value.size(); i++) {
                JsonNode entry = at(value, i);
                entries.put(
                        value(at(entry, 0), ((MapType) type).getKeyType()),
                        value(at(entry, 1), ((MapType) type).getValueType()));
            }
            return new GenericMap(entries);
        }
        if (root == DataTypeRoot.VARBINARY) {
            byte[] bytes = new byte[value.asText().length() / 2];
            for (int i = 0; i < bytes.length; i++) {
                String octet = value.asText().substring(2 * i, 2 * i + 2);
                bytes[i] = (byte) Integer.parseInt(octet, 16);
            }
            return bytes;
        }
        return BinaryString.fromString(value.asText());
    }

    /** The rows that a step's reader is given by its options, each behind its kind. */
    public static String changes(String path, String text) throws Exception {
        JsonNode step = new ObjectMapper().readTree(text);
        Map options = new HashMap();
        Iterator given = step.get("read").fields();
        while (given.hasNext()) {
            Map.Entry option = (Map.Entry) given.next();
            options.put((String) option.getKey(), ((JsonNode) option.getValue()).asText());
        }
        return rows(open(path, step).copy(options), true);
    }

    /** All rows, as JSON: arrays of the texts that witnesses have for values. */
    public static String rows(String path) throws Exception {
        return rows(open(path), false);
    }

    private static String rows(FileStoreTable table, boolean kinds) throws Exception {
        ReadBuilder builder = table.newReadBuilder();
        List splits = builder.newScan().plan().splits();
        RecordReaderIterator rows =
                new RecordReaderIterator(builder.newRead().createReader(splits));
        List found = new ArrayList();
        while (rows.hasNext()) {
            InternalRow row = (InternalRow) rows.next();
            List own = texts(row, table.rowType());
            if (kinds) {
                own.add(0, row.getRowKind().shortString());
            }
            found.add(own);
        }
        rows.close();
        return new ObjectMapper().writeValueAsString(found);
    }

    private static List texts(InternalRow row, RowType type) {
        List found = new ArrayList();
        for (int i = 0; i < type.getFieldCount(); i++) {
            found.add(text(row, i, type.getTypeAt(i)));
        }
        return found;
    }

    /** The text of a row's or an array's value. */
    private static String text(DataGetters row, int i, DataType type) {
        DataTypeRoot root = type.getTypeRoot();
        if (row.isNullAt(i)) {
            return "NoneType:None";
        }
        if (root == DataTypeRoot.INTEGER) {
            return "int:" + row.getInt(i);
        }
        if (root == DataTypeRoot.BIGINT) {
            return "int:" + row.getLong(i);
        }
        if (root == DataTypeRoot.DECIMAL) {
            DecimalType own = (DecimalType) type;
            Decimal number = row.getDecimal(i, own.getPrecision(), own.getScale());
            return number == null ? "NoneType:None" : "Decimal:" + number;
        }
        if (root == DataTypeRoot.DOUBLE) {
            return "double:" + row.getDouble(i);
        }
        if (root == DataTypeRoot.FLOAT) {
            return "double:" + (double) row.getFloat(i);
        }
        if (root == DataTypeRoot.DATE) {
            return "date:" + java.time.LocalDate.ofEpochDay(row.getInt(i));
        }
        if (root == DataTypeRoot.BOOLEAN) {
            return row.getBoolean(i) ? "bool:True" : "bool:False";
        }
        if (root == DataTypeRoot.TIMESTAMP_WITHOUT_TIME_ZONE) {
            return time(row.getTimestamp(i, ((TimestampType) type).getPrecision()));
        }
        if (root == DataTypeRoot.TIMESTAMP_WITH_LOCAL_TIME_ZONE) {
            return time(row.getTimestamp(i, ((LocalZonedTimestampType) type).getPrecision()));
        }
        if (root == DataTypeRoot.ROW) {
            RowType inner = (RowType) type;
            InternalRow own = row.getRow(i, inner.getFieldCount());
            StringBuilder whole = new StringBuilder("{");
            for (int k = 0; k < inner.getFieldCount(); k++) {
                DataField field = (DataField) inner.getFields().get(k);
                whole.append(k == 0 ? "" : ",").append("str:").append(quoted(field.name()));
                whole.append("=").append(inner(own, k, field.type()));
            }
            return whole.append("}").toString();
        }
        if (root == DataTypeRoot.ARRAY) {
            return joined(items(row.getArray(i), ((ArrayType) type).getElementType()));
        }
        if (root == DataTypeRoot.MAP) {
            List keys = items(row.getMap(i).keyArray(), ((MapType) type).getKeyType());
            List values = items(row.getMap(i).valueArray(), ((MapType) type).getValueType());
            List entries = new ArrayList();
            for (int k = 0; k < keys.size(); k++) {
                entries.add("[" + keys.get(k) + "," + values.get(k) + "]");
            }
            Collections.sort(entries);
            return joined(entries);
        }
        if (root == DataTypeRoot.VARBINARY) {
            StringBuilder whole = new StringBuilder("hex:");
            byte[] bytes = row.getBinary(i);
            for (int k = 0; k < bytes.length; k++) {
                whole.append(String.format("%02x", new Object[] {Byte.valueOf(bytes[k])}));
            }
            return whole.toString();
        }
        return "str:" + row.getString(i).toString();
    }

    private static String time(Timestamp value) {
        String text = value.toLocalDateTime().toString();
        return "timestamp:"
                + (text.length() == 16 ? text + ":00" : text.length() == 23 ? text + "000" : text);
    }

    /** A value within another: texts in quotes, so that none can look like two. */
    private static String inner(DataGetters row, int i, DataType type) {
        String whole = text(row, i, type);
        return whole.startsWith("str:") ? "str:" + quoted(whole.substring(4)) : whole;
    }

    /** A text as JSON in ASCII, in the way of Python's. */
    private static String quoted(String text) {
        StringBuilder whole = new StringBuilder("\"");
        for (int i = 0; i < text.length(); i++) {
            char one = text.charAt(i);
            int at = "\"\\\n\r\t\b\f".indexOf(one);
            if (at >= 0) {
                whole.append('\\').append("\"\\nrtbf".charAt(at));
            } else if (one < ' ' || one > '~') {
                whole.append(String.format("\\u%04x", new Object[] {Integer.valueOf(one)}));
            } else {
                whole.append(one);
            }
        }
        return whole.append("\"").toString();
    }

    private static String joined(List texts) {
        StringBuilder whole = new StringBuilder("[");
        for (int i = 0; i < texts.size(); i++) {
            whole.append(i == 0 ? "" : ",").append(texts.get(i));
        }
        return whole.append("]").toString();
    }

    private static List items(InternalArray array, DataType type) {
        List found = new ArrayList();
        for (int i = 0; i < array.size(); i++) {
            found.add(inner(array, i, type));
        }
        return found;
    }

    /** Names of the columns, in order, as JSON. */
    public static String columns(String path) throws Exception {
        return new ObjectMapper().writeValueAsString(open(path).rowType().getFieldNames());
    }
}
