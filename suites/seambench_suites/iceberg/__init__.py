"""Iceberg beyond single cases: random tables against Spark, tables damaged file by file."""
