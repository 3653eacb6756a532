"""Rows of Spark and Velox: UnsafeRow and CompactRow, from columns and back."""
