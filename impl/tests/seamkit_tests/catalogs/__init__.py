"""Tests of tables by their names in a catalog."""
