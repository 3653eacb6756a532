"""Arrow types without encodings (dictionaries, runs, views), and as Spark's readers show them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from seambase.errors import RefusedError


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The schema that is left when dictionaries, runs and views are resolved, at any depth."""
    fields = [field.with_type(plain_type(field.type)) for field in schema]
    return pa.schema(fields, metadata=schema.metadata)


def plain_type(data_type: Any) -> Any:
    """The type that is left when dictionaries, runs and views are resolved, at any depth."""
    kinds = pa.types
    if kinds.is_string_view(data_type):
        return pa.large_string()
    if kinds.is_binary_view(data_type):
        return pa.large_binary()
    if kinds.is_dictionary(data_type) or kinds.is_run_end_encoded(data_type):
        return plain_type(data_type.value_type)
    if kinds.is_list(data_type):
        return pa.list_(data_type.value_field.with_type(plain_type(data_type.value_type)))
    if kinds.is_large_list(data_type):
        return pa.large_list(data_type.value_field.with_type(plain_type(data_type.value_type)))
    if kinds.is_map(data_type):
        item = data_type.item_field.with_type(plain_type(data_type.item_type))
        return pa.map_(plain_type(data_type.key_type), item, keys_sorted=data_type.keys_sorted)
    if kinds.is_struct(data_type):
        return pa.struct([part.with_type(plain_type(part.type)) for part in data_type])
    return data_type


def spark_type(kind: pa.DataType, name: str) -> pa.DataType:
    """The Arrow type in which Spark takes a column of another.

    Times of day become integers, fixed binaries binaries, milliseconds microseconds. Nanoseconds
    are refused.
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
    return kind
