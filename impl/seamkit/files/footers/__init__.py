"""Footers of Parquet and ORC files: checked before pyarrow reads them; what it does not tell."""
