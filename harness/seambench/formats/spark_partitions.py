"""Into which of Spark's partitions a key falls: the 32-bit Murmur3 of Spark's `hash`, as a number.

`repartition(n, key, ...)` puts a row into partition `hash(key, ...) mod n`, never negative, where
the hash of each column is the seed of the next one's and the first seed is 42. A bigint is two
blocks of four bytes, the lower first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from seambase.errors import UsageError
from seambench.formats.murmur import finish, halves, mix


def partition_numbers(keys: Sequence[npt.NDArray[np.int64]], count: int) -> npt.NDArray[np.int64]:
    """Partition of each row, from 0, by equally long key columns of bigints."""
    if count < 1:
        raise UsageError(f"a table needs at least one slice, not {count}")
    code = np.full(keys[0].shape, 42, dtype=np.uint32)
    for column in keys:
        lower, upper = halves(column)
        code = finish(mix(mix(code, lower), upper), 8)
    return code.view(np.int32).astype(np.int64) % count
