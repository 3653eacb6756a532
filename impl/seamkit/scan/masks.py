"""Rows of a file that are gone, by position."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from seambase.errors import InputError
from seamkit.core.arrow_data import ExportedBatch, batch_of
from seamkit.core.memory import TrackedAllocator
from seamkit.scan.merge import KEEP, REMOVE, assemble
from seamkit.scan.units import Positions

__all__ = ["GoneRows", "RowRemover"]


class GoneRows:
    """The positions of a mask, checked once, and looked at for ranges of rows.

    Args:
        positions: of the rows that are gone.
        num_rows: of the file.
        source: the file, for messages.

    Raises:
        InputError: positions that do not ascend, or of rows that the file has not.
    """

    def __init__(self, positions: Positions, num_rows: int, source: str) -> None:
        self._positions = np.ascontiguousarray(positions, dtype=np.int64)
        if not len(self._positions):
            return
        first, last = int(self._positions[0]), int(self._positions[-1])
        if first < 0 or last >= num_rows:
            raise InputError(
                f"{source}: row {first if first < 0 else last} is marked as deleted, and the file "
                f"has {num_rows} rows"
            )
        if (self._positions[1:] <= self._positions[:-1]).any():
            raise InputError(f"{source}: the positions of its deleted rows are not in order")

    def count(self, begin: int, end: int) -> int:
        """How many of the rows from `begin` up to `end` are gone."""
        lower, upper = np.searchsorted(self._positions, (begin, end))
        return int(upper - lower)

    def within(self, begin: int, end: int) -> Positions:
        """Those of the rows from `begin` up to `end`, counted from `begin`."""
        lower, upper = np.searchsorted(self._positions, (begin, end))
        return self._positions[lower:upper] - begin

    def kept(self, begin: int, end: int) -> pa.Array:
        """For each row from `begin` up to `end` whether it is still there."""
        flags = np.ones(end - begin, dtype=np.bool_)
        flags[self.within(begin, end)] = False
        return pa.array(flags)


class RowRemover:
    """Takes the rows of a mask out of batches of one schema.

    Args:
        gone: the mask.
        schema: of the batches that come out; texts may come in as dictionaries.
        allocator: owner of columns that are not changed in place.
    """

    def __init__(self, gone: GoneRows, schema: pa.Schema, allocator: TrackedAllocator) -> None:
        self._gone = gone
        self._allocator = allocator
        self._nothing = batch_of([pa.array([], field.type) for field in schema], schema, 0)
        self._exported = ExportedBatch(self._nothing)

    def left(self, batch: pa.RecordBatch, begin: int) -> pa.RecordBatch:
        """The rows of a batch that are left.

        Args:
            batch: rows of the file from `begin` on. Its buffers belong to this call, as those of
                `seamkit.scan.merge.assemble` do.
            begin: position of its first row in the file.
        """
        end = begin + batch.num_rows
        if not batch.num_columns:
            rows = batch.num_rows - self._gone.count(begin, end)
            return batch_of([], self._nothing.schema, rows)
        sources = np.full(batch.num_rows, KEEP, dtype=np.int32)
        sources[self._gone.within(begin, end)] = REMOVE
        return assemble(batch, self._nothing, self._exported, sources, self._allocator)
