"""Tests of columns."""
