"""Buffers between columns and rows, as Gluten's converters hand them over (snapshot of March 2026).

Columns to rows: offsets and lengths of 32 bits and one address; one call converts as many rows as
fit a number of bytes, at least one, and the buffer is the same for every call: rows die with the
next. Rows to columns: rows end to end and lengths of 64 bits; a batch ends at a number of rows or
of bytes, and holds at least one row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from seamkit.core.memory import Block
from seamkit.serde.rows.codec import Buffer, Integers, RowCodec

__all__ = ["ConvertedRows", "columns_to_rows", "rows_to_columns"]

_DEFAULT_BYTES = 64 << 20
_DEFAULT_ROWS = 4096


@dataclass(frozen=True)
class ConvertedRows:
    """Rows of one call. They die with the next call, which writes to the same bytes.

    Attributes:
        data: the rows end to end, without lengths or gaps between them.
        offsets: where each begins (int32).
        lengths: bytes of each (int32).
    """

    data: memoryview
    offsets: np.ndarray[Any, Any]
    lengths: np.ndarray[Any, Any]


def columns_to_rows(
    codec: RowCodec, batch: pa.RecordBatch, threshold_bytes: int = _DEFAULT_BYTES
) -> Iterator[ConvertedRows]:
    """Convert a batch in calls of at most `threshold_bytes` bytes, or of one row.

    A batch without rows needs no call.

    Raises:
        UsageError: see `RowCodec.serialize`.
        InputError: see `RowCodec.serialize`.
        RefusedError: see `RowCodec.serialize`.
    """
    lengths = codec.sizes(batch)
    ends = np.cumsum(lengths)
    block = memoryview(bytearray())
    first = 0
    while first < batch.num_rows:
        before = int(ends[first - 1]) if first else 0
        last = int(np.searchsorted(ends, before + threshold_bytes, "right"))
        last = max(last, first + 1)
        size = int(ends[last - 1]) - before
        if size > len(block):
            block = Block(codec.allocator, max(size, min(threshold_bytes, int(ends[-1])))).view
        rows = codec.serialize(batch.slice(first, last - first), framing="packed", out=block)
        yield ConvertedRows(rows.data, rows.offsets.astype(np.int32), rows.lengths.astype(np.int32))
        first = last


def rows_to_columns(
    codec: RowCodec,
    data: Buffer,
    lengths: Integers,
    *,
    batch_rows: int = _DEFAULT_ROWS,
    batch_bytes: int = _DEFAULT_BYTES,
) -> Iterator[pa.RecordBatch]:
    """Batches of rows that stand end to end.

    Args:
        codec: of the rows.
        data: the rows.
        lengths: bytes of each row.
        batch_rows: most rows of a batch.
        batch_bytes: most bytes of rows in a batch, unless one row alone has more.

    Raises:
        InputError: see `RowCodec.deserialize`.
        RefusedError: see `RowCodec.deserialize`.
    """
    sizes = np.asarray(lengths, np.int64)
    ends = np.cumsum(sizes)
    first = 0
    while first < len(sizes):
        before = int(ends[first - 1]) if first else 0
        last = int(np.searchsorted(ends, before + batch_bytes, "right"))
        last = min(max(last, first + 1), first + batch_rows)
        yield codec.deserialize(data, lengths=sizes[first:last], offsets=(ends - sizes)[first:last])
        first = last
