"""Tests of Hive's tables."""
