"""All formats as one serde: what the suites and the command line see.

Arrow streams are not among them: pyarrow writes and reads those (`peers.arrow_ipc`), and
offering the same code under two names would let a comparison of the two prove nothing.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from seambase.serde import CODECS, SerdeRequest
from seambase.types import TYPE_WORDS
from seambench import __version__
from seambench.contracts.common import Kind, Stage
from seambench.contracts.serde import Operated, StreamStep
from seambench_impl.stages.serde import page_stages, row_stages
from seamkit.core.memory import MemoryPool, TrackedAllocator
from seamkit.gluten.rows import columns_to_rows, rows_to_columns
from seamkit.serde.presto.read import deserialize as read_pages
from seamkit.serde.presto.write import serialize as write_page
from seamkit.serde.rows.codec import UnsafeRows
from seamkit.serde.rows.serde import deserialize as read_rows
from seamkit.serde.rows.serde import serialize as write_rows
from seamkit.serde.selection import Rows
from seamkit.serde.stream.byte_stream import ByteInputStream
from seamkit.serde.stream.registry import serde_named
from seamkit.serde.stream.result import StreamArena, VectorResult

_FORMATS = ("presto", "unsaferow", "compactrow")
_VECTOR_SERDES = {"presto": "Presto", "unsaferow": "UnsafeRow", "compactrow": "CompactRow"}

#: Bounds of what operators make at once, where a request states none.
_BATCH_BYTES, _BATCH_ROWS = 64 << 20, 4096

Bytes = bytes | bytearray | memoryview


class SeambenchSerde:
    """Implements `seambench.contracts.serde.Serde` for every format, over the C core.

    All that it hands out comes from one tracked allocator.
    """

    name = "seambench"
    version = __version__
    kind: Kind = "reference"
    capabilities: Mapping[str, bool] = dict.fromkeys(
        (
            *("serialize", "deserialize", "re-encode", "strict", "limits", "checksum"),
            *("stream", "reread", "operate", "batch-rows", "thresholds"),
            *("encodings.dictionary", "encodings.rle", "dialects.velox", "nulls-first"),
            *("timestamps.micros", "timestamps.lossless", "writers.velox"),
            *(f"framings.{framing}" for framing in ("be32", "packed", "velox-group")),
            *(f"formats.{format_}" for format_ in _FORMATS),
            *(f"codecs.{codec}" for codec in CODECS),
            *(f"types.{word}" for word in TYPE_WORDS),
        ),
        True,
    )

    def __init__(self) -> None:
        self._allocator = TrackedAllocator()
        self._readers: list[TrackedAllocator] = []

    def serialize(self, request: SerdeRequest, batches: Sequence[pa.RecordBatch]) -> bytes:
        """One page for each batch, or the rows of all."""
        if request.format == "presto":
            return b"".join(memoryview(self._page(request, batch)) for batch in batches)
        return bytes(
            write_rows(
                request.format,
                batches,
                request.fields,
                request.options,
                allocator=self._allocator,
            )
        )

    def _page(self, request: SerdeRequest, batch: pa.RecordBatch) -> pa.Buffer:
        return write_page(batch, request.fields, request.options, allocator=self._allocator)

    def deserialize(self, request: SerdeRequest, data: Bytes) -> list[pa.RecordBatch]:
        """A batch for each page, or one for all rows."""
        if request.format == "presto":
            return read_pages(data, request.fields, request.options, allocator=self._allocator)
        # Rows are held to their limit by an allocator of their own.
        limit = request.options.get("size_limit", 0)
        allocator = TrackedAllocator(limit if isinstance(limit, int) and limit > 0 else 0)
        self._readers.append(allocator)
        return [
            read_rows(request.format, data, request.fields, request.options, allocator=allocator)
        ]

    def stream(
        self,
        request: SerdeRequest,
        batches: Sequence[pa.RecordBatch],
        steps: Sequence[StreamStep],
    ) -> bytes:
        """What the steps flush and write; see the contract.

        The memory is that of an operator in a query's tree of pools.
        """
        serde = serde_named(_VECTOR_SERDES[request.format])
        operator = MemoryPool("query").child("task").child("exchange")
        arena, out = StreamArena(operator.allocator()), io.BytesIO()
        at_once = serde.batch(request.fields, request.options)
        if all(step.do == "write" for step in steps):  # options may be for these alone
            for step in steps:
                at_once.serialize(batches[step.batch], out, _rows(step))
            return out.getvalue()
        begun = batches[0].num_rows if batches else 0  # as an operator would expect them
        serializer = serde.iterative(request.fields, request.options, arena, begun)
        for step in steps:
            rows = _rows(step)
            if step.do == "append":
                serializer.append(batches[step.batch], rows)
            elif step.do == "flush":
                serializer.flush(out)
            elif step.do == "clear":
                serializer.clear()
                arena.clear()
            else:
                at_once.serialize(batches[step.batch], out, rows)
        serializer.clear()
        arena.clear()
        return out.getvalue()

    def reread(
        self, request: SerdeRequest, data: Bytes, times: int
    ) -> tuple[list[pa.RecordBatch], list[int]]:
        """Read one page or group again and again into one result; see the contract."""
        serde, result = serde_named(_VECTOR_SERDES[request.format]), VectorResult()
        blocks = []
        for _ in range(times):
            result.clear()
            source = ByteInputStream([data], self._allocator)
            serde.deserialize(source, request.fields, request.options, result)
            blocks.append(result.allocator.counters().total_blocks)
        return [result.batch()], blocks

    def operate(self, request: SerdeRequest, batches: Sequence[pa.RecordBatch]) -> Operated:
        """Columns to rows and back as Gluten's converters do; see the contract."""
        options = request.options
        codec = UnsafeRows(request.fields, options.get("writer", "spark"), self._allocator)
        most = int(options.get("threshold_bytes", _BATCH_BYTES))
        calls: list[list[bytes]] = []
        for batch in batches:
            for rows in columns_to_rows(codec, batch, most):
                spans = zip(rows.offsets.tolist(), rows.lengths.tolist(), strict=True)
                calls.append([bytes(rows.data[at : at + size]) for at, size in spans])
        listed = [row for call in calls for row in call]
        lengths = np.array([len(row) for row in listed], np.int64)
        batch_rows = int(options.get("batch_rows", _BATCH_ROWS))
        made = rows_to_columns(
            codec, b"".join(listed), lengths, batch_rows=batch_rows, batch_bytes=most
        )
        return Operated(calls, list(made))

    def stages(self, batch: pa.RecordBatch) -> list[Stage]:
        """Pages and rows written and read."""
        return [*page_stages(batch, self._allocator), *row_stages(batch, self._allocator)]

    def live_blocks(self) -> int:
        """Blocks of memory still held for what was handed out."""
        self._readers = [one for one in self._readers if one.counters().live_blocks]
        return sum(one.counters().live_blocks for one in [self._allocator, *self._readers])


def _rows(step: StreamStep) -> Rows:
    return step.rows if step.range is None else range(*step.range)
