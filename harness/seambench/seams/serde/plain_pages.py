"""A plain writer of pages: every column flat, flags exactly where a null is. A witness, not fast.

For Presto it gives what the format leads to when nothing is chosen (Presto 0.296, the block
encodings of com.facebook.presto.common.block), for Velox what its PrestoSerializer writes with
`nullsFirst`, `useMicrosecondPrecision` and `useLosslessTimestamp` (August 2026).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from seambase.pages.flat_encodings import FLAT, SHORT_DECIMAL, encoding_of
from seambase.pages.reader import PageOptions
from seambase.types import SerdeType

_CANONICAL_NAN = struct.pack("<Q", 0x7FF8000000000000)


def payload_of(
    columns: Sequence[Sequence[Any]], types: Sequence[SerdeType], options: PageOptions
) -> bytes:
    """The payload of a page: plain values by column, turned into bytes without compression."""
    parts = [_i32(len(types))]
    parts += [_column(values, type_, options) for values, type_ in zip(columns, types, strict=True)]
    return b"".join(parts)


def _i32(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}i", *numbers)


def _name(encoding: str) -> bytes:
    return _i32(len(encoding)) + encoding.encode()


def _flags(values: Sequence[Any]) -> bytes:
    """The has-nulls byte and what follows it."""
    if None not in values:
        return b"\0"
    bits = bytearray((len(values) + 7) // 8)
    for row, value in enumerate(values):
        if value is None:
            bits[row >> 3] |= 0x80 >> (row & 7)
    return b"\1" + bytes(bits)


def _column(values: Sequence[Any], type_: SerdeType, options: PageOptions) -> bytes:
    kind = type_.kind
    if kind in ("array", "map"):
        return _lists(values, type_, options)
    if kind == "row":
        return _rows(values, type_, options)
    present = [value for value in values if value is not None]
    encoding = encoding_of(type_)
    if encoding != "VARIABLE_WIDTH":
        raw = b"".join(_fixed(value, type_, options) for value in present)
        return _name(encoding) + _i32(len(values)) + _flags(values) + raw
    texts = [_text(value) if value is not None else b"" for value in values]
    ends = accumulate(map(len, texts))
    data = b"".join(texts)
    head = _name(encoding) + _i32(len(values), *ends) + _flags(values)
    return head + _i32(len(data)) + data


def _fixed(value: Any, type_: SerdeType, options: PageOptions) -> bytes:
    if type_.kind == "decimal":
        return _decimal(value, type_)
    if isinstance(value, bytes):
        return value
    if type_.kind == "timestamp" and options.timestamps == "lossless":
        return struct.pack("<qQ", *divmod(value, 1_000_000_000))
    if type_.kind == "double" and math.isnan(value):
        return _CANONICAL_NAN
    return struct.pack(f"<{FLAT[type_.kind][1]}", value)


def _decimal(value: Any, type_: SerdeType) -> bytes:
    """Two's complement in 8 bytes, or sign and magnitude in 16."""
    sign, digits, _ = value.as_tuple()
    magnitude = int("".join(map(str, digits)))
    if type_.precision <= SHORT_DECIMAL:
        return struct.pack("<q", -magnitude if sign else magnitude)
    return (magnitude | (bool(sign and magnitude) << 127)).to_bytes(16, "little")


def _text(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


def _lists(values: Sequence[Any], type_: SerdeType, options: PageOptions) -> bytes:
    """ARRAY and MAP: children first, then offsets with a leading 0."""
    items = [item for value in values if value is not None for item in value]
    ends = accumulate((len(value or ()) for value in values), initial=0)
    tail = _i32(len(values), *ends) + _flags(values)
    if type_.kind == "array":
        return _name("ARRAY") + _column(items, type_.children[0], options) + tail
    keys = _column([key for key, _ in items], type_.children[0], options)
    entries = _column([item for _, item in items], type_.children[1], options)
    return _name("MAP") + keys + entries + _i32(-1) + tail


def _rows(values: Sequence[Any], type_: SerdeType, options: PageOptions) -> bytes:
    """ROW: fields hold the rows that are not null."""
    present = [value for value in values if value is not None]
    fields = [
        _column([row[at] for row in present], child, options)
        for at, child in enumerate(type_.children)
    ]
    body = _i32(len(fields)) + b"".join(fields)
    if options.nulls_first:
        return _name("ROW") + _i32(len(values)) + _flags(values) + body
    offsets = accumulate((int(value is not None) for value in values), initial=0)
    return _name("ROW") + body + _i32(len(values), *offsets) + _flags(values)
