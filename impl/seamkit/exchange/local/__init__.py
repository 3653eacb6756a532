"""Exchanges between the drivers of one fragment, inside a process."""
