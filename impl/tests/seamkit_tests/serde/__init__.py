"""Tests of serde."""
