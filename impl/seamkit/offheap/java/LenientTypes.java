package seamkit.offheap;

import java.util.ArrayList;
import java.util.List;

import seamkit.offheap.ColumnType.TypeValue;

/**
 * Type strings as StarRocks' JNI connector reads them (commit 37c7c51e), mistakes included: what
 * follows the first complete type is ignored, numbers of children are not checked, and a word that
 * begins with `decimal`, `char` or `varchar` takes all up to the next `)`.
 */
final class LenientTypes {
    private static final int DEPTH = 64;

    private final String text;
    private int at;

    LenientTypes(String text) {
        this.text = text;
    }

    ColumnType whole() {
        return type(1);
    }

    private TypeStringException fail(String reason, String token) {
        String what = token == null ? reason : reason + " '" + token + "'";
        return new TypeStringException(text, at, what, reason, token);
    }

    private TypeStringException beyond() {
        return fail("index-out-of-range", null);
    }

    /** The next word. What it begins with decides where the cursor goes. */
    private String token() {
        if (at > text.length()) {
            throw beyond();
        }
        int start = at;
        while (at < text.length() && "<,>()".indexOf(text.charAt(at)) < 0) {
            at++;
        }
        String word = text.substring(start, at);
        boolean decimal = word.startsWith("decimal");
        if (decimal || word.startsWith("char") || word.startsWith("varchar")) {
            int close = text.indexOf(')', start);
            at = close >= 0 ? close + 1 : text.length() + 1;
            if (decimal) {
                if (close < 0) {
                    throw beyond();
                }
                return text.substring(start, at);
            }
        }
        return word;
    }

    private ColumnType type(int depth) {
        if (depth > DEPTH) {
            throw new TypeStringException(text, at, "nested deeper than " + DEPTH, null, null);
        }
        String word = token();
        if (word.startsWith("decimal")) {
            return decimal(word);
        }
        if (word.equals("char") || word.equals("varchar")) {
            return new ColumnType(TypeValue.STRING, 0, 0);
        }
        TypeValue plain = TypeValue.ofWord(word);
        if (plain != null) {
            return new ColumnType(plain, 0, 0);
        }
        if (word.equals("array")) {
            return children(TypeValue.ARRAY, depth);
        }
        if (word.equals("map")) {
            return children(TypeValue.MAP, depth);
        }
        if (word.equals("struct")) {
            return children(TypeValue.STRUCT, depth);
        }
        throw fail("unsupported-type", word);
    }

    private ColumnType children(TypeValue kind, int depth) {
        List<String> names = new ArrayList<String>();
        List<ColumnType> types = new ArrayList<ColumnType>();
        while (true) {
            if (at >= text.length()) {
                throw beyond();
            }
            if (text.charAt(at) == '>') {
                at++;
                return ColumnType.nested(kind, names, types);
            }
            at++; // a '<' or ',', or whatever stands there
            names.add(kind == TypeValue.STRUCT ? name() : "$" + names.size());
            types.add(type(depth + 1));
        }
    }

    private String name() {
        int colon = text.indexOf(':', at);
        if (colon < 0) {
            throw beyond();
        }
        String name = text.substring(at, colon);
        at = colon + 1;
        return name;
    }

    private ColumnType decimal(String word) {
        String[] parts = word.substring(word.indexOf('(') + 1, word.indexOf(')')).split(",");
        if (parts.length < 1) {
            throw beyond();
        }
        int precision = number(parts[0]);
        if (parts.length < 2) {
            throw beyond();
        }
        return new ColumnType(TypeValue.ofDecimal(precision), precision, number(parts[1]));
    }

    private int number(String digits) {
        try {
            return Integer.parseInt(digits.trim());
        } catch (NumberFormatException error) {
            throw fail("bad-number", null);
        }
    }
}
