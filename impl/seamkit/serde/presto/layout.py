"""What Arrow cannot hold of a page, kept in the metadata of the batch that was read from it.

Null flags without a null, hash tables, bare nulls in place of a type's own encoding, and the 24
bytes that say where a dictionary comes from: with them a batch becomes the same page again.

CRC-32 of pages, as zlib computes it.

The 21 bytes before a page's payload.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seambase.extras import needs
from seambase.wording import counted

_MARKS = b"seambench.presto.marks"
_SOURCES = b"seambench.presto.sources"
# A mark has five bits.
_DIGITS = "0123456789abcdefghijklmnopqrstuv"
SOURCE_BYTES = 24
"""Bytes that say where a dictionary comes from."""


@dataclass(frozen=True)
class Layout:
    """Marks of every column in a page and sources of its dictionaries, in the page's order.

    Attributes:
        marks: bits of the core's enum seam_presto_mark, a byte each.
        sources: 24 bytes for each dictionary.
    """

    marks: bytes
    sources: bytes


def with_layout(schema: pa.Schema, layout: Layout) -> pa.Schema:
    """The schema with a layout in its metadata."""
    metadata = dict(schema.metadata or {})
    metadata[_MARKS] = "".join(_DIGITS[mark] for mark in layout.marks).encode()
    metadata[_SOURCES] = layout.sources.hex().encode()
    return schema.with_metadata(metadata)


def layout_of(schema: pa.Schema) -> Layout | None:
    """The layout in a schema's metadata, or None."""
    metadata = schema.metadata or {}
    if _MARKS not in metadata:
        return None
    try:
        marks = bytes(_DIGITS.index(digit) for digit in metadata[_MARKS].decode())
        sources = bytes.fromhex(metadata.get(_SOURCES, b"").decode())
    except ValueError as error:
        raise InputError(f"metadata {_MARKS.decode()} of the batch is damaged: {error}") from error
    if len(sources) % SOURCE_BYTES:
        raise InputError(f"metadata {_SOURCES.decode()} of the batch is not in groups of 24 bytes")
    return Layout(marks, sources)


with needs("seamkit[serde]", "the checksum of a page"):
    from isal import isal_zlib

# What follows the payload: marker, rows, uncompressed size.
_TAIL = struct.Struct("<Bii")


def page_checksum(
    payload: bytes | bytearray | memoryview, marker: int, rows: int, uncompressed_bytes: int
) -> int:
    """The checksum in the header of a Presto page.

    Presto 0.296, `PagesSerdeUtil.computeSerializedPageChecksum`: over the payload as it is on the
    wire, then the marker (with its checksum bit), the number of rows and the uncompressed size,
    both little-endian. The size of the payload and the checksum itself are not covered.

    The GIL is released while a large payload is read.
    """
    tail = _TAIL.pack(marker, rows, uncompressed_bytes)
    return int(isal_zlib.crc32(tail, isal_zlib.crc32(payload)))


HEADER_BYTES = 21
COMPRESSED, ENCRYPTED, CHECKSUMMED = 1, 2, 4
_HEADER = struct.Struct("<iBiiq")
_MAX_CRC = 0xFFFFFFFF


class PageHeader(NamedTuple):
    """Rows, marker bits, payload bytes before compression and as they follow, checksum."""

    rows: int
    marker: int
    uncompressed_bytes: int
    size_bytes: int
    checksum: int

    def write_to(self, page: memoryview) -> None:
        """Put the header at the start of a page's bytes."""
        _HEADER.pack_into(page, 0, *self)


def read_header(data: bytes | bytearray | memoryview, offset: int, shown: int) -> PageHeader:
    """Read and check a header.

    Rules of Presto 0.296 (`SerializedPage`, `PagesSerdeUtil`): the checksum is 0 without its bit; a
    compressed payload is smaller than a plain one; sizes agree where nothing was compressed. `data`
    holds the whole header from `offset` on; `shown` is where it begins in its file, for messages.
    """
    header = PageHeader(*_HEADER.unpack_from(data, offset))
    for at, broken, what in _broken_rules(header):
        if broken:
            raise InputError(f"page header: {what} (at byte {shown + at})")
    if header.marker & ENCRYPTED:
        raise RefusedError(f"page header: encrypted pages are not supported (at byte {shown + 4})")
    return header


def _broken_rules(header: PageHeader) -> Iterator[tuple[int, bool, str]]:
    """Place in the header, whether it is broken, and how, of each rule."""
    rows, marker, uncompressed, size, checksum = header
    yield 0, rows < 0, f"{counted(rows, 'row')}"
    known = COMPRESSED | ENCRYPTED | CHECKSUMMED
    yield 4, bool(marker & ~known), f"marker {marker:#04x} has bits that mean nothing"
    yield 5, uncompressed < 0, f"an uncompressed size of {counted(uncompressed, 'byte')}"
    yield 9, size < 0, f"a size of {counted(size, 'byte')}"
    if marker & COMPRESSED:
        yield (
            9,
            size >= uncompressed,
            f"{counted(size, 'byte')} compressed from {uncompressed}, not fewer",
        )
    elif not marker & ENCRYPTED:
        what = f"sizes {uncompressed} and {size} differ, but nothing is compressed"
        yield 9, size != uncompressed, what
    if not marker & CHECKSUMMED:
        yield 13, checksum != 0, f"checksum {checksum} though the marker announces none"
    yield 13, not 0 <= checksum <= _MAX_CRC, f"checksum {checksum} is no CRC-32"
