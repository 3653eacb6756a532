"""Into which bucket of a Paimon table a key falls.

A table of n buckets puts a row into `abs(h % n)`, where the remainder has the sign of h (Java's).
h is the 32-bit Murmur3, seed 42, over the words of the key's binary row: eight bytes of header and
nulls, then eight for each number (MurmurHashUtils.hashBytesByWords in paimon-common).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from seambase.errors import UsageError
from seambench.formats.murmur import finish, halves, mix


def bucket_numbers(keys: Sequence[npt.NDArray[np.int64]], buckets: int) -> npt.NDArray[np.int64]:
    """Bucket of each row, from 0, by equally long key columns: ints from 0 on, or bigints."""
    if buckets < 1:
        raise UsageError(f"a table needs at least one slice, not {buckets}")
    code = np.full(keys[0].shape, 42, dtype=np.uint32)
    nothing = np.zeros(keys[0].shape, dtype=np.uint32)
    words = [nothing, nothing, *(half for column in keys for half in halves(column))]
    for word in words:
        code = mix(code, word)
    code = finish(code, 4 * len(words))
    return np.abs(np.fmod(code.view(np.int32).astype(np.int64), buckets))
