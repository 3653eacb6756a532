package seamkit.offheap;

import java.io.Closeable;

/** Another class loader of the thread, which is where libraries look for their parts, until closed. */
public final class ThreadContextClassLoader implements Closeable {
    private final ClassLoader before;

    public ThreadContextClassLoader(ClassLoader loader) {
        before = Thread.currentThread().getContextClassLoader();
        Thread.currentThread().setContextClassLoader(loader);
    }

    @Override
    public void close() {
        Thread.currentThread().setContextClassLoader(before);
    }
}
