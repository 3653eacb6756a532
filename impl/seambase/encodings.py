"""Arrow types without encodings (dictionaries, runs, views), and as Spark's readers show them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from seambase.errors import RefusedError


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The schema that is left when dictionaries, runs and views are resolved, at any depth."""
    fields = [field.with_type(plain_type(field.type)) for field in schema]
    return pa.schema(fields, metadata=schema.metadata)


def plain_type(data_type: Any) -> Any:
    """The type that is left when dictionaries, runs and views are resolved, at any depth."""
    return made_anew(data_type, _resolved)


def _resolved(kind: pa.DataType) -> pa.DataType:
    return viewless(entries_of(kind))


def entries_of(kind: Any) -> Any:
    """The type of the entries of a dictionary, or of the values of runs; others as they are."""
    is_encoded = pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind)
    return entries_of(kind.value_type) if is_encoded else kind


def viewless(kind: pa.DataType) -> pa.DataType:
    """The type that has the values of views; others as they are."""
    wide = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    return wide.get(kind, kind)


def made_anew(kind: pa.DataType, turn: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """What `turn` makes of a type, and of each type within that, from the outermost inwards.

    Fields keep their names, nulls and metadata, lists their width or their size.
    """

    def inner(field: pa.Field) -> pa.Field:
        return field.with_type(made_anew(field.type, turn))

    kind = turn(kind)
    if pa.types.is_struct(kind):
        return pa.struct([inner(field) for field in kind])
    if pa.types.is_map(kind):
        key, item = inner(kind.key_field), inner(kind.item_field)
        return pa.map_(key, item, keys_sorted=kind.keys_sorted)
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(inner(kind.value_field), kind.list_size)
    for is_list, make in _LISTS:
        if is_list(kind):
            return make(inner(kind.value_field))
    return kind


_LISTS = (
    (pa.types.is_list, pa.list_),
    (pa.types.is_large_list, pa.large_list),
    (pa.types.is_list_view, pa.list_view),
    (pa.types.is_large_list_view, pa.large_list_view),
)


def spark_type(kind: pa.DataType, name: str) -> pa.DataType:
    """The Arrow type in which Spark takes a column of another.

    Times of day become integers, fixed binaries binaries, milliseconds microseconds. Nanoseconds
    and UUIDs are refused.
    """
    if pa.types.is_time32(kind):
        return pa.int32()
    if pa.types.is_time64(kind) and kind.unit == "us":
        return pa.int64()
    if pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    if pa.types.is_timestamp(kind) and kind.unit in ("s", "ms"):
        return pa.timestamp("us", kind.tz)
    if pa.types.is_struct(kind):
        return pa.struct([f.with_type(spark_type(f.type, f"{name}.{f.name}")) for f in kind])
    if pa.types.is_map(kind):
        value = spark_type(kind.item_type, f"{name}.value")
        return pa.map_(spark_type(kind.key_type, f"{name}.key"), value)
    if pa.types.is_list(kind):
        return pa.list_(spark_type(kind.value_type, f"{name}.element"))
    if (pa.types.is_timestamp(kind) and kind.unit == "ns") or pa.types.is_time(kind):
        raise RefusedError(f"column '{name}' is {kind}: Spark has no nanoseconds; leave it out")
    if isinstance(kind, pa.BaseExtensionType):
        raise RefusedError(f"column '{name}' is {kind}, which Spark does not have; leave it out")
    return kind
