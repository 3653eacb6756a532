"""What a meta chain means, in plain Python: slow, and easy to compare with the format's rules.

Nothing of the core is used. Whoever wonders how the chain is laid out reads this file.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from seambench_impl.columns.types import ColumnType, Kind

__all__ = ["Slot", "column_values", "slots"]

#: Bytes per value of the kinds with fixed width.
WIDTHS = {
    Kind.BOOLEAN: 1,
    Kind.TINYINT: 1,
    Kind.SHORT: 2,
    Kind.INT: 4,
    Kind.LONG: 8,
    Kind.FLOAT: 4,
    Kind.DOUBLE: 8,
    Kind.DATE: 4,
    Kind.TIME: 8,
    Kind.DATETIME: 8,
    Kind.DATETIME_MICROS: 8,
    Kind.DATETIME_MILLIS: 8,
    Kind.DECIMAL32: 4,
    Kind.DECIMAL64: 8,
    Kind.DECIMAL128: 16,
}
_FORMATS = {
    Kind.BOOLEAN: "<?",
    Kind.TINYINT: "<b",
    Kind.SHORT: "<h",
    Kind.INT: "<i",
    Kind.LONG: "<q",
    Kind.FLOAT: "<f",
    Kind.DOUBLE: "<d",
}
#: The Julian day of 1970-01-01 and that day as Python counts (0001-01-01 is 1).
JULIAN_EPOCH = 2440588


class Slot(NamedTuple):
    """One word of a chain and a copy of what it points at (None for a word of 0)."""

    kind: Literal["nulls", "data", "offsets", "bytes", "unknown"]
    column: int
    content: bytes | None


def _word(address: int, index: int) -> int:
    return int(ctypes.c_int64.from_address(address + 8 * index).value)


def _copy(address: int, size_bytes: int) -> bytes:
    return ctypes.string_at(address, size_bytes)


def slots(address: int, types: Sequence[ColumnType]) -> tuple[int, list[Slot]]:
    """Follow a chain word by word.

    Args:
        address: of the chain's words. It is trusted: a chain carries no sizes.
        types: of the columns, in the chain's order.

    Returns:
        The number of rows, and every word after it with its content.
    """
    rows = _word(address, 0)
    position = 1
    found: list[Slot] = []
    for index, column in enumerate(types):
        nulls = _word(address, position)
        position += 1
        if nulls == 0:  # the file lacks the column: this word stands for all of it
            found.append(Slot("unknown", index, None))
            continue
        found.append(Slot("nulls", index, _copy(nulls, rows)))
        if column.kind.has_offsets:
            offsets = _copy(_word(address, position), 4 * (rows + 1))
            total = struct.unpack_from("<i", offsets, 4 * rows)[0]
            found.append(Slot("offsets", index, offsets))
            found.append(Slot("bytes", index, _copy(_word(address, position + 1), total)))
            position += 2
        else:
            size_bytes = rows * WIDTHS[column.kind]
            found.append(Slot("data", index, _copy(_word(address, position), size_bytes)))
            position += 1
    return rows, found


def column_values(rows: int, column: ColumnType, parts: Sequence[Slot]) -> list[Any]:
    """The Python values of one column, from its slots in order (None for NULL)."""
    if parts[0].kind == "unknown":
        return [None] * rows
    contents = [part.content or b"" for part in parts]
    nulls = contents[0]
    pieces = _strings(*contents[1:]) if column.kind.has_offsets else _fixed(column, contents[1])
    return [
        None if nulls[row] else _value(column, piece)
        for row, piece in zip(range(rows), pieces, strict=True)
    ]


def _strings(offsets: bytes, content: bytes) -> Iterator[bytes]:
    ends = struct.unpack(f"<{len(offsets) // 4}i", offsets)
    for start, end in pairwise(ends):
        yield content[start:end]


def _fixed(column: ColumnType, data: bytes) -> Iterator[bytes]:
    width = WIDTHS[column.kind]
    for start in range(0, len(data), width):
        yield data[start : start + width]


def _value(column: ColumnType, piece: bytes) -> Any:
    kind = column.kind
    if kind in _FORMATS:
        return struct.unpack(_FORMATS[kind], piece)[0]
    if kind is Kind.STRING:
        return piece.decode("utf-8")
    if kind is Kind.BINARY:
        return piece
    if kind is Kind.TIME:
        return struct.unpack("<d", piece)[0]
    number = int.from_bytes(piece, "little", signed=True)
    if kind.is_decimal:
        return Decimal((number < 0, [int(digit) for digit in str(abs(number))], -column.scale))
    if kind is Kind.DATE:
        return date(1970, 1, 1) + timedelta(days=number - JULIAN_EPOCH)
    days, micros = (number >> 40) - JULIAN_EPOCH, number & ((1 << 40) - 1)
    return datetime(1970, 1, 1) + timedelta(days=days, microseconds=micros)
