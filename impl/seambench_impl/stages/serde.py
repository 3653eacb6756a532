"""The serde's steps over a batch, ready to be timed. Names are shared with the peers' steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from seambase.serde import SerdeField
from seambase.type_fields import fields_of
from seambench.contracts.common import Stage
from seamkit.core.memory import TrackedAllocator
from seamkit.serde.checksum import page_checksum
from seamkit.serde.presto.header import HEADER_BYTES
from seamkit.serde.presto.read import PageReader, deserialize
from seamkit.serde.presto.write import PageWriter, serialize
from seamkit.serde.rows.codec import RowCodec
from seamkit.serde.rows.compact_row import CompactRows
from seamkit.serde.rows.unsafe_row import UnsafeRows

__all__ = ["PAGE_VARIANTS", "page_stages", "row_stages"]

#: Name of a step's variant and the options of its pages.
PAGE_VARIANTS: dict[str, dict[str, Any]] = {
    "presto": {},
    "presto+lz4+crc32": {"codec": "lz4", "checksum": True},
}
_PARTS = 64


def page_stages(batch: pa.RecordBatch, allocator: TrackedAllocator) -> list[Stage]:
    """Pages written and read, plain and with LZ4 and a checksum; one written in 64 parts.

    Bytes are those of the uncompressed payload. Rows dealt to 64 parts are every 64th row.

    Raises:
        seambase.errors.RefusedError: a column that Presto has no type for.
    """
    fields = fields_of(batch.schema, "presto")
    payload = len(serialize(batch, fields, allocator=allocator)) - HEADER_BYTES
    stages = []
    for name, options in PAGE_VARIANTS.items():
        stages += _page_stages(name, batch, fields, options, payload, allocator)
    return [
        *stages,
        _parts_stage(batch, fields, payload, allocator),
        _checksum_stage(batch, fields, allocator),
    ]


def _page_stages(
    name: str,
    batch: pa.RecordBatch,
    fields: Sequence[SerdeField],
    options: dict[str, Any],
    payload: int,
    allocator: TrackedAllocator,
) -> list[Stage]:
    writer = PageWriter(fields, options, allocator=allocator)
    reader = PageReader(fields, options, allocator=allocator)
    page = memoryview(writer.write(batch))
    return [
        Stage(
            f"{name}/serialize",
            lambda: writer.write(batch),
            lambda data: pa.Table.from_batches(deserialize(data, fields, options)),
            payload,
        ),
        Stage(
            f"{name}/deserialize", lambda: list(reader.read(page)), pa.Table.from_batches, payload
        ),
    ]


def _parts_stage(
    batch: pa.RecordBatch, fields: Sequence[SerdeField], payload: int, allocator: TrackedAllocator
) -> Stage:
    numbers = np.arange(batch.num_rows, dtype=np.int32)
    parts = [np.ascontiguousarray(numbers[part::_PARTS]) for part in range(_PARTS)]
    writer = PageWriter(fields, allocator=allocator)
    return Stage(
        f"presto/serialize {_PARTS} parts",
        lambda: writer.write_many(batch, parts),
        lambda pages: pa.Table.from_batches(
            [found for page in pages for found in deserialize(page, fields)]
        ),
        payload,
    )


def _checksum_stage(
    batch: pa.RecordBatch, fields: Sequence[SerdeField], allocator: TrackedAllocator
) -> Stage:
    page = memoryview(serialize(batch, fields, allocator=allocator))
    payload = page[HEADER_BYTES:]

    def rows(checksum: int) -> pa.Table:
        checked = memoryview(serialize(batch, fields, {"checksum": True}))
        found = int.from_bytes(checked[13:HEADER_BYTES], "little")
        return pa.Table.from_batches([batch if found == checksum else batch.slice(1)])

    return Stage(
        "presto/checksum",
        lambda: page_checksum(payload, 4, batch.num_rows, len(payload)),
        rows,
        len(payload),
    )


def row_stages(batch: pa.RecordBatch, allocator: TrackedAllocator) -> list[Stage]:
    """UnsafeRows and CompactRows made of columns, and columns of them. Bytes are the rows'.

    Raises:
        seambase.errors.RefusedError: a column that Spark has no type for.
    """
    fields = fields_of(batch.schema, "spark")
    return [
        *_row_stages("unsaferow", UnsafeRows(fields, allocator=allocator), batch),
        *_row_stages("compactrow", CompactRows(fields, allocator), batch),
    ]


def _row_stages(name: str, codec: RowCodec, batch: pa.RecordBatch) -> list[Stage]:
    made = codec.serialize(batch, framing="packed")
    bytes_ = int(made.lengths.sum())
    return [
        Stage(
            f"{name}/serialize",
            lambda: codec.serialize(batch, framing="packed"),
            lambda found: codec.deserialize(
                found.data, lengths=found.lengths, offsets=found.offsets
            ),
            bytes_,
        ),
        Stage(
            f"{name}/deserialize",
            lambda: codec.deserialize(made.data, lengths=made.lengths, offsets=made.offsets),
            lambda found: found,
            bytes_,
        ),
    ]
