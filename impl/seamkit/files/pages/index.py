"""Where a file keeps the indexes of its pages, and what they say: OffsetIndex and ColumnIndex.

pyarrow does not tell where they lie. The layout is that of Parquet's own specification
(PageIndex.md). An index that contradicts itself, its footer or its file is refused: what it rules
out could be rows that are there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from seambase.errors import InputError
from seambase.wording import counted
from seamkit.core._seam import ffi, lib
from seamkit.core.border import call
from seamkit.files.footers.chunks import footer_bytes

Integers = npt.NDArray[np.int64]

Read = Callable[[int, int], bytes]
"""Gives so many bytes of the file from an offset on, or as many as there are."""

_MOST_BYTES = 64 << 20  # of an index: a million pages


@dataclass(frozen=True)
class Pages:
    """The data pages of a column chunk without nesting."""

    offsets: Integers  # of their headers in the file
    sizes: Integers  # in bytes, with the headers
    first_rows: Integers  # in the row group, and behind them its number of rows

    def __len__(self) -> int:
        return len(self.offsets)


@dataclass(frozen=True)
class PageBounds:
    """What is known of the values of each page, in Parquet's plain encoding."""

    least: Sequence[bytes]  # no value is less
    greatest: Sequence[bytes]  # no value is greater
    nulls: Sequence[int]  # how many values are null; -1 where nobody knows
    is_null: Sequence[bool]  # whether all are; then the bounds are nothing


def read_pages(read: Read, place: Place, chunk: tuple[int, int], rows: int, where: str) -> Pages:
    """An OffsetIndex of a column chunk that begins and ends at two places."""
    data = _index_bytes(read, place, f"{where}: offset index")
    pages = ffi.new("struct seam_parquet_page[]", len(data) // lib.SEAM_PARQUET_PAGE_BYTES + 1)
    count = ffi.new("int64_t *")
    given = ffi.from_buffer("uint8_t[]", data), len(data), *chunk, rows, pages, count
    call(lib.seam_parquet_offset_index, *given, source=where, begin=place[0])
    raw = np.frombuffer(ffi.buffer(pages, ffi.sizeof("struct seam_parquet_page") * count[0]), "i8")
    offsets, sizes, first_rows = raw.reshape(-1, 3).T
    return Pages(offsets.copy(), sizes.copy(), np.append(first_rows, rows))


def read_bounds(read: Read, place: Place, pages: Pages, where: str) -> PageBounds:
    """A ColumnIndex of these pages."""
    data = _index_bytes(read, place, f"{where}: column index")
    stated = ffi.new("struct seam_parquet_bounds[]", len(pages))
    given = ffi.from_buffer("uint8_t[]", data), len(data), len(pages), stated
    call(lib.seam_parquet_column_index, *given, source=where, begin=place[0])
    bounds = PageBounds(
        [_text(data, one.least) for one in stated],
        [_text(data, one.greatest) for one in stated],
        [one.nulls for one in stated],
        [bool(one.is_null) for one in stated],
    )
    rows = np.diff(pages.first_rows).tolist()
    for number, (nulls, is_null) in enumerate(zip(bounds.nulls, bounds.is_null, strict=True)):
        if nulls > rows[number] or (is_null and nulls not in (-1, rows[number])):
            raise InputError(
                f"{where}: column index: null_counts: {nulls} of the "
                f"{counted(rows[number], 'row')} of page {number}, of which null_pages says that "
                f"{'all' if is_null else 'not all'} are (at byte {place[0]})"
            )
    return bounds


def _text(data: bytes, place: Any) -> bytes:
    return data[place.offset : place.offset + place.size_bytes]


def _index_bytes(read: Read, place: Place, what: str) -> bytes:
    offset, size = place
    if offset < 0 or not 0 < size <= _MOST_BYTES:
        raise InputError(f"{what}: its place is byte {offset}, its length {size}")
    data = read(offset, size)
    if len(data) < size:
        raise InputError(
            f"{what}: it has {len(data)} of {counted(size, 'byte')} (at byte {offset})"
        )
    return data


_BYTES_A_CHUNK = 200

Place = tuple[int, int]
"""Offset in the file, and length in bytes, which is 0 where there is nothing."""


@dataclass(frozen=True, slots=True)
class ChunkPlaces:
    """What a footer says of a column chunk beyond what pyarrow shows."""

    offset_index: Place  # where it lies
    column_index: Place  # where it lies
    codec: int  # number of its codec in parquet.thrift; -1 where it is missing


@dataclass(frozen=True)
class FilePlaces:
    """The same of a file."""

    elements: Sequence[bytes]  # of each leaf of the schema its SchemaElement as the footer has it
    groups: Sequence[Sequence[ChunkPlaces]]  # of each row group its column chunks
    has_arrow: bool  # whether the file has Arrow's own schema
    size_bytes: int  # about what this takes in memory


def find_places(source: pa.NativeFile, footer: pq.FileMetaData, where: str) -> FilePlaces:
    """Look through a footer once more for the places of indexes."""
    begin, body = footer_bytes(source)
    n_groups, n_leaves = footer.num_row_groups, footer.num_columns
    leaves = ffi.new("struct seam_parquet_place[]", max(n_leaves, 1))
    chunks = ffi.new("struct seam_parquet_chunk[]", max(n_groups * n_leaves, 1))
    given = ffi.from_buffer("uint8_t[]", body), len(body), n_groups, n_leaves, leaves, chunks
    call(lib.seam_parquet_find_indexes, *given, source=where, begin=begin)
    data = memoryview(body)
    elements = [bytes(data[at.offset : at.offset + at.size_bytes]) for at in leaves[0:n_leaves]]
    groups = [
        [_chunk_places(one) for one in chunks[group * n_leaves : (group + 1) * n_leaves]]
        for group in range(n_groups)
    ]
    taken = sum(map(len, elements)) + _BYTES_A_CHUNK * n_groups * n_leaves
    return FilePlaces(elements, groups, b"ARROW:schema" in (footer.metadata or {}), taken)


def _chunk_places(chunk: Any) -> ChunkPlaces:
    offsets, bounds = chunk.offset_index, chunk.column_index
    return ChunkPlaces(
        (offsets.offset, offsets.size_bytes), (bounds.offset, bounds.size_bytes), chunk.codec
    )
