"""The steps of the column seam, for `seambench throughput`."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from seambench.contracts.common import Stage
from seamkit.core.border import ExportedBatch
from seamkit.core.memory import TrackedAllocator
from seamkit.offheap.columns.c_types import CTypes
from seamkit.offheap.columns.table import OffHeapTable
from seamkit.offheap.columns.types import from_arrow
from seamkit.offheap.engine.columns import EngineSchema, fill


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
