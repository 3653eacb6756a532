"""Where a file keeps the indexes of its pages, which pyarrow does not tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from seamkit.core._seam import ffi, lib
from seamkit.core.errors import check, new_error
from seamkit.files.footers.chunks import footer_bytes

__all__ = ["ChunkPlaces", "FilePlaces", "Place", "find_places"]

_BYTES_A_CHUNK = 200

Place = tuple[int, int]
"""Offset in the file, and length in bytes, which is 0 where there is nothing."""


@dataclass(frozen=True, slots=True)
class ChunkPlaces:
    """What a footer says of a column chunk beyond what pyarrow shows.

    Attributes:
        offset_index: where it lies.
        column_index: where it lies.
        codec: number of its codec in parquet.thrift; -1 where it is missing.
    """

    offset_index: Place
    column_index: Place
    codec: int


@dataclass(frozen=True)
class FilePlaces:
    """The same of a file.

    Attributes:
        elements: of each leaf of the schema its SchemaElement as the footer has it.
        groups: of each row group its column chunks.
        has_arrow: whether the file has Arrow's own schema.
        size_bytes: about what this takes in memory.
    """

    elements: Sequence[bytes]
    groups: Sequence[Sequence[ChunkPlaces]]
    has_arrow: bool
    size_bytes: int


def find_places(source: pa.NativeFile, footer: pq.FileMetaData, where: str) -> FilePlaces:
    """Look through a footer once more.

    Args:
        source: the file.
        footer: as pyarrow read it.
        where: what messages call the file.

    Raises:
        InputError: the footer is broken, or another one by now.
        OSError: the file cannot be read.
    """
    begin, body = footer_bytes(source)
    n_groups, n_leaves = footer.num_row_groups, footer.num_columns
    leaves = ffi.new("struct seam_parquet_place[]", max(n_leaves, 1))
    chunks = ffi.new("struct seam_parquet_chunk[]", max(n_groups * n_leaves, 1))
    error: Any = new_error()
    code = lib.seam_parquet_find_indexes(
        ffi.cast("uint8_t *", body.address), body.size, n_groups, n_leaves, leaves, chunks, error
    )
    if error.offset >= 0:
        error.offset += begin
    check(code, error, source=where)
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
