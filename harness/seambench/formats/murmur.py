"""The parts of the 32-bit Murmur3 by which formats spread keys, over columns of words.

The algorithm is Austin Appleby's MurmurHash3_x86_32.

Into which of Spark's partitions a key falls: the 32-bit Murmur3 of Spark's `hash`, as a number.

`repartition(n, key, ...)` puts a row into partition `hash(key, ...) mod n`, never negative, where
the hash of each column is the seed of the next one's and the first seed is 42. A bigint is two
blocks of four bytes, the lower first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from seambase.errors import UsageError

_U32 = np.uint32
Words = npt.NDArray[np.uint32]


def halves(column: npt.NDArray[np.int64]) -> tuple[Words, Words]:
    """The lower and the upper four bytes of bigints."""
    words = column.view(np.uint64)
    return (words & np.uint64(0xFFFFFFFF)).astype(_U32), (words >> np.uint64(32)).astype(_U32)


def mix(code: Words, block: Words) -> Words:
    """Take in one block of four bytes."""
    code = code ^ (_rotate(block * _U32(0xCC9E2D51), 15) * _U32(0x1B873593))
    return _rotate(code, 13) * _U32(5) + _U32(0xE6546B64)


def finish(code: Words, length: int) -> Words:
    """Let every bit of the hash depend on every other."""
    code = code ^ _U32(length)
    code = (code ^ (code >> _U32(16))) * _U32(0x85EBCA6B)
    code = (code ^ (code >> _U32(13))) * _U32(0xC2B2AE35)
    return code ^ (code >> _U32(16))


def of_bytes(data: bytes) -> int:
    """The hash of bytes with the seed 0; those behind the last whole block are mixed in alone."""
    whole, code = len(data) & ~3, np.zeros(1, _U32)
    for block in np.frombuffer(data[:whole], "<u4").reshape(-1, 1):
        code = mix(code, block.astype(_U32))
    tail = np.frombuffer(data[whole:].ljust(4, b"\0"), "<u4").astype(_U32)
    code = code ^ (_rotate(tail * _U32(0xCC9E2D51), 15) * _U32(0x1B873593))
    return int(finish(code, len(data))[0])


def _rotate(words: Words, bits: int) -> Words:
    return (words << _U32(bits)) | (words >> _U32(32 - bits))


def partition_numbers(keys: Sequence[npt.NDArray[np.int64]], count: int) -> npt.NDArray[np.int64]:
    """Partition of each row, from 0, by equally long key columns of bigints."""
    if count < 1:
        raise UsageError(f"a table needs at least one slice, not {count}")
    code = np.full(keys[0].shape, 42, dtype=np.uint32)
    for column in keys:
        lower, upper = halves(column)
        code = finish(mix(mix(code, lower), upper), 8)
    return code.view(np.int32).astype(np.int64) % count
