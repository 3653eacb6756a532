"""Bloom filters of Parquet: whether each value of a column chunk is found in its filter.

Split blocks of eight words, by the XXH64 of a value's plain encoding (parquet-format, BloomFilter).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seambench.formats.forms.footer import (
    BYTES,
    DOUBLE,
    FIXED,
    FLOAT,
    INT32,
    INT64,
    Struct,
    struct_to_end,
)
from seambench.formats.lint.values import plain, unscaled

_MASK = (1 << 64) - 1
_P1, _P2, _P3, _P4, _P5 = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
_SALTS = (
    *(0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D),
    *(0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31),
)
_BLOCK = 32


def lost(data: bytes, meta: Struct, present: pa.Array, physical: int, length: int) -> list[bytes]:
    """Values of a chunk, as Parquet encodes them, that its filter denies.

    Raises:
        ValueError, IndexError, KeyError: the filter is none that the format knows.
    """
    head, begin = struct_to_end(data, meta.whole(14))
    size, ways = head.whole(1), [list(head[number]) for number in (2, 3, 4)]
    if ways != [[1], [1], [1]] or size % _BLOCK or not 0 < size <= len(data) - begin:
        raise ValueError(f"{size} bytes in {len(data) - begin}, by {ways}")
    words = np.frombuffer(data, "<u4", size // 4, begin)
    values = encoded(present, physical, length)
    return [one for one in values if not _holds(words, xxh64(one))]


def encoded(present: pa.Array, physical: int, length: int) -> Iterator[bytes]:
    """The distinct values of a column in plain encoding; none where that is not known here."""
    known = plain(present)
    if known is None:
        return
    if physical in (FLOAT, DOUBLE):
        kind, bits = ("<f4", "<u4") if physical == FLOAT else ("<f8", "<u8")
        patterns = known.to_numpy(zero_copy_only=False).astype(kind).view(bits)
        yield from (one.tobytes() for one in np.unique(patterns))
        return
    for value in pc.unique(known).to_pylist():
        stored = unscaled(value)
        if isinstance(stored, int) and physical in (INT32, INT64):
            width = 4 if physical == INT32 else 8
            yield (stored % (1 << 8 * width)).to_bytes(width, "little")
        elif isinstance(stored, int) and physical == FIXED:
            yield stored.to_bytes(length, "big", signed=True)
        elif isinstance(stored, bytes) and physical in (BYTES, FIXED):
            yield stored


def _holds(words: Any, code: int) -> bool:
    block = (code >> 32) * (len(words) // 8) >> 32
    places = ((code & 0xFFFFFFFF) * salt >> 27 & 31 for salt in _SALTS)
    return all(int(words[8 * block + at]) >> place & 1 for at, place in enumerate(places))


def _turned(value: int, bits: int) -> int:
    return (value << bits | value >> 64 - bits) & _MASK


def _round(code: int, word: int) -> int:
    return _turned((code + word * _P2) & _MASK, 31) * _P1 & _MASK


def xxh64(data: bytes) -> int:
    """XXH64 without a seed."""
    end = len(data) - len(data) % 32
    code = _P5
    if end:
        lanes = [(_P1 + _P2) & _MASK, _P2, 0, -_P1 & _MASK]
        for four in struct.iter_unpack("<4Q", data[:end]):
            lanes = [_round(lane, word) for lane, word in zip(lanes, four, strict=True)]
        turns = zip(lanes, (1, 7, 12, 18), strict=True)
        code = sum(_turned(lane, bits) for lane, bits in turns) & _MASK
        for lane in lanes:
            code = ((code ^ _round(0, lane)) * _P1 + _P4) & _MASK
    code = (code + len(data)) & _MASK
    rest = data[end:]
    whole = len(rest) // 8 * 8
    for (word,) in struct.iter_unpack("<Q", rest[:whole]):
        code = (_turned(code ^ _round(0, word), 27) * _P1 + _P4) & _MASK
    if len(rest) - whole >= 4:
        (word,) = struct.unpack_from("<I", rest, whole)
        code = (_turned(code ^ word * _P1 & _MASK, 23) * _P2 + _P3) & _MASK
        whole += 4
    for byte in rest[whole:]:
        code = _turned(code ^ byte * _P5 & _MASK, 11) * _P1 & _MASK
    code = (code ^ code >> 33) * _P2 & _MASK
    code = (code ^ code >> 29) * _P3 & _MASK
    return code ^ code >> 32
