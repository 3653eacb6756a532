"""Vectors as bytes: Presto pages, rows of Spark and Velox, and the streams they travel in."""
