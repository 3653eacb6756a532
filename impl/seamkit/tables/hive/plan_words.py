"""What plans of Hive tables are made of."""

from __future__ import annotations

from seamkit.tables.hive.data_files import open_data_file
from seamkit.tables.hive.descriptor import Description
from seamkit.tables.hive.row_format import RowFormat
from seamkit.tables.hive.types import HiveType

__all__ = ["WORDS"]

WORDS = (
    Description,
    HiveType,
    RowFormat,
    open_data_file,
)
"""Classes and functions; see `seamkit.ranges.words`."""
