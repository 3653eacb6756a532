"""All formats as one serde: what the suites and the command line see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from seambench import __version__
from seambench.errors import UsageError
from seambench.seams import Kind, SerdeRequest, Stage
from seambench.serde_types import TYPE_WORDS, schema_of
from seambench_impl.memory import TrackedAllocator
from seambench_impl.peers.arrow_ipc import read_arrow, write_arrow
from seambench_impl.serde.presto.read import deserialize as read_pages
from seambench_impl.serde.presto.write import serialize as write_page
from seambench_impl.serde.rows.codec import RowCodec
from seambench_impl.serde.rows.compact_row import CompactRows
from seambench_impl.serde.rows.program import RowProgram
from seambench_impl.serde.rows.unsafe_row import UnsafeRows
from seambench_impl.serde.stages import page_stages, row_stages

__all__ = ["SeambenchSerde"]

_FORMATS = ("presto", "unsaferow", "compactrow", "arrow")
_CODECS = ("lz4", "zstd", "snappy", "gzip", "zlib")
_ROW_OPTIONS = frozenset({"writer", "framing", "lengths", "offsets", "size_limit", "depth_limit"})

Bytes = bytes | bytearray | memoryview


class SeambenchSerde:
    """Implements `seambench.seams.Serde` for every format, over the C core.

    All that it hands out comes from one tracked allocator.
    """

    name = "seambench"
    version = __version__
    kind: Kind = "reference"
    capabilities: Mapping[str, bool] = dict.fromkeys(
        (
            *("serialize", "deserialize", "re-encode", "strict", "limits", "checksum"),
            *("encodings.dictionary", "encodings.rle", "dialects.velox", "nulls-first"),
            *("timestamps.micros", "timestamps.lossless", "writers.velox"),
            *("framings.be32", "framings.packed"),
            *(f"formats.{format_}" for format_ in _FORMATS),
            *(f"codecs.{codec}" for codec in _CODECS),
            *(f"types.{word}" for word in TYPE_WORDS),
        ),
        True,
    )

    def __init__(self) -> None:
        self._allocator = TrackedAllocator()

    def serialize(self, request: SerdeRequest, batches: Sequence[pa.RecordBatch]) -> bytes:
        """One page for each batch, the rows of all, or an Arrow stream.

        Raises:
            seambench.errors.UsageError: batches, options or types that do not fit.
            seambench.errors.InputError: a value that its type cannot have.
            seambench.errors.RefusedError: a type or option that the format does not have.
        """
        if request.format == "presto":
            return b"".join(memoryview(self._page(request, batch)) for batch in batches)
        if request.format == "arrow":
            return write_arrow(request, batches)
        codec, options = self._rows(request)
        framing = options.get("framing", "be32")
        parts = [codec.serialize(batch, framing=framing).data for batch in batches]
        return b"".join(parts)

    def _page(self, request: SerdeRequest, batch: pa.RecordBatch) -> pa.Buffer:
        return write_page(batch, request.fields, request.options, allocator=self._allocator)

    def deserialize(self, request: SerdeRequest, data: Bytes) -> list[pa.RecordBatch]:
        """A batch for each page, one for all rows, or those of an Arrow stream.

        Raises:
            seambench.errors.UsageError: options or types that do not fit.
            seambench.errors.InputError: the bytes break their format; the message names the offset.
            seambench.errors.RefusedError: a limit, or what the format does not have.
        """
        if request.format == "presto":
            return read_pages(data, request.fields, request.options, allocator=self._allocator)
        if request.format == "arrow":
            return read_arrow(request, data)
        codec, options = self._rows(request)
        lengths, offsets = options.get("lengths"), options.get("offsets")
        if options.get("framing") == "packed" and lengths is None:
            raise UsageError("packed rows need the option lengths: they say nothing of them")
        return [codec.deserialize(data, lengths=lengths, offsets=offsets)]

    def _rows(self, request: SerdeRequest) -> tuple[RowCodec, Mapping[str, Any]]:
        """The codec of a format of rows, and the options checked."""
        options = request.options
        if strange := set(options) - _ROW_OPTIONS:
            raise UsageError(f"format {request.format} has no option {min(strange)!r}")
        schema_of(request)  # refuses formats that there are not, and types by their column
        allocator = self._allocator
        program = RowProgram(request.fields, depth_limit=options.get("depth_limit"))
        if request.format == "compactrow":
            return CompactRows(program, allocator), options
        return UnsafeRows(program, options.get("writer", "spark"), allocator), options

    def stages(self, batch: pa.RecordBatch) -> list[Stage]:
        """Pages and rows written and read.

        Raises:
            seambench.errors.RefusedError: a column that Presto or Spark has no type for.
        """
        return [*page_stages(batch, self._allocator), *row_stages(batch, self._allocator)]

    def live_blocks(self) -> int:
        """Blocks of memory still held for what was handed out."""
        return self._allocator.counters().live_blocks
