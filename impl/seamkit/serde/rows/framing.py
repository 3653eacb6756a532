"""Groups of rows, as Velox puts them into a stream.

A group is a header of nine bytes, little-endian (its size, its size as compressed, and whether it
is), then rows with their lengths before them, big-endian (Velox, UnsafeRow and CompactRow serde,
since December 2024). Before that, and in Spark's own shuffle, there is no header. A group has
neither a checksum nor a number of rows, and does not say which codec compressed it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from seambase.errors import InputError, RefusedError
from seambase.wording import counted
from seamkit.core.memory import TrackedAllocator
from seamkit.serde.compression import Skipper, compress, decompress

GROUP_HEADER = struct.Struct("<iiB")
"""Uncompressed size, compressed size, compressed (0 or 1)."""

# A compressed group is kept if it has at most this share of its size (Velox, August 2026).
_MIN_RATIO = 0.8


@dataclass(frozen=True)
class Group:
    """One group: its rows, and where they begin in the stream (-1 if they were compressed)."""

    rows: memoryview
    offset: int


def compress_group(
    group: memoryview, codec: str, allocator: TrackedAllocator, skipper: Skipper | None = None
) -> memoryview:
    """A plain group (header and rows) compressed, or as it is where that does not pay."""
    size = len(group) - GROUP_HEADER.size
    if codec == "none" or not size or (skipper is not None and not skipper.wants(size)):
        return group
    packed = compress(codec, group[GROUP_HEADER.size :], allocator)
    pays = len(packed) <= size * _MIN_RATIO
    if skipper is not None:
        skipper.tried(pays)
    if not pays:
        return group
    return memoryview(GROUP_HEADER.pack(size, len(packed), 1) + bytes(packed))


def groups(
    data: memoryview, codec: str, size_limit: int, allocator: TrackedAllocator
) -> Iterator[Group]:
    """The groups of a stream, one after the other; none compressed where the codec is `none`.

    No group has more than `size_limit` bytes uncompressed; what is decompressed is the allocator's.
    """
    at = 0
    while at < len(data):
        if len(data) - at < GROUP_HEADER.size:
            raise InputError(f"the header of a group is cut off (at byte {at})")
        size, packed, flag = GROUP_HEADER.unpack_from(data, at)
        begin = at + GROUP_HEADER.size
        _check_header(size, packed, flag, at, len(data) - begin)
        if size > size_limit:
            raise RefusedError(
                f"a group of {counted(size, 'byte')} is beyond the size "
                f"limit of {size_limit} (at byte {at})"
            )
        body = data[begin : begin + packed]
        if not flag:
            yield Group(body, begin)
        elif codec == "none":
            raise InputError(
                "a group is compressed, but no codec was named; its header does not say which "
                f"(at byte {at + 8})"
            )
        else:
            yield Group(decompress(codec, body, size, allocator, offset=begin), -1)
        at = begin + packed


def _check_header(size: int, packed: int, flag: int, at: int, left: int) -> None:
    if flag > 1:
        raise InputError(f"a group is neither plain nor compressed: {flag} (at byte {at + 8})")
    if size < 0 or packed < 0 or (not flag and size != packed):
        raise InputError(
            f"a group of {counted(size, 'byte')} cannot have {packed} in the stream (at byte {at})"
        )
    if packed > left:
        raise InputError(
            f"a group of {counted(packed, 'byte')} is announced "
            f"where {left} are left (at byte {at})"
        )
