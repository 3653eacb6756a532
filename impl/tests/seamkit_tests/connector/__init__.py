"""Tests of connector."""
