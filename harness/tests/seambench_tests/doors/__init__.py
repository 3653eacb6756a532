"""Tests of doors."""
