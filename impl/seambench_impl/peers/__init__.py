"""Readers by others, one file each; the foreign library is imported when a table is opened."""
