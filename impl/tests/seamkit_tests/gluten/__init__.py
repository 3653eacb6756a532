"""Tests of native batches behind handles."""
