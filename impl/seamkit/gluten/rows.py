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

from seambase.errors import UsageError
from seamkit.core.memory import Block
from seamkit.serde.rows.codec import Buffer, Integers, RowCodec

_DEFAULT_BYTES = 64 << 20
_DEFAULT_ROWS = 4096
#: Offsets and lengths of a call have 32 bits.
_MOST_BYTES = 2**31 - 1


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


class RowConverter:
    """Turns batches of one schema into rows, in one buffer that every call writes to.

    Rows of a call have at most `threshold_bytes`, unless one row alone has more.
    """

    def __init__(self, codec: RowCodec, threshold_bytes: int = _DEFAULT_BYTES) -> None:
        if not 0 < threshold_bytes <= _MOST_BYTES:
            raise UsageError(f"threshold_bytes = {threshold_bytes}: 1 to 2^31 - 1 are meant")
        self._codec = codec
        self._threshold = threshold_bytes
        self._block = memoryview(bytearray())

    def convert(self, batch: pa.RecordBatch, first: int = 0) -> ConvertedRows:
        """The rows of a batch from one row on, as many as fit, at least one."""
        if not 0 <= first < batch.num_rows:
            raise UsageError(f"row {first} is not one of the batch's {batch.num_rows}")
        part = batch.slice(first) if first else batch
        rows = self._codec.serialize_up_to(part, self._threshold, self._room)
        offsets, lengths = rows.offsets.astype(np.int32), rows.lengths.astype(np.int32)
        return ConvertedRows(rows.data, offsets, lengths)

    def _room(self, size_bytes: int) -> memoryview:
        """The buffer, a larger one if need be."""
        if size_bytes > len(self._block):
            self._block = Block(self._codec.allocator, size_bytes).view
        return self._block


def columns_to_rows(
    codec: RowCodec, batch: pa.RecordBatch, threshold_bytes: int = _DEFAULT_BYTES
) -> Iterator[ConvertedRows]:
    """Convert a batch in calls of at most `threshold_bytes` bytes, or of one row."""
    converter = RowConverter(codec, threshold_bytes)
    first = 0
    while first < batch.num_rows:
        rows = converter.convert(batch, first)
        yield rows
        first += len(rows.lengths)


def rows_to_columns(
    codec: RowCodec,
    data: Buffer,
    lengths: Integers,
    *,
    batch_rows: int = _DEFAULT_ROWS,
    batch_bytes: int = _DEFAULT_BYTES,
) -> Iterator[pa.RecordBatch]:
    """Batches of rows that stand end to end, each of so many rows and bytes at most.

    One row alone may have more bytes.
    """
    for name, most in (("batch_rows", batch_rows), ("batch_bytes", batch_bytes)):
        if most < 1:
            raise UsageError(f"{name} = {most}: 1 or more is meant")
    sizes = np.asarray(lengths, np.int64)
    ends = np.cumsum(sizes)
    first = 0
    while first < len(sizes):
        before = int(ends[first - 1]) if first else 0
        last = int(np.searchsorted(ends, before + batch_bytes, "right"))
        last = min(max(last, first + 1), first + batch_rows)
        yield codec.deserialize(data, lengths=sizes[first:last], offsets=(ends - sizes)[first:last])
        first = last
