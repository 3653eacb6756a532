"""Record batches into pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeAlias

import pyarrow as pa

from seambase.serde import SerdeField
from seamkit.core._seam import ffi, lib
from seamkit.core.border import address, check, exported_schema, made, new_array, new_error
from seamkit.core.memory import Block, TrackedAllocator
from seamkit.serde.compression import Skipper, compress
from seamkit.serde.presto.layout import (
    CHECKSUMMED,
    COMPRESSED,
    HEADER_BYTES,
    SOURCE_BYTES,
    PageHeader,
    layout_of,
    page_checksum,
)
from seamkit.serde.presto.options import PageOptions
from seamkit.serde.presto.schema import page_schema
from seamkit.serde.selection import Rows, Selections
from seamkit.serde.vectors import Columns

OptionsLike: TypeAlias = Mapping[str, Any] | PageOptions | None


@dataclass(frozen=True)
class _Measured:
    """A C writer that knows its pages, their sizes, and what it borrows."""

    writer: Any
    sizes: list[int]
    selections: Selections
    array: Any


class PageWriter:
    """Writes pages of one schema; belongs to one thread at a time.

    Args:
        fields: name and Presto type of each column.
        options: see `PageOptions`.
        allocator: owner of the pages' memory, which goes back when nobody holds them any more.
        skipper: decides whether compression is tried at all; by default it always is.

    Raises:
        UsageError: an option or a type that is none.
        RefusedError: a type that is not known.
    """

    def __init__(
        self,
        fields: Sequence[SerdeField],
        options: OptionsLike = None,
        *,
        allocator: TrackedAllocator | None = None,
        skipper: Skipper | None = None,
    ) -> None:
        self.options = PageOptions.of(options)
        self._schema = page_schema(fields, self.options.timestamps)
        self._allocator = allocator or TrackedAllocator()
        self._skipper = skipper
        self._error = new_error()
        self._settings = ffi.new("struct seam_presto_write_options *")
        self._settings.flags = self.options.flags
        self._use_sources(self.options.source)
        # The C schema of the batch before: most batches have the same.
        self._last: tuple[pa.Schema, Any] | None = None

    def size(self, batch: Columns, rows: Rows = None) -> int:
        """Bytes of the page that `write` would give without a codec, header included."""
        return int(self._measure(batch, [rows]).sizes[0])

    def write(self, batch: Columns, rows: Rows = None) -> pa.Buffer:
        """One page of a batch or of some of its rows; see `serialize`."""
        return self.write_many(batch, [rows])[0]

    def write_many(self, batch: Columns, selections: Sequence[Rows]) -> list[pa.Buffer]:
        """A page for each selection; see `serialize_many`."""
        measured = self._measure(batch, selections)
        ends = list(accumulate(measured.sizes))
        block = Block(self._allocator, ends[-1] if ends else 0)
        code = lib.seam_presto_writer_write(measured.writer, block.pointer, self._error)
        check(code, self._error)
        whole = block.buffer()
        places = list(zip(ends, measured.sizes, strict=True))
        pages = [whole.slice(end - size, size) for end, size in places]
        if self.options.codec == "none" and not self.options.checksum:
            return pages
        counts = measured.selections.counts
        for i, (end, size) in enumerate(places):
            view = block.view[end - size : end]
            page = finish_page(view, counts[i], self.options, self._allocator, self._skipper)
            if len(page) < size:
                pages[i] = pa.py_buffer(page)
        return pages

    def _measure(self, columns: Columns, selections: Sequence[Rows]) -> _Measured:
        batch = self._batch_of(columns, selections)
        schema, array = self._export(batch)
        if self.options.layout == "preserve":
            self._heed_layout(batch)
        make, free = lib.seam_presto_writer_new, lib.seam_presto_writer_free
        given = self._allocator.pointer, self._schema.program, schema, array, self._settings
        writer = made(ffi.new("struct seam_presto_writer **"), make, free, *given)
        chosen = Selections(selections, batch.num_rows)
        n = len(selections)
        sizes = ffi.new("int64_t[]", max(n, 1))
        code = lib.seam_presto_writer_measure(writer, chosen.pointer, n, sizes, self._error)
        check(code, self._error, by_caller=True)
        return _Measured(writer, ffi.unpack(sizes, n), chosen, array)

    def _export(self, batch: pa.RecordBatch) -> tuple[Any, Any]:
        array = new_array()
        if self._last is None or self._last[0] != batch.schema:
            self._last = (batch.schema, exported_schema(batch.schema))
        batch._export_to_c(address(array))
        return self._last[1], array

    def _heed_layout(self, batch: pa.RecordBatch) -> None:
        layout = layout_of(batch.schema)
        self._settings.marks, self._settings.n_marks = ffi.NULL, 0
        self._use_sources(self.options.source if layout is None else layout.sources)
        if layout is not None:
            self._marks = ffi.from_buffer("uint8_t[]", layout.marks)
            self._settings.marks, self._settings.n_marks = self._marks, len(layout.marks)

    def _use_sources(self, sources: bytes) -> None:
        self._sources = ffi.from_buffer("uint8_t[]", sources)
        self._settings.sources = self._sources
        self._settings.n_sources = len(sources) // SOURCE_BYTES

    def _batch_of(self, columns: Columns, selections: Sequence[Rows]) -> pa.RecordBatch:
        known = self._last[0] if self._last is not None else None
        if isinstance(columns, pa.RecordBatch) and columns.schema == known:
            return self._schema.check_nulls(columns)
        return self._schema.batch(columns, selections)


def finish_page(
    page: memoryview,
    rows: int,
    options: PageOptions,
    allocator: TrackedAllocator,
    skipper: Skipper | None = None,
) -> memoryview:
    """Compress the payload of a page where that is wanted and pays, and write its header.

    The page is room for the header, then the whole payload; it comes back itself, or a shorter one
    in the allocator's memory. The skipper decides whether compression is tried at all.
    """
    uncompressed = len(page) - HEADER_BYTES
    packed = _compress(page[HEADER_BYTES:], options, allocator, skipper)
    if packed is not None:
        page = Block(allocator, HEADER_BYTES + len(packed)).view
        page[HEADER_BYTES:] = packed
    marker = COMPRESSED if packed is not None else 0
    crc = 0
    if options.checksum:
        marker |= CHECKSUMMED
        crc = page_checksum(page[HEADER_BYTES:], marker, rows, uncompressed)
    PageHeader(rows, marker, uncompressed, len(page) - HEADER_BYTES, crc).write_to(page)
    return page


def _compress(
    payload: memoryview,
    options: PageOptions,
    allocator: TrackedAllocator,
    skipper: Skipper | None,
) -> memoryview | None:
    """The payload compressed, or None where that is not wanted or does not pay."""
    if options.codec == "none" or (skipper is not None and not skipper.wants(len(payload))):
        return None
    packed = compress(options.codec, payload, allocator)
    # A payload that does not shrink is never marked as compressed, whatever the ratio.
    pays = len(packed) <= options.ratio * len(payload) and len(packed) < len(payload)
    if skipper is not None:
        skipper.tried(pays)
    return packed if pays else None


def serialized_size(
    batch: Columns, fields: Sequence[SerdeField], options: OptionsLike = None, rows: Rows = None
) -> int:
    """Bytes of the page that `serialize` would write without a codec, header included.

    Raises:
        UsageError: see `serialize`.
    """
    return PageWriter(fields, options).size(batch, rows)


def serialize(
    batch: Columns,
    fields: Sequence[SerdeField],
    options: OptionsLike = None,
    rows: Rows = None,
    *,
    allocator: TrackedAllocator | None = None,
) -> pa.Buffer:
    """One page of a batch or of some of its rows.

    Args:
        batch: the columns; dictionaries and runs may stand in for any of them, at any level.
        fields: name and Presto type of each column.
        options: see `PageOptions`.
        rows: which rows, in order; all by default.
        allocator: owner of the page's memory.

    Returns:
        A buffer of exactly the page.

    Raises:
        UsageError: columns, rows or options that do not fit.
        InputError: a value that its type cannot have.
        RefusedError: hash tables over keys whose hashes are not known.
    """
    return PageWriter(fields, options, allocator=allocator).write(batch, rows)


def serialize_many(
    batch: Columns,
    fields: Sequence[SerdeField],
    selections: Sequence[Rows],
    options: OptionsLike = None,
    *,
    allocator: TrackedAllocator | None = None,
) -> list[pa.Buffer]:
    """A page for each selection of rows: a partitioned batch in one go.

    All pages lie in one block of memory, which lives as long as any of them; a compressed page has
    its own. See `serialize`.
    """
    return PageWriter(fields, options, allocator=allocator).write_many(batch, selections)
