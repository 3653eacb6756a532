"""OffsetIndex and ColumnIndex of a column chunk: its pages, and what they say of its values.

The layout is that of Parquet's own specification (PageIndex.md). An index that contradicts itself,
its footer or its file is refused: what it rules out could be rows that are there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from seambase.errors import InputError
from seamkit.core._seam import ffi, lib
from seamkit.core.errors import check, new_error
from seamkit.files.pages.places import Place

__all__ = ["Integers", "PageBounds", "Pages", "Read", "read_bounds", "read_pages"]

Integers = npt.NDArray[np.int64]

Read = Callable[[int, int], bytes]
"""Gives so many bytes of the file from an offset on, or as many as there are."""

_MOST_BYTES = 64 << 20  # of an index: a million pages


@dataclass(frozen=True)
class Pages:
    """The data pages of a column chunk without nesting.

    Attributes:
        offsets: of their headers in the file.
        sizes: in bytes, with the headers.
        first_rows: in the row group, and behind them its number of rows.
    """

    offsets: Integers
    sizes: Integers
    first_rows: Integers

    def __len__(self) -> int:
        return len(self.offsets)


@dataclass(frozen=True)
class PageBounds:
    """What is known of the values of each page, in Parquet's plain encoding.

    Attributes:
        least: no value is less.
        greatest: no value is greater.
        nulls: how many values are null; -1 where nobody knows.
        is_null: whether all are; then the bounds are nothing.
    """

    least: Sequence[bytes]
    greatest: Sequence[bytes]
    nulls: Sequence[int]
    is_null: Sequence[bool]


def read_pages(read: Read, place: Place, chunk: tuple[int, int], rows: int, where: str) -> Pages:
    """An OffsetIndex.

    Args:
        read: gives bytes of the file.
        place: of the index.
        chunk: where its column chunk begins and ends.
        rows: of the row group.
        where: file, row group and column, for messages.

    Raises:
        InputError: it is broken, or contradicts the footer.
    """
    data = _index_bytes(read, place, f"{where}: offset index")
    found = ffi.new("struct seam_parquet_page[]", len(data) // lib.SEAM_PARQUET_PAGE_BYTES + 1)
    count, error = ffi.new("int64_t *"), new_error()
    code = lib.seam_parquet_offset_index(
        ffi.from_buffer("uint8_t[]", data), len(data), *chunk, rows, found, count, error
    )
    _check(code, error, place, where)
    raw = np.frombuffer(ffi.buffer(found, ffi.sizeof("struct seam_parquet_page") * count[0]), "i8")
    offsets, sizes, first_rows = raw.reshape(-1, 3).T
    return Pages(offsets.copy(), sizes.copy(), np.append(first_rows, rows))


def read_bounds(read: Read, place: Place, pages: Pages, where: str) -> PageBounds:
    """A ColumnIndex.

    Args:
        read: gives bytes of the file.
        place: of the index.
        pages: those that it tells of.
        where: file, row group and column, for messages.

    Raises:
        InputError: it is broken, or contradicts the pages.
    """
    data = _index_bytes(read, place, f"{where}: column index")
    found = ffi.new("struct seam_parquet_bounds[]", len(pages))
    error = new_error()
    code = lib.seam_parquet_column_index(
        ffi.from_buffer("uint8_t[]", data), len(data), len(pages), found, error
    )
    _check(code, error, place, where)
    bounds = PageBounds(
        [_text(data, one.least) for one in found],
        [_text(data, one.greatest) for one in found],
        [one.nulls for one in found],
        [bool(one.is_null) for one in found],
    )
    rows = np.diff(pages.first_rows).tolist()
    for number, (nulls, is_null) in enumerate(zip(bounds.nulls, bounds.is_null, strict=True)):
        if nulls > rows[number] or (is_null and nulls not in (-1, rows[number])):
            raise InputError(
                f"{where}: column index: null_counts: {nulls} of the {rows[number]} rows of page "
                f"{number}, of which null_pages says that {'all' if is_null else 'not all'} are "
                f"(at byte {place[0]})"
            )
    return bounds


def _text(data: bytes, place: Any) -> bytes:
    return data[place.offset : place.offset + place.size_bytes]


def _index_bytes(read: Read, place: Place, what: str) -> bytes:
    """The bytes of an index.

    Raises:
        InputError: they are not in the file.
    """
    offset, size = place
    if offset < 0 or not 0 < size <= _MOST_BYTES:
        raise InputError(f"{what}: its place is byte {offset}, its length {size}")
    data = read(offset, size)
    if len(data) < size:
        raise InputError(f"{what}: it has {len(data)} of {size} bytes (at byte {offset})")
    return data


def _check(code: int, error: Any, place: Place, where: str) -> None:
    if error.offset >= 0:
        error.offset += place[0]
    check(code, error, source=where)
