"""Scanners: the native, the merge and the connector path, and the choice between them."""
