"""Presto's SerializedPage, as Presto and as Velox write it."""
