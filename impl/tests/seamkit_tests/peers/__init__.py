"""Tests of peers."""
