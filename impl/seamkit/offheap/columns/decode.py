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
from collections.abc import Collection, Iterator, Sequence
from typing import Literal, NamedTuple

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
#: Kinds whose values are formatted texts in the text form.
TEXTS = tuple(kind for kind in Kind if kind is Kind.DATE or kind.is_datetime or kind.is_decimal)


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
