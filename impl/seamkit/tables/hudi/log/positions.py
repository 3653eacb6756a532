"""Record positions in the headers of log blocks: which rows of the base file a block's records are.

The header `RECORD_POSITIONS` is base64 of a 64-bit roaring bitmap in its portable form; the n-th
set bit belongs to the n-th record. It counts for the base file whose instant the header
`BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS` names, and for no other (Hudi 1.2.0,
PositionBasedFileGroupRecordBuffer).

Bitmap: int64 number of buckets, and for each the upper 32 bits and a 32-bit bitmap: a cookie, the
containers' keys and cardinalities, perhaps offsets, then the containers. All of it little-endian.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from seambase.errors import InputError
from seamkit.tables.hudi.log.log import LogBlock

__all__ = ["Positions", "read_bitmap", "usable_positions"]

Positions = npt.NDArray[np.int64]

_COOKIE = 12346
_COOKIE_WITH_RUNS = 12347
_OFFSETS_FROM = 4  # containers; bitmaps with runs and fewer of them have no offsets
_LARGEST_ARRAY = 4096
_BITMAP_BYTES = 8192


def usable_positions(blocks: Sequence[LogBlock], base_instant: str) -> list[Positions] | None:
    """The positions of each block's records, or None if any block lacks them.

    Hudi then goes by key for the whole slice.

    Args:
        blocks: data and delete blocks of a slice.
        base_instant: of the slice's base file.

    Raises:
        InputError: a bitmap is broken.
    """
    found = []
    for block in blocks:
        text = block.header.get("RECORD_POSITIONS", "")
        instant = block.header.get("BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS")
        if instant != base_instant or not text:
            return None
        try:
            positions = read_bitmap(base64.b64decode(text, validate=True))
        except (binascii.Error, ValueError) as error:
            raise InputError(f"{block.where}: the record positions are broken: {error}") from error
        if len(positions) == 0:
            return None
        found.append(positions)
    return found


def read_bitmap(data: bytes) -> Positions:
    """The set bits of a portable 64-bit roaring bitmap, ascending.

    Raises:
        ValueError: the bytes break the format.
    """
    reader = _Reader(data)
    pieces: list[Positions] = []
    previous = -1
    for _ in range(reader.number("<q")):
        high = reader.number("<I")
        if not previous < high < 1 << 31:
            raise ValueError("its buckets are not in order, or not those of row numbers")
        previous = high
        pieces += [(high << 32) + values for values in _read_bitmap_32(reader)]
    if reader.at != len(data):
        raise ValueError(f"{len(data) - reader.at} bytes follow it")
    joined = np.concatenate(pieces) if pieces else np.empty(0, np.int64)
    if (np.diff(joined) <= 0).any():
        raise ValueError("its values are not in order")
    return joined


@dataclass
class _Reader:
    data: bytes
    at: int = 0

    def number(self, layout: str) -> int:
        return int(struct.unpack(layout, self.take(struct.calcsize(layout)))[0])

    def words(self, count: int) -> Positions:
        return np.frombuffer(self.take(2 * count), "<u2").astype(np.int64)

    def take(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise ValueError("it ends too early")
        self.at += size
        return self.data[self.at - size : self.at]


def _read_bitmap_32(reader: _Reader) -> list[Positions]:
    cookie = reader.number("<I")
    runs = np.zeros(0, np.uint8)
    if cookie & 0xFFFF == _COOKIE_WITH_RUNS:
        count = (cookie >> 16) + 1
        flags = np.frombuffer(reader.take((count + 7) // 8), np.uint8)
        runs = np.unpackbits(flags, bitorder="little")
    elif cookie == _COOKIE:
        count = reader.number("<I")
    else:
        raise ValueError(f"its cookie is {cookie}")
    if count > 1 << 16:
        raise ValueError(f"it has {count} containers")
    heads = reader.words(2 * count)
    if not len(runs) or count >= _OFFSETS_FROM:
        reader.take(4 * count)  # offsets: the containers lie in order, so they say nothing new
    pieces = []
    for i in range(count):
        base, cardinality = int(heads[2 * i]) << 16, int(heads[2 * i + 1]) + 1
        is_run = i < len(runs) and bool(runs[i])
        values = _run_container(reader) if is_run else _container(reader, cardinality)
        if len(values) != cardinality:
            raise ValueError(f"a container has {len(values)} values where it says {cardinality}")
        pieces.append(base + values)
    return pieces


def _container(reader: _Reader, cardinality: int) -> Positions:
    if cardinality <= _LARGEST_ARRAY:
        return reader.words(cardinality)
    bits = np.frombuffer(reader.take(_BITMAP_BYTES), np.uint8)
    return np.flatnonzero(np.unpackbits(bits, bitorder="little")).astype(np.int64)


def _run_container(reader: _Reader) -> Positions:
    """Pairs of a start and of how many more values follow it."""
    pairs = reader.words(2 * reader.number("<H")).reshape(-1, 2)
    lengths = pairs[:, 1] + 1
    if lengths.sum() > 1 << 16:
        raise ValueError("a container has more values than there can be")
    begins = np.concatenate([[0], np.cumsum(lengths)[:-1]]) if len(pairs) else lengths
    return np.repeat(pairs[:, 0] - begins, lengths) + np.arange(lengths.sum())
