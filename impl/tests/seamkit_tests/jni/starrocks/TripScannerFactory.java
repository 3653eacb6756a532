package com.starrocks.trips;

import com.starrocks.jni.connector.ScannerFactory;

/** Names the scanner's class. */
public class TripScannerFactory implements ScannerFactory {
    @Override
    public Class<?> getScannerClass() throws ClassNotFoundException {
        return getClass().getClassLoader().loadClass("com.starrocks.trips.TripScanner");
    }
}
