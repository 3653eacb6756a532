package seamkit.offheap;

import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What native code calls: each step of a scanner's life with the scanner's own class loader as that of
 * the thread, which is where libraries look for their parts.
 */
final class Host {
    private Host() {}

    /**
     * A scanner of a class by name.
     *
     * @param loader where the class is
     * @param parameters names and values in turns
     * @param allocator address of the host's allocator, 0 for `Unsafe`
     */
    static ConnectorScanner create(
            ClassLoader loader, String className, int fetchSize, String[] parameters, long allocator)
            throws Throwable {
        Map<String, String> named = new LinkedHashMap<String, String>();
        for (int i = 0; i + 1 < parameters.length; i += 2) {
            named.put(parameters[i], parameters[i + 1]);
        }
        ClassLoader before = enter(loader);
        try {
            Class<?> found;
            try {
                found = Class.forName(className, true, loader);
            } catch (ClassNotFoundException error) {
                throw new RefusedException("no class " + className + " is on the class path");
            }
            if (!ConnectorScanner.class.isAssignableFrom(found)) {
                throw new RefusedException(className + " is no " + ConnectorScanner.class.getName());
            }
            Constructor<?> constructor;
            try {
                constructor = found.getConstructor(new Class[] {int.class, Map.class});
            } catch (NoSuchMethodException error) {
                throw new RefusedException(className + " has no public constructor (int, Map)");
            }
            Object[] arguments = new Object[] {Integer.valueOf(fetchSize), named};
            ConnectorScanner scanner;
            try {
                scanner = (ConnectorScanner) constructor.newInstance(arguments);
            } catch (InvocationTargetException error) {
                throw error.getCause();
            }
            scanner.useAllocator(allocator);
            return scanner;
        } finally {
            leave(before);
        }
    }

    static void open(ConnectorScanner scanner) throws IOException {
        ClassLoader before = enter(scanner.getClass().getClassLoader());
        try {
            scanner.open();
        } finally {
            leave(before);
        }
    }

    static long next(ConnectorScanner scanner) throws IOException {
        ClassLoader before = enter(scanner.getClass().getClassLoader());
        try {
            return scanner.getNextOffHeapChunk();
        } finally {
            leave(before);
        }
    }

    /** Nanoseconds of all calls of `next` that were spent on appending, as far as the scanner tells. */
    static long converted(ConnectorScanner scanner) {
        return scanner.convertedNanos();
    }

    static void releaseColumn(ConnectorScanner scanner, int index) {
        scanner.releaseOffHeapColumnVector(index);
    }

    static void release(ConnectorScanner scanner) {
        scanner.releaseOffHeapTable();
    }

    /** Names and types of the columns; a line each. */
    static byte[] describe(ConnectorScanner scanner) {
        return scanner.describe().getBytes(StandardCharsets.UTF_8);
    }

    static void close(ConnectorScanner scanner) throws IOException {
        ClassLoader before = enter(scanner.getClass().getClassLoader());
        try {
            scanner.releaseOffHeapTable();
            scanner.close();
        } finally {
            leave(before);
        }
    }

    /**
     * What went wrong, in one line of UTF-8. The first sign tells of what kind it is: `m` memory, `r`
     * refused, `i` the input's fault.
     */
    static byte[] failure(Throwable thrown) {
        StringBuilder out = new StringBuilder().append(sign(thrown));
        String before = "";
        Throwable cause = thrown;
        for (int i = 0; cause != null && i < 4; i++) {
            String name = cause.getClass().getName();
            String text = cause.getMessage() == null ? "" : cause.getMessage();
            text = text.replaceAll("\\s+", " ").trim();
            if (text.isEmpty() || !before.contains(text)) {
                out.append(i == 0 ? "" : "; ");
                out.append(name.startsWith("seamkit.offheap.") ? "" : name + ": ").append(text);
                before = before + text;
            }
            cause = cause.getCause() == cause ? null : cause.getCause();
        }
        return out.toString().getBytes(StandardCharsets.UTF_8);
    }

    private static char sign(Throwable thrown) {
        Throwable cause = thrown;
        for (int i = 0; cause != null && i < 8; i++) {
            if (cause instanceof NoMemoryException || cause instanceof OutOfMemoryError) {
                return 'm';
            }
            if (cause instanceof RefusedException || cause instanceof UnsupportedOperationException) {
                return 'r';
            }
            cause = cause.getCause();
        }
        return 'i';
    }

    private static ClassLoader enter(ClassLoader loader) {
        ClassLoader before = Thread.currentThread().getContextClassLoader();
        Thread.currentThread().setContextClassLoader(loader);
        return before;
    }

    private static void leave(ClassLoader before) {
        Thread.currentThread().setContextClassLoader(before);
    }
}
