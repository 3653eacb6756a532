"""Tests of types."""
