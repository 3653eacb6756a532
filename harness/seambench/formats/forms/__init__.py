"""Physical forms of tables: the same rows in files cut, encoded and described otherwise.

What every table format can meet is here: Parquet files (`parquet`), their footers (`footer`), Avro
and text files (`containers`). What a format's own metadata can look like is that format's.
"""
