"""Off-heap columns: how rows cross a language border."""
