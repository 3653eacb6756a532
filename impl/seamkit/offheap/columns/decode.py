"""What a meta chain means, in plain Python: slow, and easy to compare with the format's rules.

Nothing of the core is used. Whoever wonders how the chain is laid out reads this file. The rules
are those of StarRocks' JNI connector (`OffHeapColumnVector`, commit 37c7c51e): the first word is
the number of rows; then each column has a word for its null flags and, by its kind,

- fixed width: a word for the values;
- string, binary: one for the offsets, one for the bytes;
- array, map: one for the offsets, then the words of the children, whose rows the last offset tells;
- struct, variant: the words of the children, which have as many rows;
- unknown: no word but a single 0 in the place of the null flags.

In the text form (`as_text`), which StarRocks had before 2024, dates, datetimes and decimals are
laid out as strings are.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import partial
from itertools import chain, pairwise
from typing import Any, Literal, NamedTuple

from seamkit.offheap.columns.types import ColumnType, Kind

#: Bytes per value of the kinds with fixed width.
WIDTHS = {
    Kind.BYTE: 1,
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
    Kind.DECIMALV2: 16,
    Kind.DECIMAL32: 4,
    Kind.DECIMAL64: 8,
    Kind.DECIMAL128: 16,
}
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
#: Kinds whose values are formatted texts in the text form.
TEXTS = tuple(kind for kind in Kind if kind is Kind.DATE or kind.is_datetime or kind.is_decimal)
#: The Julian day of 1970-01-01 and that day as Python counts (0001-01-01 is 1).
JULIAN_EPOCH = 2440588


class Slot(NamedTuple):
    """One word of a chain and a copy of what it points at.

    Attributes:
        kind: what it points at; `unknown` for a word of 0.
        column: number of the column it belongs to.
        content: the bytes in use; None for a word of 0.
        path: names of the children on the way to it, from the column down.
    """

    kind: Literal["nulls", "data", "offsets", "bytes", "unknown"]
    column: int
    content: bytes | None
    path: tuple[str, ...] = ()


def _copy(address: int, size_bytes: int) -> bytes:
    return ctypes.string_at(address, size_bytes)


def slots(
    address: int, types: Sequence[ColumnType], *, as_text: bool = False
) -> tuple[int, list[Slot]]:
    """Follow a chain word by word: its number of rows, and every word after it with its content.

    The address is trusted: a chain carries no sizes. Types are in the chain's order.
    """
    words = _words(address)
    rows = next(words)
    runs = {Kind.STRING, Kind.BINARY, *(TEXTS if as_text else ())}
    found: list[Slot] = []
    for index, column in enumerate(types):
        found.extend(_slots(words, rows, column, index, (), runs))
    return rows, found


def _words(address: int) -> Iterator[int]:
    while True:
        yield int(ctypes.c_int64.from_address(address).value)
        address += 8


def _slots(
    words: Iterator[int],
    rows: int,
    column: ColumnType,
    index: int,
    path: tuple[str, ...],
    runs: Collection[Kind],
) -> Iterator[Slot]:
    nulls = next(words)
    if nulls == 0:  # the file lacks the column: this word stands for all of it
        yield Slot("unknown", index, None, path)
        return
    yield Slot("nulls", index, _copy(nulls, rows), path)
    kind = column.kind
    if kind in WIDTHS and kind not in runs:
        yield Slot("data", index, _copy(next(words), rows * WIDTHS[kind]), path)
    elif kind in runs or kind in (Kind.ARRAY, Kind.MAP):
        offsets = _copy(next(words), 4 * (rows + 1))
        yield Slot("offsets", index, offsets, path)
        rows = struct.unpack_from("<i", offsets, 4 * rows)[0]  # of the children, or bytes
        if not column.kind.is_nested:
            yield Slot("bytes", index, _copy(next(words), rows), path)
    for name, child in zip(column.names, column.children, strict=True):
        yield from _slots(words, rows, child, index, (*path, name), runs)


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
