"""Recipes of golden tables that other writers than Spark made, one module for each writer.

`python -m seambench_suites.writers.by_deltalake [TABLE ...]` writes the tables of a writer, their
declarations, and the cases that read them. It is run by hand, with the writer installed: names of
files and identities are new in each run, the rows are not.
"""
