"""Presto pages of rows like TPC-H's lineitem, and Arrow's IPC of the same rows for comparison.

Each run handles 65,536 rows of 16 columns: 16 pages of 4096 rows, or one page of all.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pyarrow as pa

from .column_kernels import lineitems
from .kernels import Kernel, feature

_TOTAL = 65_536
#: Bytes of a page's header; the checksum is the last eight.
_HEADER = 21
_OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "lz4+checksum": {"codec": "lz4", "checksum": True},
}


class PagesOut(Kernel):
    """Columns to pages, a new page each time."""

    def __init__(self, variant: str, rows: str) -> None:
        write = feature("seamkit.serde.presto.write", "PageWriter")
        read = feature("seamkit.serde.presto.read", "PageReader")
        typed = feature("seambase.type_fields", "fields_of")
        self.batch, self.loops = lineitems(int(rows)), _TOTAL // int(rows)
        fields, options = typed.fields_of(self.batch.schema, "presto"), _OPTIONS[variant]
        self._writer = write.PageWriter(fields, options)
        self._reader = read.PageReader(fields, options)
        self._page = self._writer.write(self.batch)
        _same(self._read(self._page), self.batch)

    def run(self) -> None:
        """Write the page, again and again."""
        for _ in range(self.loops):
            if len(self._writer.write(self.batch)) != len(self._page):
                raise AssertionError("a page of the same rows has another size")

    def _read(self, page: Any) -> pa.RecordBatch:
        (batch,) = self._reader.read(page)
        return batch


class PagesIn(PagesOut):
    """Pages to batches that own all their buffers."""

    def run(self) -> None:
        """Read the page, again and again."""
        for _ in range(self.loops):
            if self._read(self._page).num_rows != self.batch.num_rows:
                raise AssertionError("rows are missing")


class PageParts(PagesOut):
    """A batch of 65,536 rows as 64 pages: row i goes to page i modulo 64."""

    parts = 64

    def __init__(self) -> None:
        super().__init__("plain", str(_TOTAL))
        numbers = np.arange(_TOTAL, dtype=np.int32)
        self._chosen = [numbers[part :: self.parts].copy() for part in range(self.parts)]
        pages = self._writer.write_many(self.batch, self._chosen)
        for page, chosen in zip(pages, self._chosen, strict=True):
            _same(self._read(page), self.batch.take(pa.array(chosen)))

    def run(self) -> None:
        """Write all parts."""
        if len(self._writer.write_many(self.batch, self._chosen)) != self.parts:
            raise AssertionError("pages are missing")


class Checksum(PagesOut):
    """The checksum of a page of 65,536 rows, 16 times."""

    def __init__(self) -> None:
        super().__init__("plain", str(_TOTAL))
        self._sum = feature("seamkit.serde.presto.layout", "page_checksum").page_checksum
        self._payload, self.loops = memoryview(self._page)[_HEADER:], 16
        tail = b"\4" + _TOTAL.to_bytes(4, "little") + len(self._payload).to_bytes(4, "little")
        self._expected = zlib.crc32(tail, zlib.crc32(self._payload))
        self.run()

    def run(self) -> None:
        """Sum the payload up, again and again."""
        for _ in range(self.loops):
            if self._sum(self._payload, 4, _TOTAL, len(self._payload)) != self._expected:
                raise AssertionError("the checksum differs from zlib's")


class IpcOut(Kernel):
    """Columns to Arrow streams in memory: what pages are held against."""

    def __init__(self, rows: str) -> None:
        self.batch, self.loops = lineitems(int(rows)), _TOTAL // int(rows)
        self._stream = self._write()
        _same(self._read(), self.batch)

    def run(self) -> None:
        """Write the stream, again and again."""
        for _ in range(self.loops):
            self._write()

    def _write(self) -> pa.Buffer:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.batch.schema) as writer:
            writer.write_batch(self.batch)
        return sink.getvalue()

    def _read(self) -> pa.RecordBatch:
        """Its buffers point into the stream, so each is at least looked through."""
        with pa.ipc.open_stream(self._stream) as reader:
            batch = reader.read_next_batch()
        batch.validate(full=True)
        return batch


class IpcIn(IpcOut):
    """Arrow streams to batches, checked as a page's reader checks its own."""

    def run(self) -> None:
        """Read the stream, again and again."""
        for _ in range(self.loops):
            if self._read().num_rows != self.batch.num_rows:
                raise AssertionError("rows are missing")


def _same(batch: pa.RecordBatch, expected: pa.RecordBatch) -> None:
    if not batch.equals(expected):
        raise AssertionError("the rows that come back differ from those that were written")
