"""Engines of others that read tables of several formats, each by its own door."""
