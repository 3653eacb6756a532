"""Entries for spark-submit, and nothing else."""
