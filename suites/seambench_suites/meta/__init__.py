"""Tests of the cases, of the checks that run them, and of the layering."""
