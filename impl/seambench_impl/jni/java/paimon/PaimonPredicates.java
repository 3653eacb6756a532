package seambench.paimon;

import java.io.IOException;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DecimalType;
import org.apache.paimon.types.RowType;

/**
 * Tests of rows as Paimon's predicates.
 *
 * <p>A test is a JSON array: `["and", TEST, ...]`, `["or", TEST, ...]`, or the name of one of
 * PredicateBuilder's methods, a column and its values: `["equal", "k", "5"]`, `["isNull", "v"]`,
 * `["in", "k", "1", "2"]`. Values are texts: whole numbers, decimals, `true` and `false`, days since
 * 1970-01-01.
 */
final class PaimonPredicates {
    private final RowType row;
    private final PredicateBuilder builder;

    private PaimonPredicates(RowType row) {
        this.row = row;
        builder = new PredicateBuilder(row);
    }

    /**
     * Predicates that hold where a test does.
     *
     * @throws IllegalArgumentException it is no such test over these columns
     */
    static List<Predicate> of(String json, RowType row) throws IOException {
        List<Predicate> all = new ArrayList<Predicate>();
        all.add(new PaimonPredicates(row).test((JsonNode) new ObjectMapper().readTree(json)));
        return all;
    }

    private static String text(JsonNode node, int place) {
        return ((JsonNode) node.path(place)).asText();
    }

    private Predicate test(JsonNode node) {
        String word = text(node, 0);
        if (word.equals("and") || word.equals("or")) {
            List<Predicate> sides = new ArrayList<Predicate>();
            for (int i = 1; i < node.size(); i++) {
                sides.add(test((JsonNode) node.get(i)));
            }
            return word.equals("and") ? PredicateBuilder.and(sides) : PredicateBuilder.or(sides);
        }
        int place = row.getFieldNames().indexOf(text(node, 1));
        if (place < 0) {
            throw new IllegalArgumentException("a test " + node + " of no column of " + row);
        }
        List<Object> values = new ArrayList<Object>();
        for (int i = 2; i < node.size(); i++) {
            values.add(value(text(node, i), row.getTypeAt(place)));
        }
        return compared(word, place, values);
    }

    private Predicate compared(String word, int place, List<Object> values) {
        switch (word) {
            case "isNull":
                return builder.isNull(place);
            case "isNotNull":
                return builder.isNotNull(place);
            case "in":
                return builder.in(place, values);
            case "equal":
                return builder.equal(place, values.get(0));
            case "notEqual":
                return builder.notEqual(place, values.get(0));
            case "lessThan":
                return builder.lessThan(place, values.get(0));
            case "lessOrEqual":
                return builder.lessOrEqual(place, values.get(0));
            case "greaterThan":
                return builder.greaterThan(place, values.get(0));
            case "greaterOrEqual":
                return builder.greaterOrEqual(place, values.get(0));
            default:
                throw new IllegalArgumentException("no predicate is called " + word);
        }
    }

    /** A value in the object that Paimon has for a type. */
    private static Object value(String text, DataType type) {
        String root = type.getTypeRoot().name();
        switch (root) {
            case "CHAR":
            case "VARCHAR":
                return BinaryString.fromString(text);
            case "BOOLEAN":
                return Boolean.valueOf(text);
            case "TINYINT":
                return Byte.valueOf(text);
            case "SMALLINT":
                return Short.valueOf(text);
            case "INTEGER":
            case "DATE":
                return Integer.valueOf(text);
            case "BIGINT":
                return Long.valueOf(text);
            case "DECIMAL":
                DecimalType decimal = (DecimalType) type;
                return Decimal.fromBigDecimal(
                        new BigDecimal(text), decimal.getPrecision(), decimal.getScale());
            default:
                throw new IllegalArgumentException("values of type " + type + " are not compared");
        }
    }
}
