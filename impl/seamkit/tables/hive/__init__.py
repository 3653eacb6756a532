"""Folders that Hive reads as tables: text, CSV, JSON, sequence files, Parquet, ORC, Avro."""
