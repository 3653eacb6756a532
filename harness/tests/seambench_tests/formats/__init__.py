"""Tests of table formats: what is shared, and each format's own."""
