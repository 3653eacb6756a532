"""Rows as cases spell them, in Arrow, with the types of cases."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from seambase.errors import UsageError
from seambench.conformance.plain import parts_of

_ARROW = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "time": pa.time64("us"),
    # Environments of old peers have a pyarrow without it.
    **({"uuid": pa.uuid()} if hasattr(pa, "uuid") else {}),
}


def arrow_rows(
    rows: Sequence[Mapping[str, Any]],
    columns: Mapping[str, str],
    types: Mapping[str, pa.DataType] | None = None,
) -> pa.Table:
    """Rows as Arrow, with the types of cases, but for those Arrow types that are given."""
    fields = [
        pa.field(name, (types or {}).get(name) or arrow_type(kind))
        for name, kind in columns.items()
    ]
    arrays = [
        pa.array([_pairs(row.get(one.name), one.type) for row in rows], _stored(one.type))
        for one in fields
    ]
    arrays = [array.cast(one.type) for array, one in zip(arrays, fields, strict=True)]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def arrow_type(kind: str) -> pa.DataType:
    """The usual Arrow type of a case's type."""
    if kind.startswith("decimal"):
        precision, scale = kind[8:-1].split(",")
        return pa.decimal128(int(precision), int(scale))
    if not kind.endswith(">"):
        if kind not in _ARROW:
            raise UsageError(f"unknown column type {kind!r} in a case")
        return _ARROW[kind]
    head, _, inner = kind[:-1].partition("<")
    if head == "array":
        return pa.list_(arrow_type(inner))
    parts = parts_of(inner)
    if head == "map":
        return pa.map_(arrow_type(parts[0]), arrow_type(parts[1]))
    named = [part.partition(":") for part in parts]
    return pa.struct([pa.field(name, arrow_type(of)) for name, _, of in named])


_Leaf = tuple[tuple[str, ...], pa.ChunkedArray]
"""Names from a column down to a field, and its values."""


def leaves(table: pa.Table) -> Iterator[_Leaf]:
    """Columns, and in place of structs their fields, null where these are; lists are leaves."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        yield from _below((name,), column)


def _below(path: tuple[str, ...], column: pa.ChunkedArray) -> Iterator[_Leaf]:
    if not pa.types.is_struct(column.type):
        yield path, column
        return
    for field, inner in zip(column.type, column.flatten(), strict=True):
        yield from _below((*path, field.name), inner)


def _stored(kind: pa.DataType) -> pa.DataType:
    """A type with bytes for UUIDs, which Arrow does not make of lists of them."""
    if isinstance(kind, pa.BaseExtensionType):
        return kind.storage_type
    return pa.list_(_stored(kind.value_type)) if pa.types.is_list(kind) else kind


def _pairs(value: Any, kind: pa.DataType) -> Any:
    """A value as Arrow takes it: entries of a map, a dictionary or pairs, are pairs."""
    if value is None:
        return None
    if pa.types.is_map(kind):
        return [(name, _pairs(inner, kind.item_type)) for name, inner in dict(value).items()]
    if pa.types.is_list(kind):
        return [_pairs(item, kind.value_type) for item in value]
    if pa.types.is_struct(kind):
        return {one.name: _pairs(value.get(one.name), one.type) for one in kind}
    return value.bytes if isinstance(value, uuid.UUID) else value
