"""Chunks of columns in Parquet: what headers of pages say, and whether values are in Bloom filters.

Filters are split blocks of eight words, by the XXH64 of a value's plain encoding (parquet-format,
BloomFilter).
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
    Listed,
    Struct,
    struct_to_end,
)
from seambench.formats.lint import Wrong
from seambench.formats.lint.values import plain, unscaled

_DICTIONARY = 2
_PLAIN_DICTIONARY, _RLE_DICTIONARY = 2, 8


@dataclass(frozen=True)
class Page:
    """A page of a chunk."""

    kind: int  # number of the page's type
    at: int  # where its header begins
    size: int  # bytes of header and content
    values: int  # nulls among them; rows, where the column is no list
    encoding: int  # of the values


def pages_of(data: bytes, meta: Struct) -> Iterator[Page]:
    """The pages of a chunk, by the metadata of its column.

    Raises:
        ValueError, IndexError, KeyError: no page of a known type is where one must be.
    """
    at = min(meta.whole(11) or meta.whole(9), meta.whole(9))
    end = at + meta.whole(7) if meta.whole(5) else at
    while at < end:
        head, begin = struct_to_end(data, at)
        kind, size = head.whole(1), begin - at + head[3].value
        # Data pages, dictionaries, data pages of version 2: the values' encoding.
        said, encoding = {0: (5, 2), 2: (7, 2), 3: (8, 4)}[kind]
        if size <= 0 or at + size > end:
            raise ValueError(f"a page of {size} bytes at {at}")
        yield Page(kind, at, size, head[said].whole(1), head[said].whole(encoding))
        at += size


def misstated(pages: Sequence[Page], meta: Struct) -> Iterator[Wrong]:
    """What the footer says of the encodings of pages, by which readers trust a dictionary alone.

    Arrow's libraries count pages of version 2 as those of version 1.
    """
    there = Counter(_plain(one.encoding) for one in pages if one.kind != _DICTIONARY)
    listed = {_plain(one.value) for one in meta.get(2, Listed(5, [])).items}
    if set(there) - listed:
        yield "chunk.encodings", f"pages have the encodings {set(there)}, {listed} are listed"
    if 13 not in meta:
        return
    stated: Counter[int] = Counter()
    for one in (each for each in meta[13].items if each.whole(1) != _DICTIONARY):
        stated[_plain(one.whole(2))] += one.whole(3)
    if stated != there:
        says = f"pages by encoding are {dict(there)}, {dict(stated)} are stated"
        yield "chunk.encodings", says


def mislocated(pages: Sequence[Page], located: Sequence[Struct]) -> str:
    """What an offset index says of data pages that is not so, of a column that is no list."""
    rows, there = 0, []
    for page in (one for one in pages if one.kind != _DICTIONARY):
        there.append((page.at, page.size, rows))
        rows += page.values
    stated = [(one.whole(1), one.whole(2), one.whole(3)) for one in located]
    wrong = [pair for pair in zip(there, stated, strict=False) if pair[0] != pair[1]]
    if len(there) != len(stated):
        return f"{len(there)} pages, {len(stated)} of them located"
    return f"offset, size and first row are {wrong[0][0]}, not {wrong[0][1]}" if wrong else ""


def _plain(encoding: int) -> int:
    """An encoding's number, of which dictionaries have two."""
    return _PLAIN_DICTIONARY if encoding == _RLE_DICTIONARY else encoding


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
