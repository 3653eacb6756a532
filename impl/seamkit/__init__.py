"""Scanners, off-heap columns, serde and exchange: the seams between query engines."""
