"""Engines that run queries over what implementations read: DuckDB and Spark."""
