"""Formats' own readers in Java, each behind a scanner that a JNI connector drives."""
