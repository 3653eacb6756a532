"""Record batches into pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seambench.errors import UsageError
from seambench.seams import SerdeField
from seambench_impl._seam import ffi, lib
from seambench_impl.arrow_c import ExportedBatch
from seambench_impl.errors import check, new_error
from seambench_impl.memory import Block, TrackedAllocator
from seambench_impl.serde.checksum import page_checksum
from seambench_impl.serde.compression import Skipper, compress
from seambench_impl.serde.presto.header import CHECKSUMMED, COMPRESSED, HEADER_BYTES, PageHeader
from seambench_impl.serde.presto.layout import layout_of
from seambench_impl.serde.presto.options import PageOptions
from seambench_impl.serde.presto.schema import PageSchema, page_schema

__all__ = ["Columns", "Rows", "finish_page", "serialize", "serialize_many", "serialized_size"]

Columns: TypeAlias = pa.RecordBatch | Sequence[pa.Array | Callable[[], pa.Array]]
"""A batch; or its columns one by one, of which those that are callable are loaded when written."""
Rows: TypeAlias = range | Sequence[int] | npt.NDArray[np.integer[Any]] | None
"""Rows of a batch in the order in which they are written: all of them, a range, or a list."""
OptionsLike: TypeAlias = Mapping[str, Any] | PageOptions | None


class _Selections:
    """Selections of rows as the core wants them; keeps their arrays alive."""

    def __init__(self, selections: Sequence[Rows], total: int) -> None:
        self.rows = ffi.new("struct seam_presto_rows[]", max(len(selections), 1))
        self._kept = []
        for slot, rows in zip(self.rows, selections, strict=False):
            if rows is None:
                slot.begin, slot.count = 0, total
            elif isinstance(rows, range) and rows.step == 1:
                slot.begin, slot.count = rows.start, len(rows)
            else:
                listed = _row_numbers(rows)
                cast = ffi.from_buffer("int32_t[]", listed)
                self._kept.append(cast)
                slot.rows, slot.count = cast, len(listed)


def _row_numbers(rows: Any) -> npt.NDArray[np.int32]:
    """Row numbers as int32, without a copy where they are."""
    listed = np.asarray(rows if not isinstance(rows, range) else list(rows))
    if listed.ndim != 1 or (listed.size and listed.dtype.kind not in "iu"):
        raise UsageError("rows: a range or a list of row numbers is meant")
    if listed.size and listed.dtype != np.int32 and (listed.max() > 2**31 - 1 or listed.min() < 0):
        raise UsageError("rows: a row number is below 0 or beyond 2^31 - 1")
    return np.ascontiguousarray(listed, dtype=np.int32)


class _Writer:
    """One C writer over one batch."""

    def __init__(
        self,
        batch: pa.RecordBatch,
        schema: PageSchema,
        options: PageOptions,
        allocator: TrackedAllocator,
    ) -> None:
        self._exported = ExportedBatch(batch)
        self._schema = schema
        self._settings = ffi.new("struct seam_presto_write_options *")
        self._settings.flags = options.flags
        self._heed_layout(batch, options)
        self._rows = batch.num_rows
        self._error = new_error()
        out = ffi.new("struct seam_presto_writer **")
        code = lib.seam_presto_writer_new(
            allocator.pointer,
            schema.program,
            self._exported.schema,
            self._exported.array,
            self._settings,
            out,
            self._error,
        )
        check(code, self._error)
        self._writer = ffi.gc(out[0], lib.seam_presto_writer_free)

    def _heed_layout(self, batch: pa.RecordBatch, options: PageOptions) -> None:
        layout = layout_of(batch.schema) if options.layout == "preserve" else None
        marks = None if layout is None else layout.marks
        sources = options.source * 64 if layout is None else layout.sources
        if marks is not None:
            self._marks = ffi.from_buffer("uint8_t[]", marks)
            self._settings.marks, self._settings.n_marks = self._marks, len(marks)
        if any(sources):
            self._sources = ffi.from_buffer("uint8_t[]", sources)
            self._settings.sources = self._sources
            self._settings.n_sources = len(sources) // len(options.source)

    def measure(self, selections: Sequence[Rows]) -> list[int]:
        """Bytes of the payload of each selection."""
        self._selections = _Selections(selections, self._rows)
        sizes = ffi.new("int64_t[]", max(len(selections), 1))
        code = lib.seam_presto_writer_measure(
            self._writer, self._selections.rows, len(selections), sizes, self._error
        )
        check_usage(code, self._error)
        self.counts = [int(self._selections.rows[i].count) for i in range(len(selections))]
        return [int(sizes[i]) for i in range(len(selections))]

    def write(self, places: Sequence[Any]) -> None:
        """Put the payloads where they belong."""
        outs = ffi.new("uint8_t *[]", list(places))
        check(lib.seam_presto_writer_write(self._writer, outs, self._error), self._error)


def check_usage(code: int, error: object) -> None:
    """Like `check`, where what breaks the core's contract is the caller's own rows."""
    if code == lib.SEAM_BAD_ARGUMENT:
        message = ffi.string(error.message)  # type: ignore[attr-defined]
        raise UsageError(message.decode("utf-8", "replace"))
    check(code, error)


def _batch_of(columns: Columns, schema: PageSchema) -> pa.RecordBatch:
    """A batch that fits the schema; columns that are callable are loaded."""
    if isinstance(columns, pa.RecordBatch):
        schema.check_batch(columns.schema)
        return _check_nulls(columns, schema)
    if len(columns) != len(schema.fields):
        raise UsageError(f"{len(columns)} columns for a schema of {len(schema.fields)}")
    arrays = [column() if callable(column) else column for column in columns]
    for array, field, wanted in zip(arrays, schema.fields, schema.schema, strict=True):
        schema.check_type(field, array.type, wanted.type)
    if len({len(array) for array in arrays}) != 1:
        raise UsageError("columns of different lengths, or none: a batch knows its number of rows")
    batch = pa.RecordBatch.from_arrays(arrays, names=[field.name for field in schema.fields])
    return _check_nulls(batch, schema)


def _check_nulls(batch: pa.RecordBatch, schema: PageSchema) -> pa.RecordBatch:
    for i, field in enumerate(schema.fields):
        if not field.nullable and batch.column(i).null_count:
            raise UsageError(f"column {field.name!r} must not hold nulls, but does")
    return batch


def serialized_size(
    batch: Columns,
    fields: Sequence[SerdeField],
    options: OptionsLike = None,
    rows: Rows = None,
    *,
    allocator: TrackedAllocator | None = None,
) -> int:
    """Bytes of the page that `serialize` would write without a codec, header included.

    Raises:
        UsageError: see `serialize`.
    """
    settings = PageOptions.of(options)
    schema = page_schema(fields, settings.timestamps)
    writer = _Writer(_batch_of(batch, schema), schema, settings, allocator or TrackedAllocator())
    return HEADER_BYTES + writer.measure([rows])[0]


def serialize(
    batch: Columns,
    fields: Sequence[SerdeField],
    options: OptionsLike = None,
    rows: Rows = None,
    *,
    allocator: TrackedAllocator | None = None,
    skipper: Skipper | None = None,
) -> pa.Buffer:
    """One page of a batch or of some of its rows.

    Args:
        batch: the columns; dictionaries and runs may stand in for any of them, at any level.
        fields: name and Presto type of each column.
        options: see `PageOptions`.
        rows: which rows, in order; all by default.
        allocator: owner of the page's memory.
        skipper: decides whether compression is tried at all; by default it always is.

    Returns:
        A buffer of exactly the page.

    Raises:
        UsageError: columns, rows or options that do not fit.
        InputError: a value that its type cannot have.
        RefusedError: hash tables over keys whose hashes are not known.
    """
    return serialize_many(batch, fields, [rows], options, allocator=allocator, skipper=skipper)[0]


def serialize_many(
    batch: Columns,
    fields: Sequence[SerdeField],
    selections: Sequence[Rows],
    options: OptionsLike = None,
    *,
    allocator: TrackedAllocator | None = None,
    skipper: Skipper | None = None,
) -> list[pa.Buffer]:
    """A page for each selection of rows: a partitioned batch in one go.

    All pages lie in one block of memory, which lives as long as any of them. See `serialize`.
    """
    settings = PageOptions.of(options)
    schema = page_schema(fields, settings.timestamps)
    owner = allocator or TrackedAllocator()
    whole = _batch_of(batch, schema)
    writer = _Writer(whole, schema, settings, owner)
    sizes = writer.measure(selections)
    starts = np.concatenate([[0], np.cumsum([HEADER_BYTES + size for size in sizes])]).tolist()
    block = Block(owner, starts[-1])
    writer.write([block.pointer + start + HEADER_BYTES for start in starts[:-1]])
    buffer = block.buffer()
    pages = []
    for start, end, count in zip(starts, starts[1:], writer.counts, strict=False):
        page = finish_page(block.view[start:end], count, settings, owner, skipper)
        whole = len(page) == end - start
        pages.append(buffer.slice(start, end - start) if whole else pa.py_buffer(page))
    return pages


def finish_page(
    page: memoryview,
    rows: int,
    options: PageOptions,
    allocator: TrackedAllocator,
    skipper: Skipper | None = None,
) -> memoryview:
    """Compress the payload of a page where that is wanted and pays, and write its header.

    Args:
        page: room for the header, then the whole payload.
        rows: of the page.
        options: codec, ratio and checksum count.
        allocator: owner of a compressed page.
        skipper: see `serialize`.

    Returns:
        `page` itself, or a shorter one in memory of its own.
    """
    uncompressed = len(page) - HEADER_BYTES
    packed = _compress(page[HEADER_BYTES:], options, allocator, skipper)
    if packed is not None:
        page = Block(allocator, HEADER_BYTES + len(packed)).view
        page[HEADER_BYTES:] = packed
    _put_header(page, rows, uncompressed, options)
    return page


def _put_header(page: memoryview, rows: int, uncompressed: int, options: PageOptions) -> None:
    """The header before a payload that is complete."""
    size = len(page) - HEADER_BYTES
    marker = (COMPRESSED if size < uncompressed else 0) | (CHECKSUMMED if options.checksum else 0)
    crc = 0
    if options.checksum:
        crc = page_checksum(page[HEADER_BYTES:], marker, rows, uncompressed)
    PageHeader(rows, marker, uncompressed, size, crc).write_to(page)


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
