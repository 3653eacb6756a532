"""Tests of Spark over native batches."""
