"""Tests of planned scans as JSON."""
