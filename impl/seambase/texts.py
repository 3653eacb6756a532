"""Columns of texts whose soundness is seen from their buffers, not text by text."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

__all__ = ["is_plain", "is_text"]

# By the id of the type: pyarrow's extension types cannot be hashed.
_OFFSETS = {pa.string().id: np.int32, pa.large_string().id: np.int64}


def is_text(kind: pa.DataType) -> bool:
    """Whether `is_plain` can be asked about columns of this type."""
    return kind.id in _OFFSETS


def is_plain(column: pa.Array) -> bool:
    """Whether offsets are in order and within the data, and all texts ASCII.

    It takes a quarter of the time that Arrow takes to look at each text; of a column that is not
    plain, Arrow says what is wrong, if anything is.

    Args:
        column: of a type that `is_text`, its buffers as long as `validate` makes sure.
    """
    _, offsets, data = column.buffers()
    # The offsets of a column without rows may be no bytes at all.
    if offsets is None or data is None or not len(column):
        return False
    ends = np.frombuffer(offsets, _OFFSETS[column.type.id])
    ends = ends[column.offset : column.offset + len(column) + 1]
    first, last = int(ends[0]), int(ends[-1])
    if first < 0 or last > data.size or (ends[1:] < ends[:-1]).any():
        return False
    content = np.frombuffer(data, np.uint8)[first:last]
    return not len(content) or int(content.max()) < 0x80
