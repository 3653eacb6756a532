"""Roaring bitmaps in their portable form: sets of row positions, and unions of sets of numbers.

A 64-bit bitmap is an int64 number of buckets, and for each the upper 32 bits and a 32-bit bitmap: a
cookie, the containers' keys and cardinalities, perhaps offsets, then the containers. All of it is
little-endian (RoaringFormatSpec). Counts are believed only once the bytes behind them are there and
agree, so a broken bitmap is an error and takes no memory.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from seambase.wording import counted

Positions = npt.NDArray[np.int64]
"""Rows of a file, counted from 0 over all of its row groups; ascending, each once."""

_COOKIE = 12346
_COOKIE_WITH_RUNS = 12347
_OFFSETS_FROM = 4  # containers; bitmaps with runs and fewer of them have no offsets
_LARGEST_ARRAY = 4096
_BITMAP_BYTES = 8192
_CONTAINER_VALUES = 1 << 16
#: Values of a bitmap, where nobody says how many there are: runs take next to no bytes.
_MOST_POSITIONS = 1 << 27


class TooManyError(ValueError):
    """A bitmap has more values than there may be."""


def read_bitmap(data: bytes | memoryview, most: int = _MOST_POSITIONS) -> Positions:
    """The set bits of a portable 64-bit roaring bitmap, ascending.

    There is nothing behind it, and at most so many values.
    """
    reader = _Reader(memoryview(data))
    pieces: list[Positions] = []
    previous, left = -1, most
    for _ in range(reader.number("<Q")):
        high = reader.number("<I")
        if not previous < high < 1 << 31:
            raise ValueError("its buckets are not in order, or not those of row numbers")
        previous = high
        containers = _read_bitmap_32(reader, left)
        pieces += [(high << 32) + (one.key << 16) + one.values for one in containers]
        left -= sum(len(one.values) for one in containers)
    if reader.at != len(data):
        raise ValueError(f"{counted(len(data) - reader.at, 'byte', 'follow')} it")
    joined = np.concatenate(pieces) if pieces else np.empty(0, np.int64)
    if (np.diff(joined) <= 0).any():
        raise ValueError("its values are not in order")
    return joined


def united_32(first: bytes, second: bytes) -> bytes:
    """The union of two portable 32-bit bitmaps, byte for byte as Java's library writes it.

    A container becomes runs where these are shorter than its other form; one that came of runs
    stays them where these are as short as the other form together with its cardinality.
    """
    whole: dict[int, _Container] = {}
    for data in (first, second):
        reader = _Reader(memoryview(data))
        containers = _read_bitmap_32(reader, _MOST_POSITIONS)
        if reader.at != len(data):
            raise ValueError(f"{counted(len(data) - reader.at, 'byte', 'follow')} it")
        previous = -1
        for one in containers:
            if one.key <= previous or (np.diff(one.values) <= 0).any():
                raise ValueError("its values are not in order")
            if one.runs and one.runs != len(_runs(one.values)):
                raise ValueError("runs that touch each other")
            previous = one.key
            other = whole.get(one.key)
            whole[one.key] = one if other is None else one.united(other)
    return _written([whole[key] for key in sorted(whole)])


def _written(containers: Sequence[_Container]) -> bytes:
    bodies = [one.body() for one in containers]
    flags = [is_run for _, is_run in bodies]
    if any(flags):
        head = struct.pack("<I", _COOKIE_WITH_RUNS | (len(flags) - 1) << 16)
        head += np.packbits(np.array(flags, np.uint8), bitorder="little").tobytes()
    else:
        head = struct.pack("<II", _COOKIE, len(flags))
    for one in containers:
        head += struct.pack("<HH", one.key, len(one.values) - 1)
    if not any(flags) or len(flags) >= _OFFSETS_FROM:
        at = len(head) + 4 * len(flags)
        for body, _ in bodies:
            head += struct.pack("<I", at)
            at += len(body)
    return head + b"".join(body for body, _ in bodies)


@dataclass(frozen=True)
class _Container:
    """Values with the same upper 16 bits."""

    key: int  # these bits
    values: Positions  # the lower bits
    runs: int = 0  # as how many runs they were written; 0 if otherwise

    def united(self, other: _Container) -> _Container:
        """The values of both; of runs if one of them is."""
        return _Container(
            self.key, np.union1d(self.values, other.values), max(self.runs, other.runs)
        )

    def body(self) -> tuple[bytes, bool]:
        """What is written of it, and whether these are runs."""
        count = len(self.values)
        plain = 2 * count if count <= _LARGEST_ARRAY else _BITMAP_BYTES
        runs = _runs(self.values)
        size = 2 + 4 * len(runs)
        if size < plain or (self.runs and size <= min(2 + 2 * count, _BITMAP_BYTES)):
            return struct.pack("<H", len(runs)) + runs.astype("<u2").tobytes(), True
        if count <= _LARGEST_ARRAY:
            return self.values.astype("<u2").tobytes(), False
        bits = np.zeros(_CONTAINER_VALUES, np.uint8)
        bits[self.values] = 1
        return np.packbits(bits, bitorder="little").tobytes(), False


def _runs(values: Positions) -> Positions:
    breaks = np.flatnonzero(np.diff(values) != 1)
    starts = values[np.append(0, breaks + 1)]
    ends = values[np.append(breaks, len(values) - 1)]
    return np.stack([starts, ends - starts], axis=1)


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


def _read_bitmap_32(reader: _Reader, most: int) -> list[_Container]:
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
        raise ValueError(f"it has {counted(count, 'container')}")
    heads = reader.words(2 * count).reshape(-1, 2)
    cardinalities = heads[:, 1] + 1
    if cardinalities.sum() > most:
        raise TooManyError(f"it has more than {counted(most, 'value')} left to it")
    offsets = None
    if not len(runs) or count >= _OFFSETS_FROM:
        offsets = np.frombuffer(reader.take(4 * count), "<u4")
    containers = []
    for i in range(count):
        if offsets is not None and offsets[i] != reader.at - begin:
            raise ValueError(f"a container lies at {reader.at - begin}, not at {offsets[i]}")
        cardinality = int(cardinalities[i])
        key = int(heads[i, 0])
        if i < len(runs) and runs[i]:
            containers.append(_run_container(reader, key, cardinality))
        else:
            containers.append(_Container(key, _container(reader, cardinality)))
    return containers


def _container(reader: _Reader, cardinality: int) -> Positions:
    if cardinality <= _LARGEST_ARRAY:
        return reader.words(cardinality)
    bits = np.frombuffer(reader.take(_BITMAP_BYTES), np.uint8)
    return _of(cardinality, np.flatnonzero(np.unpackbits(bits, bitorder="little")))


def _run_container(reader: _Reader, key: int, cardinality: int) -> _Container:
    """Pairs of a start and of how many more values follow it."""
    pairs = reader.words(2 * reader.number("<H")).reshape(-1, 2)
    lengths = pairs[:, 1] + 1
    if (pairs.sum(axis=1) >= _CONTAINER_VALUES).any():
        raise ValueError("a run leads out of its container")
    if lengths.sum() != cardinality:
        raise ValueError(f"runs of {counted(lengths.sum(), 'value')} where it says {cardinality}")
    begins = np.cumsum(lengths) - lengths
    values = np.repeat(pairs[:, 0] - begins, lengths) + np.arange(cardinality)
    return _Container(key, values, len(pairs))


def _of(cardinality: int, values: Positions) -> Positions:
    if len(values) != cardinality:
        raise ValueError(
            f"a container has {counted(len(values), 'value')} where it says {cardinality}"
        )
    return values
