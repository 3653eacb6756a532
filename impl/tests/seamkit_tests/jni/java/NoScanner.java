package tests;

/** A class that is no scanner. */
public final class NoScanner {}
