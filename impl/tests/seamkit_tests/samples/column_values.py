"""What the slots of a meta chain hold, as Python values; it uses nothing of the core."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import partial
from itertools import chain, pairwise
from typing import Any

from seamkit.offheap.columns.decode import WIDTHS, Slot
from seamkit.offheap.columns.types import ColumnType, Kind

_FORMATS = {
    Kind.BYTE: "<b",
    Kind.BOOLEAN: "<?",
    Kind.TINYINT: "<b",
    Kind.SHORT: "<h",
    Kind.INT: "<i",
    Kind.LONG: "<q",
    Kind.FLOAT: "<f",
    Kind.DOUBLE: "<d",
    Kind.TIME: "<d",
}
#: The Julian day of 1970-01-01 and that day as Python counts (0001-01-01 is 1).
JULIAN_EPOCH = 2440588


def column_values(rows: int, column: ColumnType, parts: Iterable[Slot]) -> list[Any]:
    """The Python values of one column (None for NULL), from its slots in order.

    A list is a list, a map a list of pairs in which None stands for a half that was not asked for,
    a struct or variant a dict.
    """
    return _values(rows, column, iter(parts))


def _values(rows: int, column: ColumnType, parts: Iterator[Slot]) -> list[Any]:
    nulls = next(parts).content
    if nulls is None:
        return [None] * rows
    read = _READERS.get(column.kind, _fixed)
    found = read(rows, column, parts)
    return [None if null else value() for null, value in zip(nulls, found, strict=True)]


#: A row's value, worked out if the row is not NULL.
_Value = Callable[[], Any]


def _spans(parts: Iterator[Slot], rows: int) -> list[tuple[int, int]]:
    offsets = next(parts).content or b""
    return list(pairwise(struct.unpack(f"<{rows + 1}i", offsets)))


def _fixed(rows: int, column: ColumnType, parts: Iterator[Slot]) -> Iterator[_Value]:
    first = next(parts)
    if first.kind == "offsets":
        for text in _strings(rows, ColumnType(Kind.STRING), chain([first], parts)):
            yield partial(_of_text, column.kind, text)
        return
    data = first.content or b""
    width = WIDTHS[column.kind]
    for start in range(0, rows * width, width):
        yield partial(_number, column, data[start : start + width])


def _strings(rows: int, column: ColumnType, parts: Iterator[Slot]) -> Iterator[_Value]:
    spans = _spans(parts, rows)
    content = next(parts).content or b""
    for start, end in spans:
        piece = content[start:end]
        yield piece.decode if column.kind is Kind.STRING else partial(bytes, piece)


def _lists(rows: int, column: ColumnType, parts: Iterator[Slot]) -> Iterator[_Value]:
    spans = _spans(parts, rows)
    elements = _values(spans[-1][1] if spans else 0, column.children[0], parts)
    for start, end in spans:
        yield partial(elements.__getitem__, slice(start, end))


def _maps(rows: int, column: ColumnType, parts: Iterator[Slot]) -> Iterator[_Value]:
    spans = _spans(parts, rows)
    total = spans[-1][1] if spans else 0
    halves: dict[str, list[Any]] = {"$0": [None] * total, "$1": [None] * total}
    for name, child in zip(column.names, column.children, strict=True):
        halves[name] = _values(total, child, parts)
    entries = list(zip(halves["$0"], halves["$1"], strict=True))
    for start, end in spans:
        yield partial(entries.__getitem__, slice(start, end))


def _structs(rows: int, column: ColumnType, parts: Iterator[Slot]) -> Iterator[_Value]:
    fields = [_values(rows, child, parts) for child in column.children]
    for row in zip(*fields, strict=True):
        yield partial(_named, column.names, row)


def _named(names: tuple[str, ...], row: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(names, row, strict=True))


_READERS: dict[Kind, Callable[[int, ColumnType, Iterator[Slot]], Iterator[_Value]]] = {
    Kind.STRING: _strings,
    Kind.BINARY: _strings,
    Kind.ARRAY: _lists,
    Kind.MAP: _maps,
    Kind.STRUCT: _structs,
    Kind.VARIANT: _structs,
}


def _of_text(kind: Kind, text: _Value) -> Any:
    if kind.is_decimal:
        return Decimal(text())
    return date.fromisoformat(text()) if kind is Kind.DATE else datetime.fromisoformat(text())


def _number(column: ColumnType, piece: bytes) -> Any:
    kind = column.kind
    if kind in _FORMATS:
        return struct.unpack(_FORMATS[kind], piece)[0]
    number = int.from_bytes(piece, "little", signed=True)
    if kind.is_decimal:
        return Decimal((number < 0, [int(digit) for digit in str(abs(number))], -column.scale))
    if kind is Kind.DATE:
        return date(1970, 1, 1) + timedelta(days=number - JULIAN_EPOCH)
    days, micros = (number >> 40) - JULIAN_EPOCH, number & ((1 << 40) - 1)
    return datetime(1970, 1, 1) + timedelta(days=days, microseconds=micros)
