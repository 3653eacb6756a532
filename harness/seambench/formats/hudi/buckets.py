"""Which file group of a bucket-indexed Hudi table a record key falls into.

Hudi (BucketIdentifier in hudi-client-common) takes the values of the index key fields as texts,
the hash code of that Java list, clears its sign bit and takes the remainder by the number of
buckets. The file id of the group then starts with the bucket number in eight digits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from seambase.errors import UsageError

_POWERS_OF_TEN = [np.int64(10**digit) for digit in range(19)]


def string_hash_codes(values: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
    """Java's `Long.toString(value).hashCode()` of each value, as its 32 bits without sign."""
    if values.size and int(values.min()) < 0:
        raise UsageError(f"bucket hash of a negative key ({int(values.min())}) is not supported")
    codes = np.zeros(values.shape, dtype=np.uint32)
    digits = len(str(int(values.max()))) if values.size else 1
    for power in reversed(_POWERS_OF_TEN[:digits]):
        digit = ((values // power) % 10).astype(np.uint32)
        # A leading zero leaves the code at 0; the last digit always counts, as 0 is written "0".
        written = (values >= power) | (power == 1)
        codes = np.where(written, codes * np.uint32(31) + digit + np.uint32(48), codes)
    return codes


def bucket_numbers(keys: Sequence[npt.NDArray[np.int64]], buckets: int) -> npt.NDArray[np.int64]:
    """Bucket of each row, from 0, by key columns in the order of the table's record key."""
    if buckets < 1:
        raise UsageError(f"a table needs at least one slice, not {buckets}")
    code = np.ones(keys[0].shape, dtype=np.uint32)
    for column in keys:
        code = code * np.uint32(31) + string_hash_codes(column)
    return (code & np.uint32(0x7FFFFFFF)).astype(np.int64) % buckets
