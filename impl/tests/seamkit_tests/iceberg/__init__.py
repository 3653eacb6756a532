"""Tests of `seamkit.tables.iceberg`."""
