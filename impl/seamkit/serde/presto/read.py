"""Pages into record batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, RefusedError, UsageError
from seambase.serde import SerdeField
from seambase.wording import counted
from seamkit.core._seam import ffi, lib
from seamkit.core.border import address, check, new_array, new_error
from seamkit.core.memory import TrackedAllocator
from seamkit.serde.compression import decompress
from seamkit.serde.presto.layout import (
    CHECKSUMMED,
    COMPRESSED,
    HEADER_BYTES,
    Layout,
    PageHeader,
    page_checksum,
    read_header,
    with_layout,
)
from seamkit.serde.presto.options import PageOptions
from seamkit.serde.presto.schema import has_nulls, page_schema

Bytes = bytes | bytearray | memoryview
OptionsLike = Mapping[str, Any] | PageOptions | None

# Marks that show in the types of the batch.
_ENCODED = lib.SEAM_PRESTO_MARK_DICTIONARY | lib.SEAM_PRESTO_MARK_RUN


class PageReader:
    """Reads pages of one schema; belongs to one thread at a time.

    Args:
        fields: name and Presto type of each column.
        options: see `PageOptions`.
        allocator: owner of the batches' memory, which goes back when Arrow lets go of it.

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
    ) -> None:
        self.options = PageOptions.of(options)
        self._schema = page_schema(fields, self.options.timestamps)
        self._allocator = allocator or TrackedAllocator()
        self._settings = ffi.new("struct seam_presto_read_options *")
        self._settings.flags = self.options.flags
        self._settings.depth_limit = self.options.depth_limit
        self._settings.size_limit = self.options.size_limit
        self._encoded: dict[bytes, pa.Schema] = {}
        self._error = new_error()

    def read(self, data: Bytes, offset: int = 0, shown: int | None = None) -> Iterator[Any]:
        """The batches of pages that stand end to end, one by one.

        Args:
            data: the pages; borrowed until the iterator is done.
            offset: where the first page begins.
            shown: what `offset` is in the file, for messages.

        Raises:
            InputError: the bytes break the format; the message names the offset.
            RefusedError: encrypted pages, or a limit.
        """
        view = memoryview(data).cast("B")
        base = (offset if shown is None else shown) - offset
        while offset < len(view):
            left = len(view) - offset
            if left < HEADER_BYTES:
                raise InputError(
                    f"page header: {counted(left, 'byte')} of "
                    f"{HEADER_BYTES} (at byte {base + offset})"
                )
            header = read_header(view, offset, base + offset)
            body = offset + HEADER_BYTES
            if header.size_bytes > len(view) - body:
                raise InputError(
                    f"page: {counted(len(view) - body, 'byte')} of a "
                    f"payload of {header.size_bytes} "
                    f"(at byte {base + body})"
                )
            yield self.page(header, view[body : body + header.size_bytes], base + body)
            offset = body + header.size_bytes

    def page(self, header: PageHeader, body: memoryview, offset: int) -> pa.RecordBatch:
        """The batch of one page, whose body is as it is on the wire."""
        if header.marker & CHECKSUMMED:
            rows, marker, uncompressed, _, checksum = header
            own = page_checksum(body, marker, rows, uncompressed)
            if own != checksum:
                raise InputError(
                    f"page: checksum {own:#010x}, its header says {checksum:#010x} "
                    f"(at byte {offset - 8})"
                )
        limit = self.options.size_limit
        if header.uncompressed_bytes > limit:
            raise RefusedError(
                f"page: {counted(header.uncompressed_bytes, 'byte')} of "
                "payload are beyond the size limit of "
                f"{limit} (at byte {offset - HEADER_BYTES + 5})"
            )
        payload = body
        if header.marker & COMPRESSED:
            payload = self._decompress(header, body, offset)
        return self._decode(header.rows, payload, -1 if payload is not body else offset)

    def _decompress(self, header: PageHeader, body: memoryview, offset: int) -> memoryview:
        codec = self.options.codec
        if codec == "none":
            raise InputError(
                "page: it is compressed, but no codec was named; the header does not say which "
                f"(at byte {offset - HEADER_BYTES + 4})"
            )
        size = header.uncompressed_bytes
        return decompress(codec, body, size, self._allocator, offset=offset)

    def column(self, data: Bytes, offset: int = 0) -> tuple[pa.Array, int]:
        """One column that stands alone, without page header and count of columns.

        The reader must be of one column. How many of the bytes are the column's, which may go on
        behind it, comes back, too.
        """
        if len(self._schema.fields) != 1:
            raise UsageError(
                f"a column alone is not of {counted(len(self._schema.fields), 'field')}"
            )
        used = ffi.new("int64_t *")
        view = ffi.from_buffer("uint8_t[]", data)

        def read(trace: Any, array: Any) -> int:
            owner, program = self._allocator.pointer, self._schema.program
            code: int = lib.seam_presto_read_column(
                owner, program, view, len(view), self._settings, trace, used, array, self._error
            )
            return code

        return self._decoded(read, offset, "column").column(0), int(used[0])

    def _decode(self, rows: int, payload: memoryview, offset: int) -> pa.RecordBatch:
        """Offsets in errors count from the page, or from the payload if it was compressed."""
        view = ffi.from_buffer("uint8_t[]", payload)

        def read(trace: Any, array: Any) -> int:
            owner, program = self._allocator.pointer, self._schema.program
            code: int = lib.seam_presto_read(
                owner, program, view, len(view), rows, self._settings, trace, array, self._error
            )
            return code

        return self._decoded(read, max(offset, 0), "page" if offset >= 0 else "decompressed page")

    def _decoded(self, read: Callable[[Any, Any], int], offset: int, source: str) -> pa.RecordBatch:
        """What a call of the core reads, given its trace and the array to fill."""
        trace = ffi.new("struct seam_presto_trace *")
        lib.seam_buffer_init(ffi.addressof(trace, "marks"), self._allocator.pointer)
        lib.seam_buffer_init(ffi.addressof(trace, "sources"), self._allocator.pointer)
        array = new_array()
        self._settings.base_bytes = offset
        try:
            check(read(trace, array), self._error, source=source)
            schema = self._batch_schema(trace)
        finally:
            lib.seam_buffer_reset(ffi.addressof(trace, "marks"))
            lib.seam_buffer_reset(ffi.addressof(trace, "sources"))
        return self._check_nulls(pa.RecordBatch._import_from_c(address(array), schema))

    def _batch_schema(self, trace: Any) -> pa.Schema:
        flat = self._schema.schema
        keep = self.options.layout == "preserve"
        if not trace.any or not (keep or (trace.any & _ENCODED)):
            return flat
        marks = bytes(ffi.buffer(trace.marks.data, trace.marks.size_bytes))
        schema = flat
        if trace.any & _ENCODED and self.options.encodings == "preserve":
            if marks not in self._encoded:
                self._encoded[marks] = self._schema.encoded(marks)
                if len(self._encoded) > 256:  # encodings change from page to page
                    self._encoded.pop(next(iter(self._encoded)))
            schema = self._encoded[marks]
        if keep and self.options.encodings == "preserve":
            sources = ffi.buffer(trace.sources.data, trace.sources.size_bytes)
            schema = with_layout(schema, Layout(marks, bytes(sources)))
        return schema

    def _check_nulls(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        for i, field in enumerate(self._schema.fields):
            if not field.nullable and has_nulls(batch.column(i)):
                raise InputError(f"page: column {field.name!r} must not hold nulls, but does")
        return batch


def deserialize(
    data: Bytes,
    fields: Sequence[SerdeField],
    options: OptionsLike = None,
    *,
    allocator: TrackedAllocator | None = None,
) -> list[pa.RecordBatch]:
    """One batch for each of the pages that stand end to end in `data`.

    Every buffer of a batch is its own: nothing points into `data`. A dictionary stays a dictionary
    and a run a run-end encoded array of one run, unless `encodings` is `flatten`.

    Raises:
        UsageError: an option or a type that is none.
        InputError: the bytes break the format; the message names offset and column.
        RefusedError: encrypted pages, unknown types, or a limit.
    """
    return list(PageReader(fields, options, allocator=allocator).read(data))


def read_pages(
    chunks: Iterable[Bytes],
    fields: Sequence[SerdeField],
    options: OptionsLike = None,
    *,
    allocator: TrackedAllocator | None = None,
) -> Iterator[pa.RecordBatch]:
    """Batches of pages that arrive in pieces of any size, down to single bytes.

    A page is handed out as soon as its last byte is there. See `deserialize`.
    """
    reader = PageReader(fields, options, allocator=allocator)
    pending = bytearray()
    done = 0
    for chunk in chunks:
        pending += chunk
        while (size := _whole_page(pending, done, reader.options.size_limit)) is not None:
            page = bytes(memoryview(pending)[:size])
            yield from reader.read(page, 0, done)
            del pending[:size]
            done += size
    if pending:  # says what is missing
        yield from reader.read(bytes(pending), 0, done)


def _whole_page(pending: bytearray, shown: int, limit: int) -> int | None:
    """Bytes of the first page, if it is there; a page beyond the limit is not waited for."""
    if len(pending) < HEADER_BYTES:
        return None
    header = read_header(pending, 0, shown)
    if header.size_bytes > limit:
        raise RefusedError(
            f"page: {counted(header.size_bytes, 'byte', 'are')} beyond the size limit of {limit} "
            f"(at byte {shown + 9})"
        )
    size = HEADER_BYTES + header.size_bytes
    return size if len(pending) >= size else None
