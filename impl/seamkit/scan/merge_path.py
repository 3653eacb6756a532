"""The merge path: rows of a file meet the events of their unit, a batch at a time.

The file is read stretch by stretch: first the keys of a stretch, then, once it is known where its
rows come from, the other columns. With a condition, what it tests is read next, and only where a
row is left the rest: a row of the file that stays is tested as it stands in the file, one that an
event replaces as the event has it. A stretch of which no row is left is read no further.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seambase.errors import InputError
from seamkit.core.arrow_data import batch_of
from seamkit.core.tasks import read_ahead
from seamkit.files.reader import FileReader
from seamkit.scan.events_cache import EventsSource, Matches
from seamkit.scan.masks import GoneRows
from seamkit.scan.merge import KEEP, REMOVE, Words
from seamkit.scan.native_path import (
    Wanted,
    condition_met,
    matching_groups,
    native_rows,
    with_values,
)
from seamkit.scan.units import DataFile, Events, Keyed, Positions, ReadContext

__all__ = ["UnitMerge"]

_Truths = npt.NDArray[np.bool_]


class UnitMerge:
    """One unit being merged; its stretches may be read by several threads.

    The events are loaded once. Stretches meet them in the file's order, whoever reads them: where
    a file holds a key twice, it may be the first of the rows that uses an event up. So a stretch
    waits for those before it; they must be asked for first.

    Args:
        file: the unit's file; None where it has events alone.
        changes: its events.
        schema: all columns of the table that events may be met by.
        wanted: what to hand out.
        context: what the read lends.
        events: where the events come from.
        threads: that read at once. If these are several, events are decoded and columns of the file
            read in parallel: a unit has few stretches, and they differ in size.
        row_groups: says which row groups of the file to read; None for all. Others may be left out
            if rows with their keys are thrown away afterwards, whatever the events say of them.
    """

    def __init__(
        self,
        file: DataFile | None,
        changes: Keyed,
        schema: pa.Schema,
        wanted: Wanted,
        context: ReadContext,
        events: EventsSource,
        *,
        threads: int = 1,
        row_groups: Callable[[FileReader], Sequence[int]] | None = None,
    ) -> None:
        self._file = file
        self._changes = changes
        self._table_schema = schema
        self._wanted = wanted
        self._context = replace(context, threads=threads)
        self._source = events
        # By thread, but owned by this object: what a thread-local holds is freed by a thread that
        # ends, and engines' own threads end without the interpreter.
        self._readers: dict[tuple[int, bool], FileReader] = {}
        self._turns = _Turns()
        self._lock = threading.Lock()
        self._unit: _UnitEvents | GoneRows | None = None
        self._stretches: list[list[int]] = []
        self._may_match: frozenset[int] | None = None
        self._matches = events.matches(changes)
        whole = self._matches is None and row_groups is None
        self._found: list[Words] | None = [] if whole and events.keeps_matches else None
        if file is not None:
            reader = self._reader()
            every = range(reader.num_row_groups)
            # Which rows meet events is known: then the condition itself rules out groups.
            choose = None if self._matches else row_groups
            groups = every if choose is None else choose(reader)
            self._stretches = _stretches(reader, groups, wanted.batch_rows)
        self._use_threads = threads > 1

    @property
    def n_stretches(self) -> int:
        """How many there are, at least one."""
        return max(len(self._stretches), 1)

    def all_rows(self) -> Iterator[pa.RecordBatch]:
        """The merged rows of all stretches."""
        for number in range(self.n_stretches):
            yield from self.rows(number)

    def rows(self, number: int) -> Iterator[pa.RecordBatch]:
        """The merged rows of a stretch; behind those of the last come rows that only events have.

        Raises:
            SeambenchError: what is wrong with the file, the events, or a stretch before this one.
        """
        stretch = None
        with self._turns.failing(), _begun(self._ahead(number)) as ahead:
            unit = self._loaded()
            if self._stretches and not isinstance(unit, GoneRows):
                stretch = self._stretch(unit, number)
        if isinstance(unit, GoneRows):
            yield from self._left(unit, number)
            return
        known, handed_out = self._wanted.known, self._wanted.columns
        schema = pa.schema([self._wanted.schema.field(name) for name in handed_out])
        if stretch is not None:
            for batch in self._merged(unit, number, stretch, ahead):
                yield with_values(batch, schema, known)
        if number + 1 == self.n_stretches:
            rest = self._matches.rest if self._matches else unit.events.rest()
            self._keep_matches(unit.events, rest)
            for batch in unit.rows_of(unit.chosen(rest)):
                yield with_values(batch, schema, known)

    def _keep_matches(self, events: Events, rest: Words) -> None:
        """Hand on what was found, if all stretches of the file came here."""
        if self._found is None or events.fills or len(self._found) < len(self._stretches):
            return
        sources = np.concatenate([*self._found, np.empty(0, dtype=np.int32)])
        found = Matches(sources, rest, events.data.num_rows)
        self._source.keep_matches(self._changes, found)

    def _left(self, gone: GoneRows, number: int) -> Iterator[pa.RecordBatch]:
        """The rows of a stretch of which some are gone and none has changed."""
        yield from native_rows(
            self._reader(),
            self._wanted,
            self._stretches[number] if self._stretches else [],
            use_threads=self._use_threads,
            gone=gone,
            allocator=self._context.allocator,
        )

    def _reader(self, *, ahead: bool = False) -> FileReader:
        """This thread's reader of the file; those of pyarrow may not be shared.

        Args:
            ahead: one more, for what is read beside.
        """
        assert self._file is not None  # asked for where there are stretches
        me = threading.get_ident(), ahead
        if me not in self._readers:
            self._readers[me] = self._file.open()
        return self._readers[me]

    def _loaded(self) -> _UnitEvents | GoneRows:
        with self._lock:
            if self._unit is None:
                names = self._wanted.read(self._wanted.schema.names).names
                loaded = self._source.load(self._changes, names, self._context)
                if isinstance(loaded, np.ndarray):
                    self._unit = self._checked(loaded)
                else:
                    if self._matches is not None:
                        self._matches.check(loaded)
                    self._unit = _UnitEvents(loaded, self._wanted, self._context)
            return self._unit

    def _checked(self, positions: Positions) -> GoneRows:
        reader = self._reader()
        return GoneRows(positions, reader.num_rows, reader.name)

    def _ahead(self, number: int) -> Iterator[pa.RecordBatch] | None:
        """What is read of a stretch while events are loaded and meet its keys.

        That is all but the keys, where it will be of use: several threads, and no condition.
        """
        waits = self._stretches and self._matches is None
        if not self._use_threads or not waits or self._wanted.condition is not None:
            return None
        keys = self._changes.key_columns
        names = [n for n in self._wanted.read(self._wanted.columns).names if n not in keys]
        rest = self._schema(names)
        return self._batches(self._reader(ahead=True), rest, self._stretches[number], names)

    def _stretch(self, unit: _UnitEvents, number: int) -> _Stretch:
        """Where the rows of a stretch come from; its keys meet the events in its turn."""
        groups, reader, events = self._stretches[number], self._reader(), unit.events
        first_row = reader.rows_in(range(groups[0]))
        if self._matches is not None:
            rows = reader.rows_in(groups)
            return _Stretch([], self._matches.sources[first_row : first_row + rows], None)
        names = events.columns(reader)
        if self._use_threads and not unit.selects:
            shown = unit.shown.data.schema.names
            names = [*names, *(name for name in shown if name in self._changes.key_columns)]
        batches = self._batches(reader, self._schema(names), groups)
        with self._turns.turn(number):
            stretch = _Stretch.meeting(list(batches), events, first_row, reader.name)
            if self._found is not None:
                self._found.append(stretch.sources)
        return stretch

    def _merged(
        self,
        unit: _UnitEvents,
        number: int,
        stretch: _Stretch,
        ahead: Iterator[pa.RecordBatch] | None,
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a stretch without the columns that have one value."""
        groups, reader = self._stretches[number], self._reader()
        if not unit.selects:
            merged = self._put_together(unit, reader, groups, stretch, ahead)
            yield from map(unit.tested, merged)
            return
        done = 0
        for group in groups:
            rows = reader.rows_in([group])
            part = _Stretch([], stretch.sources[done : done + rows].copy(), None)
            done += rows
            self._choose(unit, reader, group, part)
            yield from self._put_together(unit, reader, [group], part)

    def _choose(self, unit: _UnitEvents, reader: FileReader, group: int, stretch: _Stretch) -> None:
        """Remove the rows of a row group that do not meet the condition."""
        wanted, sources = self._wanted, stretch.sources
        unit.choose(sources)
        stays = sources == KEEP
        if stays.any() and group not in self._matching_groups(reader):
            sources[stays] = REMOVE
            return
        if not stays.any():
            return
        tested = pa.schema([wanted.schema.field(name) for name in wanted.tested])
        stretch.batches = list(self._batches(reader, wanted.read(wanted.tested), [group]))
        done = 0
        for batch in stretch.batches:
            part = slice(done, done + batch.num_rows)
            done += batch.num_rows
            whole = with_values(batch, tested, wanted.known)
            sources[part][~_true_of(whole, wanted, stays[part]) & stays[part]] = REMOVE

    def _matching_groups(self, reader: FileReader) -> Collection[int]:
        """Row groups in which rows of the file may meet the condition; what stays is not stale."""
        with self._lock:
            if self._may_match is None:
                self._may_match = frozenset(matching_groups(reader, self._wanted))
            return self._may_match

    def _put_together(
        self,
        unit: _UnitEvents,
        reader: FileReader,
        groups: Sequence[int],
        stretch: _Stretch,
        ahead: Iterator[pa.RecordBatch] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """The rows that are left of a stretch, from the file and the events.

        Args:
            unit: the events.
            reader: the file.
            groups: the stretch's row groups.
            stretch: where the rows come from.
            ahead: the columns that it lacks, texts as dictionaries, if they are being read.
        """
        events, sources = unit.shown, stretch.sources
        if not events.fills and not stretch.stays:
            yield from unit.rows_of(sources[sources > KEEP])
            return
        if ahead is None or events.fills:
            names = [n for n in events.data.schema.names if n not in stretch.schema.names]
            encoded = [] if events.fills else names
            ahead = self._batches(reader, self._schema(names), groups, encoded)
        # Behind the last row of the file that stays nothing of it needs to be read.
        last = len(sources) - 1 if events.fills else int(np.flatnonzero(sources == KEEP)[-1])
        done = 0
        for batch in read_ahead(ahead) if self._use_threads else ahead:
            merged = self._one_batch(batch, stretch, done, events)
            done += batch.num_rows
            if merged.num_rows:
                yield merged
            if unit.selects and done > last:
                yield from unit.rows_of(sources[done:][sources[done:] > KEEP])
                return
        if done != len(sources):
            raise InputError(f"{reader.name}: {done} rows, but {len(sources)} keys")

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
        self, batch: pa.RecordBatch, stretch: _Stretch, begin: int, events: Events
    ) -> pa.RecordBatch:
        """The merged rows of a batch that begins at a row of its stretch."""
        n, own = batch.num_rows, set(batch.schema.names)
        names = events.data.schema.names
        columns = [
            batch.column(name) if name in own else stretch.column(name, begin, n) for name in names
        ]
        fields = [pa.field(name, c.type) for name, c in zip(names, columns, strict=True)]
        whole = batch_of(columns, pa.schema(fields), n)
        losers = None if stretch.losers is None else stretch.losers[begin : begin + n]
        sources = stretch.sources[begin : begin + n]
        return events.put_together(whole, sources, losers, self._context.allocator)


class _UnitEvents:
    """The events of a unit, and which of their rows meet the condition of the read.

    Attributes:
        events: with the columns handed out and those that the condition tests.
        shown: the same with the columns that are put together.
        selects: whether rows are chosen before they are put together. They cannot be where events
            hold some values of a row only.
    """

    def __init__(self, events: Events, wanted: Wanted, context: ReadContext) -> None:
        self.events = events
        self._wanted = wanted
        self.selects = wanted.condition is not None and not events.fills
        handed_out = wanted.read(wanted.columns).names
        narrow = self.selects and handed_out != events.data.schema.names
        self.shown = events.fork(handed_out, context.allocator) if narrow else events
        self._lock = threading.Lock()
        self._true: _Truths | None = None
        self._fails = False

    def rows_of(self, rows: Words) -> Iterator[pa.RecordBatch]:
        """Rows of the events by their numbers, with the columns that are handed out."""
        size = self._wanted.batch_rows
        for begin in range(0, len(rows), size):
            yield self.tested(self.shown.data.take(pa.array(rows[begin : begin + size])))

    def chosen(self, rows: Words) -> Words:
        """Those of some rows of the events that meet the condition."""
        return rows[self._meet(rows)] if self.selects and len(rows) else rows

    def choose(self, sources: Words) -> None:
        """Remove the rows that come from events which do not meet the condition."""
        at = np.flatnonzero(sources > KEEP)
        if len(at):
            sources[at] = np.where(self._meet(sources[at]), sources[at], REMOVE)

    def tested(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Whole merged rows that meet the condition, with the columns that are handed out."""
        wanted = self._wanted
        if self.selects or wanted.condition is None:
            return batch
        whole = with_values(batch, wanted.schema, wanted.known)
        met = condition_met(whole.select(list(wanted.tested)), wanted.condition)
        return batch.select(wanted.read(wanted.columns).names).filter(met)

    def _meet(self, rows: Words) -> _Truths:
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
        return self._test(self.events.data.take(pa.array(rows)))

    def _test(self, batch: pa.RecordBatch) -> _Truths:
        wanted = self._wanted
        tested = pa.schema([wanted.schema.field(name) for name in wanted.tested])
        own = batch.select(wanted.read(wanted.tested).names)
        return _truths(condition_met(with_values(own, tested, wanted.known), wanted.condition))


class _Stretch:
    """Rows of a file that are read together, and where their values come from.

    Attributes:
        batches: columns that have been read already; they may be used once more.
        sources: where the values of each row come from.
        losers: rows of events that a row of the file stays above, or -1; if versions fill gaps.
    """

    def __init__(self, batches: list[pa.RecordBatch], sources: Words, losers: Words | None) -> None:
        self.batches = batches
        self.sources = sources
        self.losers = losers

    @classmethod
    def meeting(
        cls, batches: list[pa.RecordBatch], events: Events, first_row: int, source: str
    ) -> _Stretch:
        """Let the keys of a stretch meet the events."""
        rows = sum(batch.num_rows for batch in batches)
        sources = np.empty(rows, dtype=np.int32)
        all_losers = np.empty(rows, dtype=np.int32) if events.fills else None
        done = 0
        for batch in batches:
            end = done + batch.num_rows
            losers = None if all_losers is None else all_losers[done:end]
            sources[done:end] = events.meet(batch, first_row + done, source, losers)
            done = end
        return cls(batches, sources, all_losers)

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


def _true_of(batch: pa.RecordBatch, wanted: Wanted, counted: _Truths) -> _Truths:
    """Whether rows of a file meet the condition; of those that do not count, anything.

    A row that is gone may hold a value on which the condition fails.
    """
    try:
        return _truths(condition_met(batch, wanted.condition))
    except pa.ArrowException:
        found = np.zeros(batch.num_rows, dtype=np.bool_)
        found[counted] = _truths(condition_met(batch.filter(pa.array(counted)), wanted.condition))
        return found


def _truths(met: pa.Array) -> _Truths:
    """True where a condition is; neither where it is false nor where it is null."""
    truths: _Truths = met.fill_null(False).to_numpy(zero_copy_only=False)
    return truths


@contextmanager
def _begun(batches: Iterator[pa.RecordBatch] | None) -> Iterator[Iterator[pa.RecordBatch] | None]:
    """The same batches, for later; a thread of its own reads the first one meanwhile."""
    if batches is None:
        yield None
        return
    with ThreadPoolExecutor(1, thread_name_prefix="seambench-ahead") as pool:
        first = pool.submit(next, batches, None)
        try:
            yield _following(first, batches)
        finally:
            del first  # see `read_ahead`


def _following(
    first: Future[pa.RecordBatch | None], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    try:
        batch = first.result()
    finally:
        del first
    if batch is not None:
        yield batch
        del batch
        yield from batches


class _Turns:
    """Lets threads do something in the order of their numbers, until one of them fails."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._next = 0
        self._error: BaseException | None = None

    @contextmanager
    def failing(self) -> Iterator[None]:
        """An error in here is also that of everybody whose turn would come later."""
        try:
            yield
        except BaseException as error:
            with self._changed:
                # A copy: the error's own traceback leads back to this object.
                self._error = self._error or copy.copy(error)
                self._changed.notify_all()
            raise

    @contextmanager
    def turn(self, number: int) -> Iterator[None]:
        """Wait for those with lower numbers."""
        with self._changed:
            self._changed.wait_for(lambda: self._next == number or self._error is not None)
            if self._error is not None:
                raise copy.copy(self._error)
        yield
        with self._changed:
            self._next = number + 1
            self._changed.notify_all()


def _stretches(reader: FileReader, groups: Sequence[int], batch_rows: int) -> list[list[int]]:
    """Row groups, small ones together, so that batches have the rows they may have."""
    stretches: list[list[int]] = []
    room = 0
    for group in groups:
        rows = reader.rows_in([group])
        if not stretches or rows > room:
            stretches.append([])
            room = batch_rows
        stretches[-1].append(group)
        room -= rows
    return stretches
