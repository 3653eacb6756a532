"""Deletion vectors: positions of a data file's rows that are gone, as several formats frame them.

A vector is a magic number and a roaring bitmap. In a file it has the size of both in front
(int32, big-endian) and their CRC-32 behind it (big-endian). A vector is believed only if all of
these and its cardinality are right: without it, deleted rows come back.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Collection

import numpy as np

from seambase.errors import InputError
from seambase.wording import counted
from seamkit.core.unpack import Bound
from seamkit.files.roaring import Positions, TooManyError, read_bitmap
from seamkit.files.storage import Storage, read_part

FRAME_BYTES = 8
"""Size and checksum around a vector in a file."""
_POSITION_BYTES = 8
_MAGIC_64 = struct.pack("<i", 1681511377)
_MAGIC_32 = struct.pack(">i", 1581511376)


def read_framed(storage: Storage, path: str, at: int, size: int, where: str) -> tuple[bytes, bytes]:
    """The first byte of a file, its version, and some bytes from an offset on."""
    try:
        with storage.open(path) as file:
            return file.read(1), read_part(file, at, size)
    except OSError as error:
        raise InputError(f"{where}: not readable ({error})") from error


def unframed(stored: bytes, sizes: Collection[int], where: str, by: str) -> bytes:
    """Magic number and bitmap of a vector, once size and checksum are found right.

    More may follow it in the bytes of the file. `by` is who states the sizes, such as `the log`,
    for messages.
    """
    if len(stored) < FRAME_BYTES:
        raise InputError(f"{where}: the file ends before it")
    size = struct.unpack_from(">i", stored)[0]
    if size not in sizes:
        raise InputError(f"{where}: {counted(size, 'byte')}, {by} says {max(sizes)}")
    body, checksum = stored[4 : 4 + size], stored[4 + size : FRAME_BYTES + size]
    if len(checksum) != 4:
        raise InputError(f"{where}: the file ends within it")
    if zlib.crc32(body) != struct.unpack(">I", checksum)[0]:
        raise InputError(f"{where}: its checksum is wrong")
    return body


def vector_positions(
    body: bytes, count: int | None, bound: Bound, where: str, by: str, *, may_be_32: bool = False
) -> Positions:
    """The positions of a vector (magic number and bitmap), ascending.

    Nobody may tell the count; who does is `by`, such as `the log`. `may_be_32`: its format knows
    bitmaps of 32 bits, which have a magic number of their own.
    """
    magic, bitmap = body[:4], body[4:]
    if may_be_32 and magic == _MAGIC_32:
        # One bucket of a 64-bit bitmap, whose upper bits are zero.
        bitmap = struct.pack("<QI", 1, 0) + bitmap
    elif magic != _MAGIC_64:
        raise InputError(f"{where}: the magic number is wrong ({magic.hex() or 'missing'})")
    room = bound.most // _POSITION_BYTES
    try:
        positions = read_bitmap(bitmap, room if count is None else min(count, room))
    except TooManyError as error:
        if count is None or count > room:
            bound.check(_POSITION_BYTES * (room + 1), len(bitmap), where)
        raise InputError(f"{where}: it has more positions, {by} says {count}") from error
    except (ValueError, struct.error) as error:
        raise InputError(f"{where}: the bitmap is broken: {error}") from error
    if count is not None and len(positions) != count:
        raise InputError(
            f"{where}: it has {counted(len(positions), 'position')}, {by} says {count}"
        )
    return positions


def all_but_new(
    rows: int, now: Positions | None, before: Positions | None, where: str
) -> Positions:
    """The rows of a file without those that are gone now and were not before."""
    gone = np.zeros(rows, np.bool_)
    for positions, is_gone in ((now, True), (before, False)):
        if positions is not None and len(positions):
            if not 0 <= positions[0] <= positions[-1] < rows:
                raise InputError(
                    f"{where}: {counted(rows, 'row')}, and row {positions[-1]} is deleted"
                )
            gone[positions] = is_gone
    return np.flatnonzero(~gone).astype(np.int64, copy=False)
