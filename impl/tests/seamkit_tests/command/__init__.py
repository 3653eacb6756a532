"""The command `seamkit`."""
