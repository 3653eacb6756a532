"""Hive's tables beyond single cases: random ones against Hive's own classes."""
