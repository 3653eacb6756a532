package seamkit.offheap;

/** Names the class of a scanner, from a class path of its own if need be; it has a constructor of none. */
public interface ScannerFactory {
    /** A class that extends `ConnectorScanner`. */
    Class<?> getScannerClass() throws ClassNotFoundException;
}
