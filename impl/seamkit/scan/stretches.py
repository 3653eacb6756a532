"""Parts of a merge: events under the condition of a read, and stretches of their file."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seambase.errors import InputError
from seamkit.core.arrow_data import array_of
from seamkit.files.reader import FileReader
from seamkit.scan.merging.log_index import KEEP, RowNumbers
from seamkit.scan.native_path import Wanted, condition_met, with_values
from seamkit.scan.units import Events

__all__ = ["Neighbours", "Stretch", "UnitEvents", "stretches"]

_Truths = npt.NDArray[np.bool_]


class UnitEvents:
    """The events of a unit, and which of their rows meet the condition of the read.

    Attributes:
        events: with the columns handed out and those that the condition tests.
        selects: whether rows are chosen before they are put together. They cannot be where events
            hold some values of a row only.
    """

    def __init__(self, events: Events, wanted: Wanted) -> None:
        self.events = events
        self._wanted = wanted
        self._handed_out = pa.schema([wanted.schema.field(name) for name in wanted.columns])
        self.selects = wanted.condition is not None and not events.fills
        self._lock = threading.Lock()
        self._true: _Truths | None = None
        self._fails = False

    def rows_of(self, rows: RowNumbers) -> Iterator[pa.RecordBatch]:
        """Rows of the events by their numbers; see `chosen` for their condition."""
        wanted, data = self._wanted, self.events.data
        if self.selects:
            data = data.select(wanted.read(wanted.columns).names)
        parts = (rows[i : i + wanted.batch_rows] for i in range(0, len(rows), wanted.batch_rows))
        whole = (data.take(array_of(part)) for part in parts)
        if not self.selects:
            yield from self.tested(whole)
            return
        for batch in whole:
            yield with_values(batch, self._handed_out, wanted.known)

    def chosen(self, rows: RowNumbers) -> RowNumbers:
        """Those of some rows of the events that meet the condition, if rows are chosen."""
        return rows[self._meet(rows)] if self.selects and len(rows) else rows

    def tested(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Merged rows with all columns of the events: those that meet the condition."""
        wanted = self._wanted
        for batch in batches:
            whole = with_values(batch, wanted.schema, wanted.known)
            if wanted.condition is not None:
                met = condition_met(whole.select(list(wanted.tested)), wanted.condition)
                whole = whole.select(list(wanted.columns)).filter(met)
            yield whole

    def _meet(self, rows: RowNumbers) -> _Truths:
        """Whether rows of the events meet the condition."""
        with self._lock:
            if self._true is None and not self._fails:
                try:
                    self._true = self._test(self.events.data)
                except pa.ArrowException:
                    # It may be a row that another event replaces, whose value does not matter.
                    self._fails = True
        if self._true is not None:
            return self._true[rows]
        return self._test(self.events.data.take(array_of(rows)))

    def _test(self, batch: pa.RecordBatch) -> _Truths:
        wanted = self._wanted
        tested = pa.schema([wanted.schema.field(name) for name in wanted.tested])
        own = batch.select(wanted.read(wanted.tested).names)
        return _truths(condition_met(with_values(own, tested, wanted.known), wanted.condition))


class Stretch:
    """Rows of a file that are read together, and where their values come from.

    Attributes:
        batches: columns that have been read already; they may be used once more.
        sources: where the values of each row come from.
        losers: rows of events that a row of the file stays above, or -1; if versions fill gaps.
    """

    def __init__(
        self, batches: list[pa.RecordBatch], sources: RowNumbers, losers: RowNumbers | None
    ) -> None:
        self.batches = batches
        self.sources = sources
        self.losers = losers

    @classmethod
    def meeting(
        cls,
        batches: Iterable[pa.RecordBatch],
        events: Events,
        at: Neighbours,
        source: str,
        *,
        keeps: bool,
    ) -> Stretch:
        """Let the keys of a stretch meet the events.

        Args:
            batches: what `Events.columns` names, of all rows of the stretch.
            events: those of the unit.
            at: which rows of the file they are.
            source: the file, for messages.
            keeps: whether the keys are handed out, too.
        """
        sources = np.empty(at.rows, dtype=np.int32)
        all_losers = np.empty(at.rows, dtype=np.int32) if events.fills else None
        kept: list[pa.RecordBatch] = []
        done = 0
        for batch in batches:
            end = done + batch.num_rows
            if end > at.rows:
                raise InputError(f"{source}: more rows than its footer says")
            losers = None if all_losers is None else all_losers[done:end]
            sources[done:end] = events.meet(batch, at.first_row + done, source, losers)
            done = end
            if keeps:
                kept.append(batch)
        if done != at.rows:
            raise InputError(f"{source}: {at.rows} rows, but {done} keys")
        return cls(kept, sources, all_losers)

    @property
    def stays(self) -> bool:
        """Whether any value of the file is handed out."""
        return bool((self.sources == KEEP).any())

    @property
    def schema(self) -> pa.Schema:
        """The columns that have been read already."""
        return self.batches[0].schema if self.batches else pa.schema([])

    def column(self, name: str, begin: int, n: int) -> pa.Array:
        """Values of a column that has been read already."""
        pieces = []
        for batch in self.batches:
            piece = batch.column(name).slice(begin, n)
            n -= len(piece)
            begin = max(begin - batch.num_rows, 0)
            if len(piece):
                pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else pa.concat_arrays(pieces)


def _truths(met: pa.Array) -> _Truths:
    """True where a condition is; neither where it is false nor where it is null."""
    truths: _Truths = met.fill_null(False).to_numpy(zero_copy_only=False)
    return truths


class Neighbours(NamedTuple):
    """Row groups of a file that follow each other: their rows are one range of its positions.

    Attributes:
        groups: their numbers.
        first_row: position of the first of their rows in the file.
        rows: of all of them.
    """

    groups: range
    first_row: int
    rows: int


def stretches(reader: FileReader, chosen: Collection[int], batch_rows: int) -> list[Neighbours]:
    """Some row groups of a file, small neighbours together: then batches have rows enough."""
    found: list[Neighbours] = []
    begin = 0
    for group in range(max(chosen, default=-1) + 1):
        rows = reader.rows_in([group])
        if group in chosen:
            last = found[-1] if found else None
            if last and last.groups.stop == group and last.rows + rows <= batch_rows:
                joined = range(last.groups.start, group + 1)
                found[-1] = Neighbours(joined, last.first_row, last.rows + rows)
            else:
                found.append(Neighbours(range(group, group + 1), begin, rows))
        begin += rows
    return found
