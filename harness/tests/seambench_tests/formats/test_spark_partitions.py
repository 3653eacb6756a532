"""Spark's partitions of keys, worked out without Spark."""

import numpy as np
import pytest

from seambench.formats.murmur import partition_numbers


def _murmur3(blocks: list[int], seed: int) -> int:
    """MurmurHash3_x86_32 of whole blocks, written after its description, one block at a time."""
    code = seed
    for block in blocks:
        mixed = block * 0xCC9E2D51 % 2**32
        mixed = (mixed << 15 | mixed >> 17) % 2**32 * 0x1B873593 % 2**32
        code ^= mixed
        code = ((code << 13 | code >> 19) % 2**32 * 5 + 0xE6546B64) % 2**32
    code ^= 4 * len(blocks)
    code = (code ^ code >> 16) * 0x85EBCA6B % 2**32
    code = (code ^ code >> 13) * 0xC2B2AE35 % 2**32
    return code ^ code >> 16


def test_the_hash_is_murmur3() -> None:
    """Published vectors of MurmurHash3_x86_32: the seed alone, and four bytes."""
    assert _murmur3([], 1) == 0x514E28B7
    assert _murmur3([0x87654321], 0) == 0xF55B516B
    assert _murmur3([0x87654321], 0x5082EDEE) == 0x2362F9DE


@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_partitions_follow_from_the_chained_hash(count: int) -> None:
    """A key's hash seeds the next one's; the remainder of the signed hash is never negative."""
    first = [0, 1, -1, 42, 2**31, 2**40 + 7, -(2**63), 2**63 - 1]
    second = [7, 6, 5, 4, 3, 2, 1, 0]
    wanted = []
    for a, b in zip(first, second, strict=True):
        code = 42
        for key in (a, b):
            code = _murmur3([key % 2**32, (key % 2**64) >> 32], code)
        wanted.append((code - 2**32 if code >= 2**31 else code) % count)
    keys = [np.array(first, dtype=np.int64), np.array(second, dtype=np.int64)]
    assert partition_numbers(keys, count).tolist() == wanted
