"""Column types as StarRocks' tables have them, where off-heap type strings do not tell."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from seamkit.offheap.columns.types import ColumnType, Kind, from_arrow


def table_type(data_type: Any) -> ColumnType:
    """The type of a table's column with values of a `pyarrow.DataType`.

    Decimals of up to 9 digits are DECIMAL32, which no type string says: hashes and chunks differ.
    """
    return _narrowed(from_arrow(data_type))


def _narrowed(column: ColumnType) -> ColumnType:
    if column.kind is Kind.DECIMAL64 and column.precision <= 9:
        return replace(column, kind=Kind.DECIMAL32)
    return replace(column, children=tuple(_narrowed(child) for child in column.children))
