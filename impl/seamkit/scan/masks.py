"""Rows of a file that are gone: by position, or by keys that deletes name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seambase.errors import InputError
from seambase.wording import counted
from seamkit.core.border import ExportedBatch, batch_of, no_rows
from seamkit.core.memory import TrackedAllocator
from seamkit.core.tasks import Once
from seamkit.files.reader import FileReader
from seamkit.files.roaring import Positions
from seamkit.scan.core_merges import KEEP, REMOVE, assemble
from seamkit.scan.units import Changes, KeyMask, KeyTest, Mask, ReadContext


class Gone(ABC):
    """Rows that are gone, looked at for ranges of rows of their file.

    Attributes:
        is_known: whether the positions are at hand, so that to ask costs nothing; else keys are
            read.
    """

    is_known: bool

    @abstractmethod
    def within(self, begin: int, end: int) -> Positions:
        """Those of the rows from `begin` up to `end`, counted from `begin`."""

    def count(self, begin: int, end: int) -> int:
        """How many of the rows from `begin` up to `end` are gone."""
        return len(self.within(begin, end))

    def kept(self, begin: int, end: int) -> npt.NDArray[np.bool_]:
        """For each row from `begin` up to `end` whether it is still there."""
        flags = np.ones(end - begin, dtype=np.bool_)
        flags[self.within(begin, end)] = False
        return flags


class GoneRows(Gone):
    """The positions of a mask, checked once, and looked at for ranges of rows of a file."""

    is_known = True

    def __init__(self, positions: Positions, num_rows: int, source: str) -> None:
        self._positions = np.ascontiguousarray(positions, dtype=np.int64)
        if not len(self._positions):
            return
        first, last = int(self._positions[0]), int(self._positions[-1])
        if first < 0 or last >= num_rows:
            raise InputError(
                f"{source}: row {first if first < 0 else last} is marked as deleted, and the file "
                f"has {counted(num_rows, 'row')}"
            )
        if (self._positions[1:] <= self._positions[:-1]).any():
            raise InputError(f"{source}: the positions of its deleted rows are not in order")

    @classmethod
    def of(cls, mask: Mask | None, reader: FileReader) -> GoneRows:
        """Those of a mask of a reader's file; none where there is no mask."""
        positions = np.empty(0, np.int64) if mask is None else mask.load()
        return cls(positions, reader.num_rows, reader.name)

    def count(self, begin: int, end: int) -> int:
        """See `Gone.count`; without a copy of the positions, as each batch is asked about."""
        lower, upper = np.searchsorted(self._positions, (begin, end))
        return int(upper - lower)

    def within(self, begin: int, end: int) -> Positions:
        """See `Gone.within`."""
        lower, upper = np.searchsorted(self._positions, (begin, end))
        return self._positions[lower:upper] - begin


class GoneByKey(Gone):
    """Rows whose keys some deletes name, worked out row group by row group when first asked for.

    The keys of a row group are read apart from its other columns: nothing more of it is read where
    all of its rows are gone. `keys` are sets of key columns, each with what tells which rows are
    gone by them; so many keys as `batch_rows` are looked at in one go.
    """

    is_known = False

    def __init__(
        self,
        reader: FileReader,
        keys: Sequence[tuple[pa.Schema, KeyTest]],
        mask: GoneRows,
        batch_rows: int,
    ) -> None:
        self._reader = reader
        self._keys = keys
        self._mask = mask
        self._batch_rows = batch_rows
        rows = [reader.rows_in([group]) for group in range(reader.num_row_groups)]
        self._starts = np.concatenate([[0], np.cumsum(rows, dtype=np.int64)])
        self._gone: dict[int, Positions] = {}

    def within(self, begin: int, end: int) -> Positions:
        """See `Gone.within`."""
        first = int(np.searchsorted(self._starts, begin, "right")) - 1
        last = int(np.searchsorted(self._starts, end, "left"))
        pieces = [self._in_group(group) for group in range(first, last)]
        found = np.concatenate(pieces) if pieces else np.empty(0, np.int64)
        lower, upper = np.searchsorted(found, (begin, end))
        return found[lower:upper] - begin

    def _in_group(self, group: int) -> Positions:
        """Positions in the file of a row group's rows that are gone."""
        if group not in self._gone:
            begin, end = int(self._starts[group]), int(self._starts[group + 1])
            flags = np.zeros(end - begin, dtype=np.bool_)
            flags[self._mask.within(begin, end)] = True
            for schema, test in self._keys:
                self._test(schema, test, group, flags)
            self._gone[group] = np.flatnonzero(flags) + begin
        return self._gone[group]

    def _test(
        self, schema: pa.Schema, test: KeyTest, group: int, flags: npt.NDArray[np.bool_]
    ) -> None:
        done = 0
        for batch in self._reader.batches(
            schema, self._batch_rows, use_threads=False, row_groups=[group]
        ):
            flags[done : done + batch.num_rows] |= test(batch)
            done += batch.num_rows
        if done != len(flags):
            raise InputError(
                f"{self._reader.name}: {counted(len(flags), 'row')}, but {counted(done, 'key')}"
            )


class RowRemover:
    """Takes the rows of a mask out of batches of one schema, in which texts may be dictionaries.

    The allocator owns columns that are not changed in place.
    """

    def __init__(self, gone: Gone, schema: pa.Schema, allocator: TrackedAllocator) -> None:
        self._gone = gone
        self._allocator = allocator
        self._nothing = no_rows(schema)
        self._exported = ExportedBatch(self._nothing)

    def left(self, batch: pa.RecordBatch, begin: int) -> pa.RecordBatch:
        """The rows that are left of a batch, the first of which is at `begin` in the file.

        Its buffers belong to this call, as those of `assemble` do.
        """
        end = begin + batch.num_rows
        if not batch.num_columns:
            rows = batch.num_rows - self._gone.count(begin, end)
            return batch_of([], self._nothing.schema, rows)
        sources = np.full(batch.num_rows, KEEP, dtype=np.int32)
        sources[self._gone.within(begin, end)] = REMOVE
        return assemble(batch, self._nothing, self._exported, sources, self._allocator)


class SharedMask:
    """What is gone of one file, for the tasks that read it; positions are loaded once."""

    def __init__(self, changes: Changes) -> None:
        assert isinstance(changes, Mask | KeyMask)
        self._mask = changes if isinstance(changes, Mask) else changes.mask
        self._keys = changes.keys if isinstance(changes, KeyMask) else ()
        self._rows: Once[GoneRows] = Once()

    def of(self, reader: FileReader, context: ReadContext, batch_rows: int) -> Gone:
        """The rows that are gone of the file that a reader has opened; for one thread."""
        rows = self._rows.get(lambda: GoneRows.of(self._mask, reader))
        if not self._keys:
            return rows
        tests = [(schema, load(context)) for schema, load in self._keys]
        return GoneByKey(reader, tests, rows, batch_rows)
