"""Engines of others that read tables of several formats."""
