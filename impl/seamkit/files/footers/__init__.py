"""Footers of Parquet files, held to their format before pyarrow looks into them."""
