"""The steps between columns and rows, ready to be timed."""

from __future__ import annotations

from functools import partial

import pyarrow as pa

from seambench.seams import Stage
from seambench.serde_fields import fields_of
from seambench_impl.memory import TrackedAllocator
from seambench_impl.serde.rows.codec import RowBytes, RowCodec
from seambench_impl.serde.rows.compact_row import CompactRows
from seambench_impl.serde.rows.unsafe_row import UnsafeRows

__all__ = ["row_stages"]


def row_stages(batch: pa.RecordBatch, allocator: TrackedAllocator) -> list[Stage]:
    """Columns to rows and back, for both formats: rows end to end, into the same bytes each time.

    Raises:
        seambench.errors.RefusedError: a column of a type that Spark does not have.
    """
    fields = fields_of(batch.schema, "spark")
    found = []
    for name, kind in (("unsaferow", UnsafeRows), ("compactrow", CompactRows)):
        codec = kind(fields, allocator=allocator)
        rows = codec.serialize(batch, framing="packed")
        write = partial(codec.serialize, batch, framing="packed", out=rows.data)
        read = partial(codec.deserialize, rows.data, lengths=rows.lengths)
        found += [
            Stage(f"{name}/serialize", write, partial(_read, codec)),
            Stage(f"{name}/deserialize", read, _itself),
        ]
    return found


def _read(codec: RowCodec, rows: RowBytes) -> pa.RecordBatch:
    return codec.deserialize(rows.data, lengths=rows.lengths)


def _itself(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch
