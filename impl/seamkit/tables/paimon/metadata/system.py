"""Columns that files of tables with a primary key have besides the table's."""

from __future__ import annotations

import pyarrow as pa

__all__ = ["KIND", "ROW_KIND", "SEQUENCE", "SYSTEM"]

SEQUENCE = "_SEQUENCE_NUMBER"
KIND = "_VALUE_KIND"
SYSTEM = pa.schema([pa.field(SEQUENCE, pa.int64()), pa.field(KIND, pa.int8())])
ROW_KIND = "rowkind"
"""The column with the kinds of rows in words, as Paimon's table `audit_log` has it."""
