"""Tests of avro."""
