"""Roaring bitmaps in their portable form: sets of row positions.

A 64-bit bitmap is an int64 number of buckets, and for each the upper 32 bits and a 32-bit bitmap: a
cookie, the containers' keys and cardinalities, perhaps offsets, then the containers. All of it is
little-endian (RoaringFormatSpec). Counts are believed only once the bytes behind them are there and
agree, so a broken bitmap is an error and takes no memory.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Positions", "read_bitmap"]

Positions = npt.NDArray[np.int64]
"""Rows of a file, counted from 0 over all of its row groups; ascending, each once."""

_COOKIE = 12346
_COOKIE_WITH_RUNS = 12347
_OFFSETS_FROM = 4  # containers; bitmaps with runs and fewer of them have no offsets
_LARGEST_ARRAY = 4096
_BITMAP_BYTES = 8192
_CONTAINER_VALUES = 1 << 16


def read_bitmap(data: bytes | memoryview, most: int | None = None) -> Positions:
    """The set bits of a portable 64-bit roaring bitmap, ascending.

    Args:
        data: the bitmap, and nothing behind it.
        most: how many values there may be; None for any number.

    Raises:
        ValueError: the bytes break the format, or there are more values.
    """
    reader = _Reader(memoryview(data))
    pieces: list[Positions] = []
    previous, left = -1, most
    for _ in range(reader.number("<Q")):
        high = reader.number("<I")
        if not previous < high < 1 << 31:
            raise ValueError("its buckets are not in order, or not those of row numbers")
        previous = high
        found = _read_bitmap_32(reader, left)
        pieces += [(high << 32) + values for values in found]
        left = None if left is None else left - sum(map(len, found))
    if reader.at != len(data):
        raise ValueError(f"{len(data) - reader.at} bytes follow it")
    joined = np.concatenate(pieces) if pieces else np.empty(0, np.int64)
    if (np.diff(joined) <= 0).any():
        raise ValueError("its values are not in order")
    return joined


@dataclass
class _Reader:
    data: memoryview
    at: int = 0

    def number(self, layout: str) -> int:
        return int(struct.unpack(layout, self.take(struct.calcsize(layout)))[0])

    def words(self, count: int) -> Positions:
        return np.frombuffer(self.take(2 * count), "<u2").astype(np.int64)

    def take(self, size: int) -> memoryview:
        if size > len(self.data) - self.at:
            raise ValueError("it ends too early")
        self.at += size
        return self.data[self.at - size : self.at]


def _read_bitmap_32(reader: _Reader, most: int | None) -> list[Positions]:
    begin = reader.at
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
    heads = reader.words(2 * count).reshape(-1, 2)
    cardinalities = heads[:, 1] + 1
    if most is not None and cardinalities.sum() > most:
        raise ValueError(f"it has more than {most} values left to it")
    offsets = None
    if not len(runs) or count >= _OFFSETS_FROM:
        offsets = np.frombuffer(reader.take(4 * count), "<u4")
    pieces = []
    for i in range(count):
        if offsets is not None and offsets[i] != reader.at - begin:
            raise ValueError(f"a container lies at {reader.at - begin}, not at {offsets[i]}")
        cardinality = int(cardinalities[i])
        is_run = i < len(runs) and bool(runs[i])
        read = _run_container if is_run else _container
        pieces.append((int(heads[i, 0]) << 16) + read(reader, cardinality))
    return pieces


def _container(reader: _Reader, cardinality: int) -> Positions:
    if cardinality <= _LARGEST_ARRAY:
        return reader.words(cardinality)
    bits = np.frombuffer(reader.take(_BITMAP_BYTES), np.uint8)
    return _of(cardinality, np.flatnonzero(np.unpackbits(bits, bitorder="little")))


def _run_container(reader: _Reader, cardinality: int) -> Positions:
    """Pairs of a start and of how many more values follow it."""
    pairs = reader.words(2 * reader.number("<H")).reshape(-1, 2)
    lengths = pairs[:, 1] + 1
    if (pairs.sum(axis=1) >= _CONTAINER_VALUES).any():
        raise ValueError("a run leads out of its container")
    if lengths.sum() != cardinality:
        raise ValueError(f"runs of {lengths.sum()} values where it says {cardinality}")
    begins = np.cumsum(lengths) - lengths
    return np.repeat(pairs[:, 0] - begins, lengths) + np.arange(cardinality)


def _of(cardinality: int, values: Positions) -> Positions:
    if len(values) != cardinality:
        raise ValueError(f"a container has {len(values)} values where it says {cardinality}")
    return values
