"""Hudi tables: what to read of them, as read units."""

from seamkit.tables.hudi.table import HudiTable

__all__ = ["HudiTable"]
