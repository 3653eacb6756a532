"""Into which of Spark's partitions a key falls: the 32-bit Murmur3 of Spark's `hash`, as a number.

`repartition(n, key, ...)` puts a row into partition `hash(key, ...) mod n`, never negative, where
the hash of each column is the seed of the next one's and the first seed is 42. The algorithm is
Austin Appleby's MurmurHash3_x86_32; a bigint is two blocks of four bytes, the lower first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from seambase.errors import UsageError

__all__ = ["partition_numbers"]

_U32 = np.uint32
_Words = npt.NDArray[np.uint32]


def partition_numbers(keys: Sequence[npt.NDArray[np.int64]], count: int) -> npt.NDArray[np.int64]:
    """Partition of each row.

    Args:
        keys: the key columns as bigints, equally long.
        count: number of partitions.

    Returns:
        Numbers in `0 .. count - 1`.
    """
    if count < 1:
        raise UsageError(f"a table needs at least one slice, not {count}")
    code: _Words = np.full(keys[0].shape, 42, dtype=_U32)
    for column in keys:
        words = column.view(np.uint64)
        code = _mix(code, (words & np.uint64(0xFFFFFFFF)).astype(_U32))
        code = _finish(_mix(code, (words >> np.uint64(32)).astype(_U32)), 8)
    return code.view(np.int32).astype(np.int64) % count


def _rotate(words: _Words, bits: int) -> _Words:
    return (words << _U32(bits)) | (words >> _U32(32 - bits))


def _mix(code: _Words, block: _Words) -> _Words:
    """Take in one block of four bytes."""
    code = code ^ (_rotate(block * _U32(0xCC9E2D51), 15) * _U32(0x1B873593))
    return _rotate(code, 13) * _U32(5) + _U32(0xE6546B64)


def _finish(code: _Words, length: int) -> _Words:
    """Let every bit of the hash depend on every other."""
    code = code ^ _U32(length)
    code = (code ^ (code >> _U32(16))) * _U32(0x85EBCA6B)
    code = (code ^ (code >> _U32(13))) * _U32(0xC2B2AE35)
    return code ^ (code >> _U32(16))
