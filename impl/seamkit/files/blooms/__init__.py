"""Bloom filters in files, by which a look-up passes over what surely lacks its values."""
