"""The steps of the column seam, for `seambench throughput`."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from seambench.seams import Stage
from seambench_impl.arrow_c import ExportedBatch
from seambench_impl.columns.c_types import CTypes
from seambench_impl.columns.engine import EngineSchema, fill
from seambench_impl.columns.table import OffHeapTable
from seambench_impl.columns.types import from_arrow
from seambench_impl.memory import TrackedAllocator

__all__ = ["append_stage"]


class _Append:
    """Makes a table of a batch, and releases the one made before."""

    def __init__(self, batch: pa.RecordBatch, allocator: TrackedAllocator) -> None:
        self._batch = batch
        self._exported = ExportedBatch(batch)
        self._types = CTypes([from_arrow(field.type) for field in batch.schema])
        self._allocator = allocator
        self._table: OffHeapTable | None = None

    def run(self) -> OffHeapTable:
        if self._table is not None:
            self._table.release()
        self._table = OffHeapTable(self._types, self._batch.num_rows, self._allocator)
        self._table.append_exported(self._exported)
        return self._table

    def rows(self, table: OffHeapTable) -> Any:
        return fill(table.chain(), EngineSchema(self._batch.schema), self._allocator)


def append_stage(batch: pa.RecordBatch, allocator: TrackedAllocator) -> Stage:
    """`arrow-to-table`: Arrow's C structures into a new off-heap table; the old one is released."""
    step = _Append(batch, allocator)
    return Stage("arrow-to-table", step.run, step.rows)
