"""Spark: its tables, as the formats' own projects ship connectors, its columns and its rows."""
