"""Split-block Bloom filters of Parquet: whether a column chunk may hold a value.

The layout is that of Parquet's own specification (BloomFilter.md): a header in Thrift's compact
form, then blocks of eight words. The hash of a value chooses one block by its upper half, and by
its lower half a bit in each word. A filter of another kind, or one that does not lie in the file as
a whole, rules nothing out. Like statistics, its bits have no checksum: a file in which they are
wrong is read wrongly by every reader that uses them.
"""

from __future__ import annotations

import datetime as dt
import re
import struct
from collections.abc import Callable, Collection, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from seambase.errors import InputError
from seamkit.core._seam import ffi, lib
from seamkit.core.varints import varint
from seamkit.files.footers.chunks import writer_of

Read = Callable[[int, int], bytes]
"""Gives so many bytes from an offset on, or as many as there are."""

_SALTS = (
    *(0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D),
    *(0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31),
)
_BLOCK_BYTES = 32
_MOST_BYTES = 128 << 20  # what writers make of a filter at most
_HEADER_BYTES = 32  # a header has at most 19
_AT_ONCE = 64 << 10  # filters up to this are read as a whole
_MOST_VALUES = 1000  # of a longer list one is likely to be there

# A union whose first member is set: blocks, then XXH64, then no compression; the end of the header.
_FIRST = b"\x1c\x1c\x00\x00"
_KNOWN_KIND = 3 * _FIRST + b"\x00"
_SIZE_FIELD = 0x15

#: Whether this Arrow tells where a filter lies; releases of 2025 do not, and no group is ruled out.
HAS_OFFSETS = hasattr(pq.ColumnChunkMetaData, "bloom_filter_offset")

_EPOCH = dt.date(1970, 1, 1)
_ARROW_GO = re.compile(r"parquet-go version (\d{1,9})\.(\d{1,9})\.")
_KEEPS_FILTERS = (18, 5)


def groups_that_may_hold(
    footer: pq.FileMetaData,
    groups: Sequence[int],
    values_of: Callable[[str], Collection[Any] | None],
    columns: pa.Schema,
    read: Read,
) -> list[int]:
    """Those of some row groups that may have rows which meet a condition, by their filters.

    `values_of` gives of a column the values of which such a row has one; None for any. `columns`
    are those that may have filters, with their types in the file.
    """
    left = list(groups)
    if not HAS_OFFSETS or not are_filters_true(footer):
        return left
    paths = [footer.schema.column(i).path for i in range(footer.num_columns)]
    for field in columns:
        if paths.count(field.name) != 1:
            continue  # nested, or called as the path of a column within another
        at = paths.index(field.name)
        if all(footer.row_group(g).column(at).bloom_filter_offset is None for g in left):
            continue
        values = values_of(field.name)
        hashes = None if values is None else _hashes(values, field.type)
        if hashes is not None:
            left = [g for g in left if _may_hold(footer.row_group(g).column(at), hashes, read)]
    return left


def are_filters_true(footer: pq.FileMetaData) -> bool:
    """Whether filters that a file may have are of its values.

    arrow-go up to 18.4 wrote such as adapt to the number of values after their memory was freed.
    """
    match = _ARROW_GO.match(writer_of(footer))
    return match is None or (int(match[1]), int(match[2])) >= _KEEPS_FILTERS


def _hashes(values: Collection[Any], kind: pa.DataType) -> list[int] | None:
    """Hashes of values as a file stores them; None where one of them has none."""
    if len(values) > _MOST_VALUES:
        return None
    stored = [_stored(value, kind) for value in values]
    known = [one for one in stored if one is not None]
    if len(known) < len(stored):
        return None
    return [int(lib.seam_xxh64(ffi.from_buffer("uint8_t[]", one), len(one))) for one in known]


def _stored(value: Any, kind: pa.DataType) -> bytes | None:
    """A value in Parquet's plain encoding; None if it is of another type, or may equal others."""
    # Floating numbers are left out, as 0 equals -0.
    if pa.types.is_date32(kind) and type(value) is dt.date:
        return struct.pack("<i", (value - _EPOCH).days)
    if pa.types.is_integer(kind) and type(value) is int:
        signed = pa.types.is_signed_integer(kind)
        if not _fits(value, kind.bit_width, signed=signed):
            return None
        size = 8 if kind.bit_width == 64 else 4
        return value.to_bytes(size, "little", signed=signed)
    if pa.types.is_string(kind) and isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if pa.types.is_binary(kind) and isinstance(value, bytes):
        return value
    return None


def _fits(value: int, bits: int, *, signed: bool) -> bool:
    return -(1 << bits - 1) <= value < 1 << bits - 1 if signed else 0 <= value < 1 << bits


def _may_hold(chunk: pq.ColumnChunkMetaData, hashes: Sequence[int], read: Read) -> bool:
    """Whether a column chunk may hold a value of one of some hashes."""
    begin, length = chunk.bloom_filter_offset, chunk.bloom_filter_length
    if begin is None or begin < 0:
        return True
    is_small = length is not None and 0 < length <= _AT_ONCE
    head = read(begin, length if is_small else _HEADER_BYTES)
    sizes = _sizes(head)
    if sizes is None:
        return True
    header, size = sizes
    if length is not None and length != header + size:
        return True
    for hash_ in hashes:
        at = header + _BLOCK_BYTES * ((hash_ >> 32) * (size // _BLOCK_BYTES) >> 32)
        inside = len(head) >= at + _BLOCK_BYTES
        block = head[at : at + _BLOCK_BYTES] if inside else read(begin + at, _BLOCK_BYTES)
        if len(block) < _BLOCK_BYTES or _has(block, hash_):
            return True
    return False


def _sizes(head: bytes) -> tuple[int, int] | None:
    """Bytes of a filter's header, and of its blocks; None for a kind that is not known."""
    if head[:1] != bytes([_SIZE_FIELD]):
        return None
    try:
        number, end = varint(head, 1, "a filter")
    except InputError:
        return None
    size = number >> 1  # a number's lowest bit is its sign
    if number & 1 or size % _BLOCK_BYTES or not 0 < size <= _MOST_BYTES:
        return None
    if head[end : end + len(_KNOWN_KIND)] != _KNOWN_KIND:
        return None
    return end + len(_KNOWN_KIND), size


def _has(block: bytes, hash_: int) -> bool:
    """Whether the bits of a hash are all set in its block."""
    low = hash_ & 0xFFFFFFFF
    words = struct.unpack("<8I", block)
    return all(
        word >> ((low * salt & 0xFFFFFFFF) >> 27) & 1
        for word, salt in zip(words, _SALTS, strict=True)
    )
