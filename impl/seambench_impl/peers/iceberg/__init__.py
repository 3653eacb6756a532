"""Readers of Iceberg tables by others: Python libraries, and engines."""
