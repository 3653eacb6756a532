"""Presto's pages and blocks, by its own classes in a JVM."""
