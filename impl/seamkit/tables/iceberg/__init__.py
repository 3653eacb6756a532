"""Iceberg tables: metadata and manifests as a snapshot, and what of its files is to be read."""
