"""Tests of hudi."""
