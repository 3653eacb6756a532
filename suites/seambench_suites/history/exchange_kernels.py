"""Rows dealt to the parts of an exchange: hashed, sorted by part, copied column by column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from .column_kernels import lineitem
from .kernels import feature


class Deal:
    """65,536 rows of 16 columns to chunks of 8 or 64 parts by the hash of their first column."""

    batches, rows = 16, 65_536

    def __init__(self, parts: str) -> None:
        self._module = feature("seamkit.exchange.partition", "Partitioner", "PartitionRule")
        count = int(parts)
        batch = pa.Table.from_batches([lineitem()] * self.batches).combine_chunks().to_batches()[0]
        numbers = pa.array(np.arange(self.rows, dtype=np.int64))
        self._batch = batch.set_column(0, "orderkey", numbers)
        rule = self._module.PartitionRule(keys=["orderkey"], channels=count, chunk_rows=self.rows)
        self._partitioner: Any = self._module.Partitioner(self._batch.schema, rule)
        dealt = self.run()
        if {part for part, _ in dealt} != set(range(count)):
            raise AssertionError("parts without rows")
        together = pa.Table.from_batches([chunk for _, chunk in dealt]).sort_by("orderkey")
        if not together.equals(pa.Table.from_batches([self._batch])):
            raise AssertionError("the rows of all parts are not those that were dealt")

    def prepare(self) -> None:
        """Nothing is used up: flushed parts are empty."""

    def run(self) -> list[tuple[int, pa.RecordBatch]]:
        """Deal the batch and flush every part."""
        dealt = [*self._partitioner.append(self._batch), *self._partitioner.flush()]
        if sum(chunk.num_rows for _, chunk in dealt) != self.rows:
            raise AssertionError("rows are missing")
        return dealt
