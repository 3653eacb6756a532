package seamkit.offheap;

import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/**
 * What native code calls: each step of a scanner's life with the scanner's own class loader as that of
 * the thread, which is where libraries look for their parts.
 */
final class Host {
    private Host() {}

    /**
     * A scanner of a class by name, or of the class that a factory names.
     *
     * @param loader where the class is
     * @param parameters names and values in turns
     * @param allocator address of the host's allocator, 0 for `Unsafe`
     */
    static ChunkSource create(
            ClassLoader loader, String className, int fetchSize, String[] parameters, long allocator)
            throws Throwable {
        Map<String, String> named = new HashMap<String, String>();
        for (int i = 0; i + 1 < parameters.length; i += 2) {
            named.put(parameters[i], parameters[i + 1]);
        }
        try (ThreadContextClassLoader inside = new ThreadContextClassLoader(loader)) {
            Class<?> found;
            try {
                found = Class.forName(className, true, loader);
            } catch (ClassNotFoundException error) {
                throw new RefusedException("no class " + className + " is on the class path");
            }
            boolean textForm = textForm((String) named.get("value_form"));
            Object scanner = made(scannerClass(found), fetchSize, named);
            if (!(scanner instanceof ConnectorScanner)) {
                return new BoundScanner(scanner, textForm);
            }
            ConnectorScanner ours = (ConnectorScanner) scanner;
            ours.useAllocator(allocator);
            if (textForm) {
                ours.useTextForm();
            }
            return ours;
        } catch (InvocationTargetException error) {
            throw error.getCause();
        }
    }

    private static boolean textForm(String stated) {
        if (stated == null || stated.equals("binary") || stated.equals("text")) {
            return "text".equals(stated);
        }
        throw new RefusedException("parameter 'value_form' is binary or text, not '" + stated + "'");
    }

    /** The scanner's class: a class itself, or what its method `getScannerClass` names. */
    private static Class<?> scannerClass(Class<?> found) throws ReflectiveOperationException {
        Method[] methods = found.getMethods();
        for (int i = 0; i < methods.length; i++) {
            Class<?>[] takes = methods[i].getParameterTypes();
            boolean typed = takes.length == 1 && takes[0] == String.class;
            if (methods[i].getName().equals("getScannerClass") && (typed || takes.length == 0)) {
                Object factory = found.getConstructor(new Class[0]).newInstance(new Object[0]);
                methods[i].setAccessible(true);
                Object[] arguments = typed ? new Object[] {"default"} : new Object[0];
                return (Class<?>) methods[i].invoke(factory, arguments);
            }
        }
        return found;
    }

    private static Object made(Class<?> found, int fetchSize, Map<String, String> named)
            throws ReflectiveOperationException {
        Constructor<?> constructor;
        try {
            constructor = found.getConstructor(new Class[] {int.class, Map.class});
        } catch (NoSuchMethodException error) {
            throw new RefusedException(found.getName() + " has no public constructor (int, Map)");
        }
        return constructor.newInstance(new Object[] {Integer.valueOf(fetchSize), named});
    }

    static void open(ChunkSource scanner) throws IOException {
        try (ThreadContextClassLoader inside = new ThreadContextClassLoader(scanner.classes())) {
            scanner.open();
        }
    }

    static long next(ChunkSource scanner) throws IOException {
        try (ThreadContextClassLoader inside = new ThreadContextClassLoader(scanner.classes())) {
            return scanner.getNextOffHeapChunk();
        }
    }

    /** Nanoseconds of all calls of `next` that were spent on appending, as far as the scanner tells. */
    static long converted(ChunkSource scanner) {
        return scanner.convertedNanos();
    }

    static void releaseColumn(ChunkSource scanner, int index) throws IOException {
        scanner.releaseOffHeapColumnVector(index);
    }

    /** 1 where dates, datetimes and decimals of the last chunk are formatted texts, else 0. */
    static long form(ChunkSource scanner) {
        return scanner.textForm() ? 1 : 0;
    }

    /** Names and types of the columns; a line each. */
    static byte[] describe(ChunkSource scanner) {
        return scanner.describe().getBytes(StandardCharsets.UTF_8);
    }

    static void close(ChunkSource scanner) throws IOException {
        try (ThreadContextClassLoader inside = new ThreadContextClassLoader(scanner.classes())) {
            try {
                scanner.releaseOffHeapTable();
            } finally {
                scanner.close();
            }
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
}
