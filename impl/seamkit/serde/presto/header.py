"""The 21 bytes before a page's payload."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from seambase.errors import InputError, RefusedError

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
    yield 0, rows < 0, f"{rows} rows"
    known = COMPRESSED | ENCRYPTED | CHECKSUMMED
    yield 4, bool(marker & ~known), f"marker {marker:#04x} has bits that mean nothing"
    yield 5, uncompressed < 0, f"an uncompressed size of {uncompressed} bytes"
    yield 9, size < 0, f"a size of {size} bytes"
    if marker & COMPRESSED:
        yield 9, size >= uncompressed, f"{size} bytes compressed from {uncompressed}, not fewer"
    elif not marker & ENCRYPTED:
        what = f"sizes {uncompressed} and {size} differ, but nothing is compressed"
        yield 9, size != uncompressed, what
    if not marker & CHECKSUMMED:
        yield 13, checksum != 0, f"checksum {checksum} though the marker announces none"
    yield 13, not 0 <= checksum <= _MAX_CRC, f"checksum {checksum} is no CRC-32"
