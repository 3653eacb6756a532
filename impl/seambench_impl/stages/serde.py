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
from seamkit.serde.compression import compress, decompress
from seamkit.serde.presto.layout import HEADER_BYTES, page_checksum
from seamkit.serde.presto.read import PageReader, deserialize
from seamkit.serde.presto.write import PageWriter, serialize
from seamkit.serde.rows.codec import RowCodec, UnsafeRows
from seamkit.serde.rows.serde import CompactRows
from seamkit.serde.selection import Rows
from seamkit.serde.stream.byte_stream import ByteInputStream
from seamkit.serde.stream.presto import PrestoVectorSerde, append_partitions
from seamkit.serde.stream.result import StreamArena, VectorResult

#: Name of a step's variant and the options of its pages.
PAGE_VARIANTS: dict[str, dict[str, Any]] = {
    "presto": {},
    "presto+lz4+crc32": {"codec": "lz4", "checksum": True},
}
_PARTS = 64


def page_stages(batch: pa.RecordBatch, allocator: TrackedAllocator) -> list[Stage]:
    """Pages written and read, plain and with LZ4 and a checksum; one written in 64 parts.

    `append` collects rows in iterative serializers and flushes them, `reread` reads a page into a
    result with the buffers of the one before, `lz4` is the codec alone. Bytes are those of the
    uncompressed payload. Rows dealt to 64 parts are every 64th row.
    """
    fields = fields_of(batch.schema, "presto")
    payload = len(serialize(batch, fields, allocator=allocator)) - HEADER_BYTES
    stages = []
    for name, options in PAGE_VARIANTS.items():
        stages += _page_stages(name, batch, fields, options, payload, allocator)
    return [
        *stages,
        _parts_stage(batch, fields, payload, allocator),
        _append_stage("presto/append", batch, fields, [None], payload, allocator),
        _append_stage(
            f"presto/append {_PARTS} parts", batch, fields, _parts(batch), payload, allocator
        ),
        _reread_stage(batch, fields, payload, allocator),
        _checksum_stage(batch, fields, allocator),
        _compress_stage(batch, fields, allocator),
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


def _parts(batch: pa.RecordBatch) -> list[Any]:
    numbers = np.arange(batch.num_rows, dtype=np.int32)
    return [np.ascontiguousarray(numbers[part::_PARTS]) for part in range(_PARTS)]


def _parts_stage(
    batch: pa.RecordBatch, fields: Sequence[SerdeField], payload: int, allocator: TrackedAllocator
) -> Stage:
    parts = _parts(batch)
    writer = PageWriter(fields, allocator=allocator)
    return Stage(
        f"presto/serialize {_PARTS} parts",
        lambda: writer.write_many(batch, parts),
        lambda pages: pa.Table.from_batches(
            [found for page in pages for found in deserialize(page, fields)]
        ),
        payload,
    )


class _Pieces:
    """An output stream that keeps what it gets where it lies, as a socket's call takes it."""

    def __init__(self) -> None:
        self.pieces: list[memoryview] = []

    def write(self, data: memoryview) -> None:
        """Keep it."""
        self.pieces.append(data)


class _Appended:
    """Serializers of a batch's parts, emptied before they are filled again."""

    def __init__(
        self, fields: Sequence[SerdeField], parts: Sequence[Rows], allocator: TrackedAllocator
    ) -> None:
        serde = PrestoVectorSerde(allocator)
        self._parts = parts
        self._arenas = [StreamArena(allocator) for _ in parts]
        self._serializers = [serde.iterative(fields, {}, arena) for arena in self._arenas]

    def run(self, batch: pa.RecordBatch) -> list[_Pieces]:
        """Append all parts and flush each; the pieces are good until the next run."""
        self._clear()
        append_partitions(self._serializers, batch, self._parts)
        outs = [_Pieces() for _ in self._parts]
        for serializer, out in zip(self._serializers, outs, strict=True):
            serializer.flush(out)
        return outs

    def _clear(self) -> None:
        for serializer, arena in zip(self._serializers, self._arenas, strict=True):
            serializer.clear()
            arena.clear()

    def __del__(self) -> None:
        self._clear()


def _append_stage(
    name: str,
    batch: pa.RecordBatch,
    fields: Sequence[SerdeField],
    parts: Sequence[Rows],
    payload: int,
    allocator: TrackedAllocator,
) -> Stage:
    appended = _Appended(fields, parts, allocator)

    def rows(outs: list[_Pieces]) -> pa.Table:
        pages = [b"".join(out.pieces) for out in outs]
        return pa.Table.from_batches([one for page in pages for one in deserialize(page, fields)])

    return Stage(name, lambda: appended.run(batch), rows, payload)


def _reread_stage(
    batch: pa.RecordBatch, fields: Sequence[SerdeField], payload: int, allocator: TrackedAllocator
) -> Stage:
    page = memoryview(serialize(batch, fields, allocator=allocator))
    serde, result = PrestoVectorSerde(allocator), VectorResult()

    def run() -> pa.RecordBatch:
        result.clear()
        source = ByteInputStream([page], allocator)
        return serde.deserialize(source, fields, {}, result).batch()

    return Stage("presto/reread", run, lambda found: pa.Table.from_batches([found]), payload)


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


def _compress_stage(
    batch: pa.RecordBatch, fields: Sequence[SerdeField], allocator: TrackedAllocator
) -> Stage:
    """The codec's library alone: no page with LZ4 is written faster than that."""
    page = bytes(serialize(batch, fields, allocator=allocator))
    payload = page[HEADER_BYTES:]

    def rows(block: memoryview) -> pa.Table:
        found = decompress("lz4", block, len(payload), allocator)
        return pa.Table.from_batches(deserialize(page[:HEADER_BYTES] + bytes(found), fields))

    return Stage("presto/lz4", lambda: compress("lz4", payload, allocator), rows, len(payload))


def row_stages(batch: pa.RecordBatch, allocator: TrackedAllocator) -> list[Stage]:
    """UnsafeRows and CompactRows made of columns, and columns of them. Bytes are the rows'."""
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
