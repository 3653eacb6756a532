package seamkit.offheap;

import java.util.ArrayList;
import java.util.List;

import seamkit.offheap.ColumnType.TypeValue;

/**
 * Type strings, strictly: what StarRocks would misread is refused.
 *
 * <p>`T := keyword | decimal(p,s) | varchar(n) | char(n) | array&lt;T&gt; | map&lt;T,T&gt; |
 * struct&lt;name:T,...&gt;`. Blanks around words and mixed case are taken; a field's name is kept as it is.
 */
final class StrictTypes {
    private static final int DEPTH = 64;

    private final String text;
    private int at;

    StrictTypes(String text) {
        this.text = text;
    }

    ColumnType whole() {
        ColumnType type = type(1);
        if (peek() != 0) {
            throw wrong("nothing may follow the type; StarRocks ignores it");
        }
        return type;
    }

    private TypeStringException wrong(String reason) {
        return new TypeStringException(text, at, reason, null, null);
    }

    /** The next sign that is no blank, where the cursor goes; 0 at the end. */
    private char peek() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        return at < text.length() ? text.charAt(at) : (char) 0;
    }

    private void expect(char sign, String reason) {
        if (peek() != sign) {
            throw wrong(reason);
        }
        at++;
    }

    private String word() {
        peek();
        int start = at;
        while (at < text.length()) {
            char sign = text.charAt(at);
            boolean letter = (sign >= 'a' && sign <= 'z') || (sign >= 'A' && sign <= 'Z');
            boolean later = (sign >= '0' && sign <= '9') || sign == '_' || sign == '-';
            if (!letter && !(later && at > start)) {
                break;
            }
            at++;
        }
        if (at == start) {
            throw wrong("a type is expected");
        }
        return text.substring(start, at).toLowerCase(java.util.Locale.ROOT);
    }

    private ColumnType type(int depth) {
        peek();
        int start = at;
        String word = word();
        if (depth > DEPTH) {
            throw wrong("types are nested at most " + DEPTH + " deep");
        }
        TypeValue plain = TypeValue.ofWord(word);
        if (plain != null) {
            return new ColumnType(plain, 0, 0);
        }
        if (word.equals("variant")) {
            return ColumnType.variant();
        }
        if (word.equals("varchar") || word.equals("char")) {
            return sized(word, depth);
        }
        if (word.equals("decimal")) {
            return decimal();
        }
        if (word.equals("array") || word.equals("map") || word.equals("struct")) {
            return nested(word, depth);
        }
        at = start;
        throw wrong("'" + word + "' is no type");
    }

    private int number(String what) {
        peek();
        int start = at;
        while (at < text.length() && at - start < 9 && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
            at++;
        }
        if (at == start) {
            throw wrong(what + " is expected");
        }
        return Integer.parseInt(text.substring(start, at));
    }

    private ColumnType sized(String word, int depth) {
        if (peek() == '(') {
            at++;
            number("a length");
            expect(')', "a length ends with ')'");
        } else if (depth > 1) {
            throw wrong(word + " needs a length here; without one StarRocks looks for the next ')'");
        }
        return new ColumnType(TypeValue.STRING, 0, 0);
    }

    private ColumnType decimal() {
        expect('(', "decimal needs precision and scale: decimal(p,s)");
        int start = at;
        int precision = number("a precision");
        expect(',', "a scale is expected: decimal(p,s)");
        int scale = number("a scale");
        expect(')', "a scale ends with ')'");
        if (precision < 1 || precision > 38 || scale > precision) {
            at = start;
            throw wrong("a decimal has 1 to 38 digits, scale included");
        }
        return new ColumnType(TypeValue.ofDecimal(precision), precision, scale);
    }

    private ColumnType nested(String word, int depth) {
        expect('<', word + " needs its types between '<' and '>'");
        List<String> names = new ArrayList<String>();
        List<ColumnType> types = new ArrayList<ColumnType>();
        boolean struct = word.equals("struct");
        int most = struct ? Integer.MAX_VALUE : word.equals("map") ? 2 : 1;
        while (true) {
            names.add(struct ? name(names) : "$" + names.size());
            types.add(type(depth + 1));
            int end = at;
            if (peek() != ',' || types.size() == most) {
                break;
            }
            if (struct && at > end && ")>".indexOf(text.charAt(end - 1)) >= 0) {
                throw wrong("StarRocks takes this blank for the comma and the comma for a name");
            }
            at++;
        }
        if (!struct && types.size() != most) {
            throw wrong("a map has two types");
        }
        expect('>', "'>' is expected");
        return ColumnType.nested(struct ? TypeValue.STRUCT : most == 2 ? TypeValue.MAP : TypeValue.ARRAY, names, types);
    }

    private String name(List<String> taken) {
        int end = text.indexOf(':', at);
        if (end < 0) {
            throw wrong("a field is name:type");
        }
        String name = text.substring(at, end);
        if (name.isEmpty() || !name.equals(name.trim())) {
            throw wrong("a field's name is neither empty nor begins or ends with a blank");
        }
        for (int i = 0; i < name.length(); i++) {
            if ("<>,():#".indexOf(name.charAt(i)) >= 0) {
                throw wrong("a field cannot be called '" + name + "'");
            }
        }
        if (taken.contains(name)) {
            throw wrong("the field '" + name + "' comes twice");
        }
        at = end + 1;
        return name;
    }
}
