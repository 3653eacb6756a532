"""Files of tables: storage, the readers of each file format, and what statistics rule out."""
