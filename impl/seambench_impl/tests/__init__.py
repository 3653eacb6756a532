"""Tests of the implementations; installed with them, run by `pytest --pyargs seambench_impl`."""
