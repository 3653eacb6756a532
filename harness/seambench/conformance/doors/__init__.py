"""Doors by which implementations come in that are no Python objects: commands and libraries."""
