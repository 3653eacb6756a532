"""Scans in query engines: files that need nothing of ours go to the engine's own Parquet reader."""
