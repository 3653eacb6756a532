"""Delta tables: the log as a version of the table, and its data files as what is to be read."""
