"""Folders of files that Hive reads as tables: text, CSV, JSON, sequence files, Parquet, ORC, Avro."""
