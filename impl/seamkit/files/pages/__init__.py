"""Pages of Parquet files: which may have rows that meet a condition, and reading those alone."""
