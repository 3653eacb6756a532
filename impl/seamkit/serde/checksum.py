"""CRC-32 of pages, as zlib computes it."""

from __future__ import annotations

import struct

from seambase.extras import needs

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
