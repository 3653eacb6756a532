package seambench.paimon;

import java.util.List;

import org.apache.paimon.types.ArrayType;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DecimalType;
import org.apache.paimon.types.MapType;
import org.apache.paimon.types.MultisetType;
import org.apache.paimon.types.RowType;

import seamkit.offheap.RefusedException;

/** The type strings of Paimon's types. */
final class PaimonTypes {
    private PaimonTypes() {}

    /**
     * The type string of a column.
     *
     * @throws RefusedException no off-heap column holds such values
     */
    static String text(DataType type, String column) {
        String root = type.getTypeRoot().name();
        switch (root) {
            case "CHAR":
            case "VARCHAR":
                return "string";
            case "BINARY":
            case "VARBINARY":
                return "binary";
            case "BOOLEAN":
            case "TINYINT":
            case "SMALLINT":
            case "BIGINT":
            case "FLOAT":
            case "DOUBLE":
            case "DATE":
                return root.toLowerCase(java.util.Locale.ROOT);
            case "INTEGER":
                return "int";
            case "TIME_WITHOUT_TIME_ZONE":
                return "time";
            case "TIMESTAMP_WITHOUT_TIME_ZONE":
            case "TIMESTAMP_WITH_LOCAL_TIME_ZONE":
                return "timestamp";
            case "DECIMAL":
                return "decimal(" + ((DecimalType) type).getPrecision() + ","
                        + ((DecimalType) type).getScale() + ")";
            case "ARRAY":
                return "array<" + text(((ArrayType) type).getElementType(), column) + ">";
            case "MULTISET":
                return "map<" + text(((MultisetType) type).getElementType(), column) + ",int>";
            case "MAP":
                return "map<" + text(((MapType) type).getKeyType(), column) + ","
                        + text(((MapType) type).getValueType(), column) + ">";
            case "ROW":
                return row((RowType) type, column);
            default:
                throw new RefusedException(
                        "column '" + column + "': values of Paimon's type " + type + " are not supported");
        }
    }

    private static String row(RowType type, String column) {
        StringBuilder out = new StringBuilder("struct<");
        List<DataField> fields = type.getFields();
        for (int i = 0; i < fields.size(); i++) {
            DataField field = (DataField) fields.get(i);
            out.append(i == 0 ? "" : ",").append(field.name()).append(':');
            out.append(text(field.type(), column + "." + field.name()));
        }
        return out.append('>').toString();
    }
}
