"""Steps of the column seam, those of the engine among them, for `seambench throughput`."""

from __future__ import annotations

import ctypes
from typing import Any

import pyarrow as pa

from seambench.contracts.common import Stage
from seamkit.core.border import ExportedBatch
from seamkit.core.memory import TrackedAllocator
from seamkit.offheap.columns.table import OffHeapTable
from seamkit.offheap.columns.types import CTypes, from_arrow
from seamkit.offheap.engine.columns import EngineColumns, EngineSchema, fill


class _Engine:
    """A table that holds a batch, and columns of an engine that reads it."""

    def __init__(self, batch: pa.RecordBatch, allocator: TrackedAllocator) -> None:
        self._exported = ExportedBatch(batch)
        self._types = CTypes([from_arrow(field.type) for field in batch.schema])
        self._rows, self._allocator = batch.num_rows, allocator
        self._expected = EngineSchema(
            pa.schema([field.with_nullable(True) for field in batch.schema])
        )
        self._columns = EngineColumns(self._expected, allocator)
        self._table = self._new_table()
        self._chain = self._table.chain()

    def bytes(self) -> int:
        """Of the table's buffers."""
        return sum((ctypes.c_int64 * self._chain.n_words).from_address(self._chain.extents))

    def fill(self) -> EngineColumns:
        self._columns.fill(self._chain)
        return self._columns

    def by_columns(self) -> Any:
        self._columns.fill(self._chain)
        return self._columns.export()

    def in_one_pass(self) -> Any:
        self._columns.borrow(self._chain)
        return self._columns.export()

    def all_three(self) -> Any:
        with self._new_table() as table:
            self._columns.borrow(table.chain(), table)
            return self._columns.export()

    def all_moved(self) -> Any:
        with self._new_table() as table:
            self._columns.move(table)
            return self._columns.export()

    def _new_table(self) -> OffHeapTable:
        table = OffHeapTable(self._types, self._rows, self._allocator)
        table.append_exported(self._exported)
        return table

    def rows_of(self, array: Any) -> Any:
        return self._expected.imported(array)

    def __del__(self) -> None:
        self._table.release()


def engine_stages(batch: pa.RecordBatch, allocator: TrackedAllocator) -> list[Stage]:
    """The ways from a table to Arrow's C structures, and from these back to them.

    `table-to-engine` copies the chain's buffers into engine columns; `table-to-engine-to-arrow`
    hands them on, too (a step of its own would have nothing left to do the second time);
    `table-to-arrow` does both in one pass. `arrow-to-arrow` is the whole way with a new table,
    released column by column as the chain is copied; `arrow-to-arrow-moved` takes its blocks over.
    """
    engine = _Engine(batch, allocator)
    size_bytes = engine.bytes()
    return [
        Stage("table-to-engine", engine.fill, EngineColumns.to_arrow, size_bytes),
        Stage("table-to-engine-to-arrow", engine.by_columns, engine.rows_of, 2 * size_bytes),
        Stage("table-to-arrow", engine.in_one_pass, engine.rows_of, size_bytes),
        Stage("arrow-to-arrow", engine.all_three, engine.rows_of, size_bytes),
        Stage("arrow-to-arrow-moved", engine.all_moved, engine.rows_of, size_bytes),
    ]


class _Append:
    """Makes the tables of a batch, chunk after chunk: each time the one before is released."""

    def __init__(self, batch: pa.RecordBatch, allocator: TrackedAllocator) -> None:
        self._batch = batch
        self._exported = ExportedBatch(batch)
        self._allocator = allocator
        types = CTypes([from_arrow(field.type) for field in batch.schema])
        self._table = OffHeapTable(types, batch.num_rows, allocator)

    def run(self) -> OffHeapTable:
        table = self._table
        table.renew()
        table.append_exported(self._exported)
        return table

    def rows(self, table: OffHeapTable) -> Any:
        return fill(table.chain(), EngineSchema(self._batch.schema), self._allocator)

    def __del__(self) -> None:
        self._table.release()


def append_stage(batch: pa.RecordBatch, allocator: TrackedAllocator) -> Stage:
    """`arrow-to-table`: Arrow's C structures into a new off-heap table; the old one is released."""
    step = _Append(batch, allocator)
    return Stage("arrow-to-table", step.run, step.rows)
