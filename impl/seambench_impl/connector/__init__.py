"""Formats' own readers in a JVM, each behind a JNI connector."""
