"""Which parts a chunk's columns consist of: the schema of an exchange in StarRocks' terms.

Source of the rules: StarRocks (June 2025), `ColumnHelper::create_column` and `ColumnArraySerde`.
Columns at the top have null flags as their field says; what is nested always has them. Decimals of
up to 9 digits are DECIMAL32, of up to 18 DECIMAL64. A column of Arrow's large strings or binaries
is a LargeBinaryColumn, with sizes and offsets of 64 bits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from seambase.encodings import entries_of, made_anew
from seambase.errors import RefusedError
from seamkit.offheap.columns.types import ColumnType, Kind, from_arrow
from seamkit.offheap.engine.columns import EngineSchema


@dataclass(frozen=True)
class ChunkColumn:
    """A column on the wire, a tree."""

    path: str  # its name, its parents' before it
    kind: Kind  # how values are stored
    large: bool = False  # sizes and offsets of the bytes have 64 bits
    # an array's element; a map's key and value; a struct's fields
    children: tuple[ChunkColumn, ...] = ()


@dataclass(frozen=True)
class TopColumn:
    """A column of a chunk."""

    field: Any
    type: ColumnType  # the whole type
    wire: ChunkColumn  # how it lies in a chunk
    values: Any  # Arrow type of what it holds: of runs, their values; of a dictionary, its entries
    runs: bool  # the field is run-end encoded, so that a constant column may stay one


def top_column(field: Any) -> TopColumn:
    """What a `pyarrow.Field` is in a chunk."""
    runs = pa.types.is_run_end_encoded(field.type)
    values = made_anew(field.type.value_type if runs else field.type, entries_of)
    column = table_type(values)
    wire = _wire(field.name, values, column)
    EngineSchema(pa.schema([pa.field(field.name, values)]), [column])  # refuses what it cannot read
    return TopColumn(field, column, wire, values, runs)


def _wire(path: str, data_type: Any, column: ColumnType) -> ChunkColumn:
    kinds = pa.types
    if column.kind is Kind.ARRAY:
        inner = [data_type.value_type]
    elif column.kind is Kind.MAP:
        inner = [data_type.key_type, data_type.item_type]
    elif column.kind is Kind.STRUCT:
        inner = [part.type for part in data_type]
    else:
        if column.kind.is_datetime and data_type.unit == "ns":
            raise RefusedError(
                f"column '{path}': StarRocks' datetimes have microseconds, {data_type} has more; "
                "cast it to timestamp[us] first"
            )
        large = kinds.is_large_string(data_type) or kinds.is_large_binary(data_type)
        return ChunkColumn(path, column.kind, large)
    parts = zip(column.names, inner, column.children, strict=True)
    return ChunkColumn(
        path,
        column.kind,
        children=tuple(_wire(f"{path}.{name}", part, child) for name, part, child in parts),
    )


def table_type(data_type: Any) -> ColumnType:
    """The type of a table's column with values of a `pyarrow.DataType`.

    Decimals of up to 9 digits are DECIMAL32, which no type string says: hashes and chunks differ.
    """
    return _narrowed(from_arrow(data_type))


def _narrowed(column: ColumnType) -> ColumnType:
    if column.kind is Kind.DECIMAL64 and column.precision <= 9:
        return replace(column, kind=Kind.DECIMAL32)
    return replace(column, children=tuple(_narrowed(child) for child in column.children))
