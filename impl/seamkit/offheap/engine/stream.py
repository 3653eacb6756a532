"""Off-heap tables from an Arrow C stream, and as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from seambase.errors import UsageError
from seamkit.core.memory import TrackedAllocator
from seamkit.offheap.columns.table import OffHeapTable
from seamkit.offheap.columns.types import CTypes, from_arrow
from seamkit.offheap.engine.columns import EngineSchema, move


class TableStream:
    """Tables handed out as an Arrow C stream: a batch each, whose buffers are moved, not copied.

    Whatever takes an object with `__arrow_c_stream__` reads it, once: `pyarrow.table(stream)`,
    `polars.DataFrame(stream)`, `duckdb.from_arrow(..)`. A table is taken from the source when its
    batch is asked for, and released right after.

    Args:
        source: tables with the columns of `expected`. A generator is closed with the stream.
        expected: the engine's columns, which give the stream its schema.
    """

    def __init__(self, source: Iterable[OffHeapTable], expected: EngineSchema) -> None:
        self.expected = expected
        self._source: Iterable[OffHeapTable] | None = source

    @property
    def schema(self) -> Any:
        """The stream's `pyarrow.Schema`."""
        return self.expected.schema

    def to_reader(self) -> Any:
        """The stream as a `pyarrow.RecordBatchReader`.

        Raises:
            seambase.errors.UsageError: the stream was handed out already.
        """
        if self._source is None:
            raise UsageError("a stream of tables is read once, and this one was handed out already")
        source, self._source = self._source, None
        return pa.RecordBatchReader.from_batches(self.schema, self._batches(source))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The stream as a capsule (Arrow's PyCapsule interface); see `to_reader`."""
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def _batches(self, source: Iterable[OffHeapTable]) -> Iterator[Any]:
        for table in source:
            with table:
                batch = move(table, self.expected)
            yield batch
            del batch  # or it would live on while the next table is made


def tables(stream: Any, rows: int, allocator: TrackedAllocator) -> Iterator[OffHeapTable]:
    """Cut an Arrow C stream into off-heap tables, each the receiver's to release.

    The stream is any object with `__arrow_c_stream__` and is consumed. Batches are cut to `rows`,
    never put together. Those without rows give none: for an engine a table without rows is the end.
    """
    if rows < 1:
        raise UsageError(f"a table of a stream has 1 row or more, not {rows}")
    reader = pa.RecordBatchReader.from_stream(stream)
    types = CTypes([from_arrow(field.type) for field in reader.schema])
    for batch in reader:
        for start in range(0, batch.num_rows, rows):
            piece = batch.slice(start, rows)
            table = OffHeapTable(types, piece.num_rows, allocator)
            try:
                table.append_batch(piece)
            except BaseException:
                table.release()
                raise
            yield table
