"""Presto pages by the stream: many small appends as a page, pages read from any ranges.

The iterative serializer always writes values: dictionaries and runs are expanded, and null flags
are there exactly when a null is, as Velox's PrestoIterativeVectorSerializer does it (snapshot of
August 2026). The batch serializer is the page writer, which keeps encodings.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from seambase.errors import UsageError
from seambase.serde import SerdeField
from seambase.types import parse_presto
from seambase.wording import counted
from seamkit.core._seam import ffi, lib
from seamkit.core.border import ExportedBatch, address, call, check, made, new_error
from seamkit.core.memory import Block, TrackedAllocator
from seamkit.serde.compression import Skipper
from seamkit.serde.presto.layout import HEADER_BYTES, PageHeader, read_header
from seamkit.serde.presto.options import PageOptions
from seamkit.serde.presto.read import PageReader
from seamkit.serde.presto.schema import PageSchema, page_schema
from seamkit.serde.presto.write import PageWriter, finish_page
from seamkit.serde.selection import Rows, Selections
from seamkit.serde.stream.byte_stream import ByteInputStream
from seamkit.serde.stream.registry import OutputStream
from seamkit.serde.stream.result import StreamArena, VectorResult
from seamkit.serde.vectors import Columns


class OpenBatch:
    """A batch made ready for serializers of one schema: open it once, append from it often.

    It is a `pyarrow.RecordBatch`, or columns in any dress (`seamkit.serde.vectors`), and is kept
    alive. Of the rows that will be appended, all by default, lazy columns load theirs.
    """

    def __init__(
        self,
        schema: PageSchema,
        batch: Columns,
        allocator: TrackedAllocator,
        selections: Sequence[Rows] = (None,),
    ) -> None:
        batch = schema.batch(batch, selections)
        self.schema = schema
        self.num_rows: int = batch.num_rows
        self._exported = ExportedBatch(batch)
        make, free = lib.seam_presto_source_new, lib.seam_presto_source_free
        given = allocator.pointer, schema.program, self._exported.schema, self._exported.array
        self.pointer = made(ffi.new("struct seam_presto_source **"), make, free, *given)


class PrestoIterativeSerializer:
    """An `IterativeSerializer` of Presto pages; their `encodings` is taken as `flatten`."""

    def __init__(
        self, schema: PageSchema, options: PageOptions, arena: StreamArena, rows: int = 0
    ) -> None:
        if options.layout != "plain" or options.hash_tables or options.preserve_encodings:
            raise UsageError(
                "an iterative serializer writes plain values without hash tables: leave out the "
                "options layout, hash_tables and preserve_encodings, or use the batch serializer"
            )
        self.schema = schema
        self.options = options
        self.arena = arena
        self._skipper = Skipper()
        self._error = new_error()
        make, free = lib.seam_presto_stream_new, lib.seam_presto_stream_free
        given = schema.program, arena.pointer, options.flags
        self.pointer = made(ffi.new("struct seam_presto_stream **"), make, free, *given)
        if rows:
            code = lib.seam_presto_stream_set_aside(self.pointer, rows, self._error)
            check(code, self._error, by_caller=True)
            arena.hold(self)

    @property
    def num_rows(self) -> int:
        """Rows appended since the last clear."""
        return int(lib.seam_presto_stream_rows(self.pointer))

    def open(self, batch: Columns, selections: Sequence[Rows] = (None,)) -> OpenBatch:
        """A batch ready for this serializer and all others of the same columns; see `OpenBatch`."""
        return OpenBatch(self.schema, batch, self.arena.allocator, selections)

    def append(self, batch: Columns | OpenBatch, rows: Rows = None) -> None:
        """Append rows of a batch, of columns in any dress, or of what `open` made of them."""
        append_partitions([self], batch, [rows])

    def estimate(self, batch: Any, rows: Rows = None) -> Any:
        """Upper bounds, as an int64 array, of the bytes that each row would take.

        Values, lengths and flags are counted. A page of rows appended to an empty serializer is
        never larger, uncompressed, than their sum and the page of an empty serializer and a byte
        for each column, those within columns included. Where every row is a value, the sum is at
        most a byte for each row and a bit for each value above what is written.
        """
        opened = self._opened(batch, [rows])
        chosen = Selections([rows], opened.num_rows)
        sizes = np.empty(chosen.counts[0], np.int64)
        to = ffi.from_buffer("int64_t[]", sizes)
        code = lib.seam_presto_stream_estimate(
            opened.pointer, chosen.pointer, self.options.flags, to, self._error
        )
        check(code, self._error, by_caller=True)
        return sizes

    def _opened(self, batch: Columns | OpenBatch, selections: Sequence[Rows]) -> OpenBatch:
        return batch if isinstance(batch, OpenBatch) else self.open(batch, selections)

    def _payload_bytes(self) -> int:
        out = ffi.new("int64_t *")
        self._sound()
        check(lib.seam_presto_stream_size(self.pointer, out, self._error), self._error)
        return int(out[0])

    def _sound(self) -> None:
        if lib.seam_presto_stream_broken(self.pointer):
            raise UsageError("an append to this serializer failed half-way: clear it first")

    @property
    def max_serialized_size(self) -> int:
        """Bytes of the page, exactly, unless compression makes it smaller."""
        return HEADER_BYTES + self._payload_bytes()

    def flush(self, out: OutputStream) -> int:
        """Write a page, and tell its bytes; rows stay, so that flushing again writes them again.

        A large page that is neither compressed nor checked leaves in pieces, from where they lie:
        they are good until rows are appended or cleared.
        """
        size, apart = self._payload_bytes(), ffi.new("int64_t *")
        most = lib.seam_presto_stream_apart(self.pointer, apart)
        if self.options.codec != "none" or self.options.checksum or 4 * apart[0] < size:
            page = self.page()
            out.write(page)
            return len(page)
        block = Block(self.arena.allocator, HEADER_BYTES + size - apart[0])
        PageHeader(self.num_rows, 0, size, size, 0).write_to(block.view)
        out.write(block.view[:HEADER_BYTES])
        pieces = ffi.new("struct seam_piece[]", most)
        to = block.pointer + HEADER_BYTES
        for piece in pieces[0 : lib.seam_presto_stream_pieces(self.pointer, to, pieces)]:
            at = int(ffi.cast("uintptr_t", piece.data)) - address(block.pointer)
            if 0 <= at < len(block.view):  # copied: the view keeps the block alive
                out.write(block.view[at : at + piece.size_bytes].toreadonly())
            else:
                out.write(memoryview(ffi.buffer(piece.data, piece.size_bytes)).toreadonly())
        return HEADER_BYTES + size

    def page(self) -> memoryview:
        """The page that a flush writes, in memory of its own."""
        size = self._payload_bytes()
        block = Block(self.arena.allocator, HEADER_BYTES + size)
        lib.seam_presto_stream_write(self.pointer, block.pointer + HEADER_BYTES)
        rows, allocator = self.num_rows, self.arena.allocator
        return finish_page(block.view, rows, self.options, allocator, self._skipper)

    def clear(self) -> None:
        """Back to no rows. The memory goes back when the arena is cleared, after this."""
        lib.seam_presto_stream_clear(self.pointer)
        self.arena.let_go(self)


def append_partitions(
    serializers: Sequence[PrestoIterativeSerializer], batch: Any, selections: Sequence[Rows]
) -> None:
    """Append selection i of a batch to serializer i: all destinations of an exchange at once.

    Goes column by column over all serializers, so that each column stays in the cache; one
    serializer may stand there several times. The work runs without the GIL. Serializers are of the
    same columns, their arenas one or many; the batch may be what `PrestoIterativeSerializer.open`
    made of one.
    """
    if len(serializers) != len(selections):
        raise UsageError(
            f"{counted(len(selections), 'selection')} came for "
            f"{counted(len(serializers), 'serializer')}"
        )
    if not serializers:
        return
    opened = serializers[0]._opened(batch, selections)
    chosen = Selections(selections, opened.num_rows)
    for serializer in serializers:
        serializer._sound()
        if serializer.schema is not opened.schema:
            raise UsageError("a serializer is of other columns than the batch")
        serializer.arena.hold(serializer)
    pointers = ffi.new("struct seam_presto_stream *[]", [s.pointer for s in serializers])
    given = pointers, opened.pointer, chosen.pointer, len(chosen)
    call(lib.seam_presto_stream_append, *given, by_caller=True)


class PrestoBatchSerializer:
    """A `BatchSerializer` of Presto pages: keeps dictionaries and runs as the dialect does."""

    def __init__(
        self, fields: Sequence[SerdeField], options: PageOptions, allocator: TrackedAllocator
    ) -> None:
        self._writer = PageWriter(fields, options, allocator=allocator)

    def serialize(self, batch: Any, out: OutputStream, rows: Rows = None) -> int:
        """Write rows of a batch as one page; returns its bytes."""
        page = memoryview(self._writer.write(batch, rows))
        out.write(page)
        return len(page)


class PrestoVectorSerde:
    """The `VectorSerde` of Presto's SerializedPage; options are those of `PageOptions`."""

    name = "Presto"

    def __init__(self, allocator: TrackedAllocator | None = None) -> None:
        self._allocator = allocator or TrackedAllocator()

    def iterative(
        self,
        fields: Sequence[SerdeField],
        options: Mapping[str, Any],
        arena: StreamArena,
        rows: int = 0,
    ) -> PrestoIterativeSerializer:
        """A serializer of no rows, with ranges set aside for `rows` of them."""
        known = PageOptions.of(options)
        return PrestoIterativeSerializer(page_schema(fields, known.timestamps), known, arena, rows)

    def batch(
        self, fields: Sequence[SerdeField], options: Mapping[str, Any]
    ) -> PrestoBatchSerializer:
        """A serializer of whole batches."""
        return PrestoBatchSerializer(fields, PageOptions.of(options), self._allocator)

    def deserialize(
        self,
        source: ByteInputStream,
        fields: Sequence[SerdeField],
        options: Mapping[str, Any],
        result: VectorResult | None = None,
    ) -> VectorResult:
        """Read the next page, wherever its ranges are cut. See `VectorSerde`."""
        start = source.tell()
        result = VectorResult(self._allocator) if result is None else result
        reader = PageReader(fields, options, allocator=result.allocator)
        header = read_header(source.read(HEADER_BYTES), 0, start)
        body = source.read(header.size_bytes)
        result.append(reader.page(header, body, start + HEADER_BYTES))
        return result

    def serialize_column(
        self, field: SerdeField, options: Mapping[str, Any], column: Any
    ) -> memoryview:
        """One column alone, without page header and count of columns, as constants in plans are.

        Of the options `timestamps` and `nulls_first` count.
        """
        arena = StreamArena(self._allocator)
        serializer = self.iterative([field], options, arena)
        serializer.append(pa.RecordBatch.from_arrays([column], names=[field.name]))
        size = ffi.new("int64_t *")
        call(lib.seam_presto_stream_column_size, serializer.pointer, 0, size)
        block = Block(self._allocator, size[0])
        lib.seam_presto_stream_write_column(serializer.pointer, 0, block.pointer)
        serializer.clear()
        arena.clear()
        return block.view

    def serialize_value(
        self, field: SerdeField, options: Mapping[str, Any], value: Any
    ) -> memoryview:
        """One map or row alone, as Presto's constants in plans are: MAP_ELEMENT or ROW_ELEMENT.

        Presto 0.296, SingleMapBlockEncoding (without a hash table) and SingleRowBlockEncoding. The
        value is an array of one row; the options are those of `serialize_column`.
        """
        type_ = parse_presto(field.type)
        if type_.kind not in ("map", "row") or len(value) != 1 or value.null_count:
            raise UsageError(f"column {field.name!r}: one map or one row is meant, and no null")
        if type_.kind == "map":
            begin, end = value.offsets.to_pylist()
            parts = [side.slice(begin, end - begin) for side in (value.keys, value.items)]
            name, head, foot = b"MAP_ELEMENT", b"", struct.pack("<i", -1)
        else:
            parts = value.flatten()
            name, head, foot = b"ROW_ELEMENT", struct.pack("<i", len(parts)), b""
        pieces = [struct.pack("<i", len(name)), name, head]
        for at, (part, child) in enumerate(zip(parts, type_.children, strict=True)):
            key = type_.kind == "map" and at == 0
            inner = SerdeField(f"{field.name}.{at}", child.text, not key)
            pieces.append(bytes(self.serialize_column(inner, options, part)))
        return memoryview(b"".join([*pieces, foot]))

    def deserialize_column(
        self, source: ByteInputStream, field: SerdeField, options: Mapping[str, Any]
    ) -> Any:
        """The way back, for values too: a `pyarrow.Array`.

        `source` is left at the byte after the column.
        """
        start = source.tell()
        reader = PageReader([field], options, allocator=self._allocator)
        column, used_bytes = reader.column(source.read(source.remaining()), start)
        source.seek(start + used_bytes)
        return column


class Gatherer:
    """A serializer of Presto pages with an arena of its own; of use to one thread at a time."""

    def __init__(
        self, fields: Sequence[SerdeField], options: Mapping[str, Any], allocator: TrackedAllocator
    ) -> None:
        self._arena = StreamArena(allocator)
        self._serializer = PrestoVectorSerde(allocator).iterative(fields, options, self._arena)

    @property
    def rows(self) -> int:
        """Rows that wait."""
        return self._serializer.num_rows

    @property
    def size_bytes(self) -> int:
        """Bytes of the page that `take` would give now, before compression."""
        return self._serializer.max_serialized_size

    def append(self, batch: Any) -> None:
        """Add the rows of a `pyarrow.RecordBatch`; see `PrestoIterativeSerializer.append`."""
        self._serializer.append(batch)

    def take(self) -> memoryview:
        """The rows as one page; none wait afterwards."""
        page = self._serializer.page()
        self._serializer.clear()
        self._arena.clear()
        return page
