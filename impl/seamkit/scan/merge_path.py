"""The merge path: rows of a file meet the events of their unit, a batch at a time.

The file is read a few row groups at a time: first their keys, then, once it is known where their
rows come from, the other columns. With a condition rows are chosen first: those of the file that
stay are read as on the native path, under a mask of those that do not; rows of events that meet the
condition come behind them. Nothing is put together then.

What an earlier read knows of the events is no matter of this module: they come from
`seamkit.scan.events_cache` as any others do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seambase.errors import InputError, UsageError
from seambase.wording import counted
from seamkit.core.border import array_of, batch_of, numpy_of
from seamkit.core.tasks import Once, Turns, begun, read_ahead
from seamkit.files.reader import FileReader
from seamkit.files.roaring import Positions
from seamkit.scan.core_merges import KEEP, RowNumbers
from seamkit.scan.masks import GoneRows
from seamkit.scan.native_path import condition_truths, matching_groups, native_rows, tested_rows
from seamkit.scan.units import Events, ReadContext, UnitFile, Wanted

_Truths = npt.NDArray[np.bool_]

_MOST_AHEAD = 2


class EventsOfUnit(Protocol):
    """What a merge asks of a unit's changes; `seamkit.scan.units.Keyed` can do that and more."""

    @property
    def key_columns(self) -> frozenset[str]:
        """Columns that are read for the events to meet the rows."""

    def load(self, names: Sequence[str], context: ReadContext) -> Events | Positions:
        """See `Keyed.load`."""


class UnitMerge:
    """One unit being merged; several threads may read ranges of its row groups.

    The events are loaded once. Ranges meet them in the file's order, whoever reads them: where a
    file holds a key twice, it may be the first of the rows that uses an event up. So a range waits
    for those before it; they must be asked for first. Without a file the unit has events alone.
    Where several threads read, events are decoded and columns of the file read in parallel: a unit
    has few ranges, and they differ in size. `row_groups` says which row groups to read. Others may
    be left out if rows with their keys are thrown away afterwards, whatever the events say of them.
    """

    def __init__(
        self,
        file: UnitFile | None,
        changes: EventsOfUnit,
        schema: pa.Schema,
        wanted: Wanted,
        context: ReadContext,
        *,
        threads: int = 1,
        row_groups: Callable[[FileReader], Sequence[int]] | None = None,
    ) -> None:
        self._file = file
        self._changes = changes
        self._table_schema = schema
        self._wanted = wanted
        self._context = replace(context, threads=threads)
        # By thread, but owned by this object: what a thread-local holds is freed by a thread that
        # ends, and engines' own threads end without the interpreter.
        self._readers: dict[tuple[int, bool], FileReader] = {}
        self._turns = Turns()
        self._unit: Once[_UnitEvents | GoneRows] = Once()
        self._ranges: list[GroupRange] = []
        self._may_match: Once[frozenset[int]] = Once()
        if file is not None:
            reader = self._reader()
            groups = range(reader.num_row_groups) if row_groups is None else row_groups(reader)
            self._ranges = _group_ranges(reader, frozenset(groups), wanted.batch_rows)
        self._use_threads = threads > 1

    @property
    def n_ranges(self) -> int:
        """How many there are, at least one."""
        return max(len(self._ranges), 1)

    def all_rows(self) -> Iterator[pa.RecordBatch]:
        """The merged rows of all ranges."""
        for number in range(self.n_ranges):
            yield from self.rows(number)

    def rows(self, number: int) -> Iterator[pa.RecordBatch]:
        """The merged rows of a range; behind those of the last come rows that only events have."""
        sources = None
        with self._turns.failing(), begun(self._ahead(number), self._most_ahead) as ahead:
            if ahead is None:
                self._fetch(number)
            unit = self._unit.get(self._load)
            if self._ranges and not isinstance(unit, GoneRows):
                sources = self._meet(unit, number)
        if isinstance(unit, GoneRows):
            if self._file is not None:
                yield from self._left(unit, number)
            return
        if sources is not None:
            yield from self._merged(unit, number, sources, ahead)
        if number + 1 == self.n_ranges:
            yield from unit.rows_of(unit.chosen(unit.events.rest()))

    def _left(self, gone: GoneRows, number: int) -> Iterator[pa.RecordBatch]:
        """The rows of a range of which some are gone and none has changed."""
        yield from native_rows(
            self._reader(),
            self._wanted,
            self._ranges[number].groups if self._ranges else (),
            use_threads=self._use_threads,
            gone=gone,
            allocator=self._context.allocator,
        )

    def _reader(self, *, ahead: bool = False) -> FileReader:
        """This thread's reader of the file; those of pyarrow may not be shared."""
        # `ahead`: one more, for what is read beside.
        assert self._file is not None  # asked for where there are row groups
        me = threading.get_ident(), ahead
        if me not in self._readers:
            self._readers[me] = self._file.open()
        return self._readers[me]

    def _load(self) -> _UnitEvents | GoneRows:
        names = self._wanted.read(self._wanted.schema.names).names
        context = replace(self._context, file=self._reader if self._ranges else None)
        loaded = self._changes.load(names, context)
        if isinstance(loaded, np.ndarray):
            return self._checked(loaded)
        return _UnitEvents(loaded, self._wanted)

    def _checked(self, positions: Positions) -> GoneRows:
        if self._file is None:  # rows are gone of a file that is not read
            return GoneRows(positions[:0], 0, "no file")
        reader = self._reader()
        return GoneRows(positions, reader.num_rows, reader.name)

    def _fetch(self, number: int) -> None:
        """Ask for what is surely read of a range, and of the next one where it is this thread's."""
        # Of a file far away, the bytes come while events are loaded: keys and other columns at
        # once.
        wanted = self._wanted
        names = wanted.columns if wanted.condition is None else wanted.tested
        last = number + 1 if self._use_threads else number + 2
        for at in self._ranges[number:last]:
            self._reader().fetch(wanted.read(names).names, at.groups)

    @property
    def _most_ahead(self) -> int:
        """Batches that may wait for the events."""
        return 1 if self._context.held_bytes is not None else _MOST_AHEAD

    def _ahead(self, number: int) -> Iterator[pa.RecordBatch] | None:
        """What is read of a range while events are loaded and meet its keys."""
        # That is all but the keys, where it will be of use: several threads, and no condition.
        if not self._use_threads or not self._ranges or self._wanted.condition is not None:
            return None
        keys = self._changes.key_columns
        names = [n for n in self._wanted.read(self._wanted.columns).names if n not in keys]
        rest = self._schema(names)
        return self._batches(self._reader(ahead=True), rest, self._ranges[number].groups, names)

    def _meet(self, unit: _UnitEvents, number: int) -> RowSources:
        """Where the rows of a range come from; its keys meet the events in its turn."""
        at, reader, events = self._ranges[number], self._reader(), unit.events
        names = list(events.columns(reader))
        shown = [] if unit.selects else events.data.schema.names
        if self._use_threads:
            names += [name for name in shown if name in self._changes.key_columns]
        keeps = not set(names).isdisjoint(shown)
        with self._turns.turn(number):
            batches: Iterable[pa.RecordBatch] = [batch_of([], pa.schema([]), at.rows)]
            if names:
                batches = self._batches(reader, self._schema(names), at.groups)
            return RowSources.meeting(batches, events, at, reader.name, keeps=keeps)

    def _merged(
        self,
        unit: _UnitEvents,
        number: int,
        origin: RowSources,
        ahead: Iterator[pa.RecordBatch] | None,
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a range."""
        at, reader, sources = self._ranges[number], self._reader(), origin.sources
        if unit.events.fills or (origin.stays and not unit.selects):
            whole = self._put_together(unit.events, reader, at.groups, origin, ahead)
            yield from unit.tested(whole)
            return
        if origin.stays:
            matching = self._matching_groups(reader)
            elsewhere = at.first_row + np.flatnonzero(sources != KEEP).astype(np.int64)
            yield from tested_rows(
                reader,
                self._wanted,
                [group for group in at.groups if group in matching],
                GoneRows(elsewhere, reader.num_rows, reader.name),
                use_threads=self._use_threads,
            )
        yield from unit.rows_of(unit.chosen(sources[sources > KEEP]))

    def _matching_groups(self, reader: FileReader) -> Collection[int]:
        """Row groups in which rows of the file may meet the condition; what stays is not stale."""
        return self._may_match.get(lambda: frozenset(matching_groups(reader, self._wanted)))

    def _put_together(
        self,
        events: Events,
        reader: FileReader,
        groups: Sequence[int],
        origin: RowSources,
        ahead: Iterator[pa.RecordBatch] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """The rows that are left of a range, from the file and the events, untested."""
        # `origin` says where they come from; `ahead` are the columns that were not read for that,
        # texts as dictionaries, if they are being read.
        if ahead is None or events.fills:
            names = [n for n in events.data.schema.names if n not in origin.schema.names]
            encoded = [] if events.fills else names
            ahead = self._batches(reader, self._schema(names), groups, encoded)
        done = 0
        for batch in read_ahead(ahead) if self._use_threads else ahead:
            merged = self._one_batch(batch, origin, done, events)
            done += batch.num_rows
            if merged.num_rows:
                yield merged
        if done != len(origin.sources):
            raise InputError(
                f"{reader.name}: {counted(done, 'row')}, but {counted(len(origin.sources), 'key')}"
            )

    def _batches(
        self,
        reader: FileReader,
        schema: pa.Schema,
        groups: Sequence[int],
        encoded: Sequence[str] = (),
    ) -> Iterator[pa.RecordBatch]:
        return reader.batches(
            schema,
            self._wanted.batch_rows,
            use_threads=self._use_threads,
            encoded=encoded,
            row_groups=groups,
        )

    def _schema(self, names: Sequence[str]) -> pa.Schema:
        return pa.schema([self._table_schema.field(name) for name in dict.fromkeys(names)])

    def _one_batch(
        self, batch: pa.RecordBatch, origin: RowSources, begin: int, events: Events
    ) -> pa.RecordBatch:
        """The merged rows of a batch that begins at a row of its range."""
        n, own = batch.num_rows, set(batch.schema.names)
        names = events.data.schema.names
        columns = [
            batch.column(name) if name in own else origin.column(name, begin, n) for name in names
        ]
        fields = [pa.field(name, c.type) for name, c in zip(names, columns, strict=True)]
        whole = batch_of(columns, pa.schema(fields), n)
        losers = None if origin.losers is None else origin.losers[begin : begin + n]
        sources = origin.sources[begin : begin + n]
        return events.put_together(whole, sources, losers, self._context.allocator)


class _UnitEvents:
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
            yield wanted.whole(batch, self._handed_out)

    def chosen(self, rows: RowNumbers) -> RowNumbers:
        """Those of some rows of the events that meet the condition, if rows are chosen."""
        return rows[self._meet(rows)] if self.selects and len(rows) else rows

    def tested(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Merged rows with all columns of the events: those that meet the condition."""
        wanted = self._wanted
        for batch in batches:
            whole = wanted.whole(batch, wanted.schema)
            if wanted.condition is not None:
                truths = condition_truths(whole.select(list(wanted.tested)), wanted.condition)
                whole = whole.select(list(wanted.columns)).filter(truths)
            yield whole

    def _meet(self, rows: RowNumbers) -> _Truths:
        """Whether rows of the events meet the condition."""
        with self._lock:
            if self._true is None and not self._fails:
                try:
                    self._true = self._test(self.events.data)
                except UsageError:
                    # It may be a row that another event replaces, whose value does not matter.
                    self._fails = True
        if self._true is not None:
            return self._true[rows]
        return self._test(self.events.data.take(array_of(rows)))

    def _test(self, batch: pa.RecordBatch) -> _Truths:
        wanted = self._wanted
        tested = pa.schema([wanted.schema.field(name) for name in wanted.tested])
        own = batch.select(wanted.read(wanted.tested).names)
        truths = condition_truths(wanted.whole(own, tested), wanted.condition)
        return numpy_of(truths.fill_null(False))


@dataclass(frozen=True)
class RowSources:
    """Where the values of rows of a file come from that are read together."""

    # columns that have been read already; they may be used once more
    batches: Sequence[pa.RecordBatch]
    sources: RowNumbers  # where the values of each row come from
    # rows of events that a row of the file stays above, or -1; if versions fill gaps
    losers: RowNumbers | None

    @classmethod
    def meeting(
        cls,
        batches: Iterable[pa.RecordBatch],
        events: Events,
        at: GroupRange,
        source: str,
        *,
        keeps: bool,
    ) -> RowSources:
        """Let the keys of a range, what `Events.columns` names of all its rows, meet the events."""
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
            raise InputError(f"{source}: {counted(at.rows, 'row')}, but {counted(done, 'key')}")
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


class GroupRange(NamedTuple):
    """Row groups of a file that follow each other: their rows are one range of its positions."""

    groups: range  # their numbers
    first_row: int  # position of the first of their rows in the file
    rows: int  # of all of them


def _group_ranges(reader: FileReader, chosen: Collection[int], batch_rows: int) -> list[GroupRange]:
    """Some row groups of a file, small neighbours together: then batches have rows enough."""
    found: list[GroupRange] = []
    begin = 0
    for group in range(max(chosen, default=-1) + 1):
        rows = reader.rows_in([group])
        if group in chosen:
            last = found[-1] if found else None
            if last and last.groups.stop == group and last.rows + rows <= batch_rows:
                joined = range(last.groups.start, group + 1)
                found[-1] = GroupRange(joined, last.first_row, last.rows + rows)
            else:
                found.append(GroupRange(range(group, group + 1), begin, rows))
        begin += rows
    return found
