package seambench.paimon;

import java.io.IOException;
import java.util.Base64;

import org.apache.paimon.utils.InstantiationUtil;

/** Paimon's objects as texts: Java's serialisation in URL-safe Base64, as StarRocks hands them over. */
final class Encoded {
    private Encoded() {}

    static String text(Object object) throws IOException {
        return Base64.getUrlEncoder().encodeToString(InstantiationUtil.serializeObject(object));
    }

    /**
     * The object of a text. The text comes from a planner, not from a table: Java's serialisation
     * makes whatever objects it names.
     *
     * @throws IllegalArgumentException it is none of this version of Paimon
     */
    static Object object(String text, String parameter, Class<?> wanted) throws IOException {
        Object found;
        try {
            byte[] bytes = Base64.getUrlDecoder().decode(text);
            found = InstantiationUtil.deserializeObject(bytes, Encoded.class.getClassLoader());
        } catch (IllegalArgumentException error) {
            throw new IllegalArgumentException("parameter '" + parameter + "' is no Base64", error);
        } catch (Exception error) {
            throw new IllegalArgumentException(
                    "parameter '" + parameter + "' is no object of this version of Paimon", error);
        }
        if (!wanted.isInstance(found)) {
            throw new IllegalArgumentException("parameter '" + parameter + "' is no " + wanted.getName());
        }
        return found;
    }
}
