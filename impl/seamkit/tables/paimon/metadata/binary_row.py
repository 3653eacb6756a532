"""Paimon's binary rows, as which manifests keep partitions, smallest and largest keys.

In a manifest a row has its number of fields in front (int32, big-endian). Then come a byte for the
row's kind, a bit for each field that is null, both together rounded up to eight bytes; a slot of
eight bytes for each field; and what does not fit into a slot. All of it is little-endian. A slot of
a variable-length value holds either up to seven bytes and their number, or offset and length.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from decimal import Context, Decimal

import pyarrow as pa

from seambase.errors import InputError

_HEADER_BITS = 8
_COMPACT_DIGITS = 18
_DIGITS = Context(prec=77)
_IN_SLOT = 0x80
_NUMBERS = {
    "int8": "<b",
    "int16": "<h",
    "int32": "<i",
    "int64": "<q",
    "float": "<f",
    "double": "<d",
}


def row_values(data: bytes, types: Sequence[pa.DataType], where: str) -> list[pa.Scalar]:
    """The fields of a row.

    Args:
        data: with the number of fields in front.
        types: of the fields.
        where: what messages call the row.
    """
    fixed = ((len(types) + _HEADER_BITS + 63) // 64) * 8
    if len(data) < 4 + fixed + 8 * len(types):
        raise InputError(
            f"{where}: a row of {len(data)} bytes is too short for {len(types)} fields"
        )
    if struct.unpack_from(">i", data)[0] != len(types):
        count = struct.unpack_from(">i", data)[0]
        raise InputError(f"{where}: a row has {count} fields, {len(types)} are meant")
    row = data[4:]
    values = []
    for i, kind in enumerate(types):
        bit = i + _HEADER_BITS
        if row[bit // 8] >> (bit % 8) & 1:
            values.append(pa.scalar(None, kind))
            continue
        try:
            values.append(_value(row, fixed + 8 * i, kind))
        except (ValueError, struct.error, OverflowError, pa.ArrowException) as error:
            raise InputError(f"{where}: field {i} of a row is no {kind} ({error})") from error
    return values


def _value(row: bytes, at: int, kind: pa.DataType) -> pa.Scalar:
    name = str(kind)
    if name in _NUMBERS:
        return pa.scalar(struct.unpack_from(_NUMBERS[name], row, at)[0], kind)
    if pa.types.is_boolean(kind):
        return pa.scalar(row[at] != 0, kind)
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return pa.scalar(struct.unpack_from("<i", row, at)[0], pa.int32()).cast(kind)
    if pa.types.is_string(kind):
        return pa.scalar(_bytes(row, at).decode("utf-8"), kind)
    if pa.types.is_binary(kind):
        return pa.scalar(_bytes(row, at), kind)
    if pa.types.is_decimal(kind):
        if kind.precision <= _COMPACT_DIGITS:
            unscaled = struct.unpack_from("<q", row, at)[0]
        else:
            unscaled = int.from_bytes(_bytes(row, at), "big", signed=True)
        return pa.scalar(Decimal(unscaled).scaleb(-kind.scale, _DIGITS), kind)
    if pa.types.is_timestamp(kind):
        return pa.scalar(_ticks(row, at, kind.unit), pa.int64()).cast(kind)
    raise ValueError("a nested type is no value of a row here")


def _ticks(row: bytes, at: int, unit: str) -> int:
    """A timestamp: milliseconds in the slot, or there nanoseconds and where the former stand."""
    word = struct.unpack_from("<Q", row, at)[0]
    if unit == "ms":
        return int(struct.unpack_from("<q", row, at)[0])
    millis = struct.unpack_from("<q", row, word >> 32)[0]
    nanos = word & 0xFFFFFFFF
    per_milli = {"us": 1_000, "ns": 1_000_000}[unit]
    return int(millis * per_milli + nanos * per_milli // 1_000_000)


def _bytes(row: bytes, at: int) -> bytes:
    word = struct.unpack_from("<Q", row, at)[0]
    mark = word >> 56
    if mark & _IN_SLOT:
        size = mark & 0x7F
        if size > 7:
            raise ValueError(f"{size} bytes in a slot")
        return row[at : at + size]
    begin, size = word >> 32, word & 0xFFFFFFFF
    if begin + size > len(row):
        raise ValueError("its bytes lie outside of the row")
    return row[begin : begin + size]
