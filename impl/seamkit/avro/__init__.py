"""Avro data, as files and log blocks hold it, decoded by the C core into Arrow columns.

The schema that wrote a block is matched by name to the columns asked for; each field becomes one
node of the core's plan. Fields nobody asked for are skipped in the core, columns that the writer
lacks are added here. Type promotions are Avro's, and those of the table format's rules.
"""
