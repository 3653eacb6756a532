package seamkit.offheap;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/**
 * A scanner that extends no class of ours: its five methods are found by name, as an engine's native
 * side finds them. Columns that it reads are known to whoever asks for them; it names none.
 */
final class BoundScanner implements ChunkSource {
    private final Object scanner;
    private final boolean textForm;
    private final Method open;
    private final Method next;
    private final Method releaseColumn;
    private final Method releaseTable;
    private final Method close;

    /**
     * @param textForm whether it is known to write texts, as scanners for StarRocks before 2024 do
     * @throws RefusedException a method is missing, or is another
     */
    BoundScanner(Object scanner, boolean textForm) {
        this.scanner = scanner;
        this.textForm = textForm;
        open = method("open", "()V", void.class, new Class[0]);
        next = method("getNextOffHeapChunk", "()J", long.class, new Class[0]);
        releaseColumn =
                method("releaseOffHeapColumnVector", "(I)V", void.class, new Class[] {int.class});
        releaseTable = method("releaseOffHeapTable", "()V", void.class, new Class[0]);
        close = method("close", "()V", void.class, new Class[0]);
    }

    private Method method(String name, String signature, Class<?> result, Class<?>[] parameters) {
        // Methods of a public class, or of one above it: a class need not be public itself.
        for (Class<?> at = scanner.getClass(); at != null; at = at.getSuperclass()) {
            try {
                Method found = at.getDeclaredMethod(name, parameters);
                if (found.getReturnType() == result) {
                    found.setAccessible(true);
                    return found;
                }
            } catch (NoSuchMethodException error) {
                continue;
            }
        }
        throw new RefusedException(
                scanner.getClass().getName() + " extends no " + ConnectorScanner.class.getName()
                        + ", and has no method " + name + signature);
    }

    private Object call(Method method, Object[] arguments) throws IOException {
        try {
            return method.invoke(scanner, arguments);
        } catch (IllegalAccessException error) {
            throw new IllegalStateException(error);
        } catch (InvocationTargetException error) {
            Throwable cause = error.getCause();
            if (cause instanceof IOException) {
                throw (IOException) cause;
            }
            if (cause instanceof RuntimeException) {
                throw (RuntimeException) cause;
            }
            if (cause instanceof Error) {
                throw (Error) cause;
            }
            throw new IOException(cause);
        }
    }

    @Override
    public void open() throws IOException {
        call(open, new Object[0]);
    }

    @Override
    public long getNextOffHeapChunk() throws IOException {
        releaseOffHeapTable(); // the chunk before, which such a scanner does not give back by itself
        return ((Long) call(next, new Object[0])).longValue();
    }

    @Override
    public void releaseOffHeapColumnVector(int index) throws IOException {
        call(releaseColumn, new Object[] {Integer.valueOf(index)});
    }

    @Override
    public void releaseOffHeapTable() throws IOException {
        call(releaseTable, new Object[0]);
    }

    @Override
    public void close() throws IOException {
        call(close, new Object[0]);
    }

    @Override
    public ClassLoader classes() {
        return scanner.getClass().getClassLoader();
    }

    @Override
    public long convertedNanos() {
        return 0;
    }

    @Override
    public boolean textForm() {
        return textForm;
    }

    @Override
    public String describe() {
        return "\t"; // not even that there are none
    }
}
