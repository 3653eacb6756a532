"""Arrow types as Spark's own readers show them."""

from __future__ import annotations

import pyarrow as pa

from seambase.errors import RefusedError


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
