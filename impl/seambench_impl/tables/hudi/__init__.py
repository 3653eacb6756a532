"""Hudi tables: properties, timeline, file slices, and the bytes of log files."""
