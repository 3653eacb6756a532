"""Iceberg beyond single cases: random tables against Spark, and what reading may cost."""
