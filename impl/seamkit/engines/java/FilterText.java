package seamkit;

import org.apache.spark.sql.sources.And;
import org.apache.spark.sql.sources.EqualTo;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.sources.GreaterThan;
import org.apache.spark.sql.sources.GreaterThanOrEqual;
import org.apache.spark.sql.sources.In;
import org.apache.spark.sql.sources.IsNotNull;
import org.apache.spark.sql.sources.LessThan;
import org.apache.spark.sql.sources.LessThanOrEqual;
import org.apache.spark.sql.sources.Or;

/**
 * Filters of Spark's as JSON, for readers in another language.
 *
 * <p>An array of filters, each an array: its kind, and what it holds. Values are texts, as Java
 * writes them. A filter of any other kind is null: it stays with Spark.
 */
public final class FilterText {
    private FilterText() {}

    /** All filters, which rows must pass together. */
    public static String of(Filter[] filters) {
        StringBuilder out = new StringBuilder("[");
        for (int i = 0; i < filters.length; i++) {
            if (i > 0) {
                out.append(',');
            }
            write(filters[i], out);
        }
        return out.append(']').toString();
    }

    private static void write(Filter filter, StringBuilder out) {
        if (filter instanceof And) {
            pair("And", ((And) filter).left(), ((And) filter).right(), out);
        } else if (filter instanceof Or) {
            pair("Or", ((Or) filter).left(), ((Or) filter).right(), out);
        } else if (filter instanceof IsNotNull) {
            values("IsNotNull", ((IsNotNull) filter).attribute(), new Object[0], out);
        } else if (filter instanceof In) {
            values("In", ((In) filter).attribute(), ((In) filter).values(), out);
        } else if (filter instanceof EqualTo) {
            EqualTo one = (EqualTo) filter;
            values("EqualTo", one.attribute(), new Object[] {one.value()}, out);
        } else if (filter instanceof LessThan) {
            LessThan one = (LessThan) filter;
            values("LessThan", one.attribute(), new Object[] {one.value()}, out);
        } else if (filter instanceof LessThanOrEqual) {
            LessThanOrEqual one = (LessThanOrEqual) filter;
            values("LessThanOrEqual", one.attribute(), new Object[] {one.value()}, out);
        } else if (filter instanceof GreaterThan) {
            GreaterThan one = (GreaterThan) filter;
            values("GreaterThan", one.attribute(), new Object[] {one.value()}, out);
        } else if (filter instanceof GreaterThanOrEqual) {
            GreaterThanOrEqual one = (GreaterThanOrEqual) filter;
            values("GreaterThanOrEqual", one.attribute(), new Object[] {one.value()}, out);
        } else {
            out.append("null");
        }
    }

    private static void pair(String kind, Filter left, Filter right, StringBuilder out) {
        out.append("[\"").append(kind).append("\",");
        write(left, out);
        out.append(',');
        write(right, out);
        out.append(']');
    }

    private static void values(String kind, String column, Object[] values, StringBuilder out) {
        out.append("[\"").append(kind).append("\",");
        quoted(column, out);
        for (int i = 0; i < values.length; i++) {
            out.append(',');
            if (values[i] == null) {
                out.append("null");
            } else {
                quoted(values[i].toString(), out);
            }
        }
        out.append(']');
    }

    static void quoted(String text, StringBuilder out) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char one = text.charAt(i);
            if (one == '"' || one == '\\') {
                out.append('\\').append(one);
            } else if (one < ' ' || one > '~') {
                out.append(String.format("\\u%04x", new Object[] {Integer.valueOf(one)}));
            } else {
                out.append(one);
            }
        }
        out.append('"');
    }
}
