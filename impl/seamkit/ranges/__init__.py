"""Planned scans as JSON: read units that another process, or another language, executes."""
