"""Scanners written in Java, driven from C: rows cross in off-heap tables, batch by batch."""
