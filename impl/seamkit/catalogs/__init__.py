"""Catalogs: where tables lie, and what is said of them there."""
