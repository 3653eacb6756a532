"""Tests of the harness: run with `pytest --pyargs seambench`."""
