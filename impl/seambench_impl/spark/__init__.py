"""Scanners that run in Spark."""
