"""The merge path: rows of a file meet the events of their unit, a batch at a time.

The file is read stretch by stretch: first the keys of a stretch, then, once it is known where its
rows come from, the other columns. With a condition rows are chosen first: those of the file that
stay are read as on the native path, under a mask of those that do not; rows of events that meet the
condition come behind them. Nothing is put together then.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from seambase.errors import InputError
from seamkit.core.arrow_data import batch_of
from seamkit.core.tasks import read_ahead
from seamkit.core.turns import Turns, begun
from seamkit.files.reader import Fetching, FileReader
from seamkit.scan.events_cache import Matches, UnitSource
from seamkit.scan.masks import GoneRows
from seamkit.scan.merging.log_index import KEEP, RowNumbers
from seamkit.scan.native_path import Wanted, matching_groups, native_rows, tested_rows
from seamkit.scan.stretches import Neighbours, Stretch, UnitEvents, stretches
from seamkit.scan.units import DataFile, Events, Keyed, Positions, ReadContext

__all__ = ["UnitMerge"]


_MOST_AHEAD = 2


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
        source: where the events come from, and what is known of them.
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
        source: UnitSource,
        *,
        threads: int = 1,
        row_groups: Callable[[FileReader], Sequence[int]] | None = None,
    ) -> None:
        self._file = file
        self._changes = changes
        self._table_schema = schema
        self._wanted = wanted
        self._context = replace(context, threads=threads)
        self._source = source
        # By thread, but owned by this object: what a thread-local holds is freed by a thread that
        # ends, and engines' own threads end without the interpreter.
        self._readers: dict[tuple[int, bool], FileReader] = {}
        self._turns = Turns()
        self._lock = threading.Lock()
        self._unit: UnitEvents | GoneRows | None = None
        self._stretches: list[Neighbours] = []
        self._may_match: frozenset[int] | None = None
        self._known = source.known
        whole = self._known is None and row_groups is None
        self._found: list[RowNumbers] | None = [] if whole and source.keep is not None else None
        if file is not None:
            reader = self._reader()
            # Which rows meet events is known: then the condition itself rules out groups.
            choose = None if self._known else row_groups
            groups = range(reader.num_row_groups) if choose is None else choose(reader)
            self._stretches = stretches(reader, frozenset(groups), wanted.batch_rows)
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
        with self._turns.failing(), begun(self._ahead(number), self._most_ahead) as ahead:
            if ahead is None:
                self._fetch(number)
            unit = self._loaded()
            if self._stretches and not isinstance(unit, GoneRows):
                stretch = self._stretch(unit, number)
        if isinstance(unit, GoneRows):
            if self._file is not None:
                yield from self._left(unit, number)
            return
        if stretch is not None:
            yield from self._merged(unit, number, stretch, ahead)
        if number + 1 == self.n_stretches:
            rest = self._known.rest if self._known else unit.events.rest()
            self._keep(unit.events, rest)
            yield from unit.rows_of(unit.chosen(rest))

    def _keep(self, events: Events, rest: RowNumbers) -> None:
        """Hand on what was found, if all stretches of the file came here."""
        keep, found = self._source.keep, self._found
        if keep is None or found is None or events.fills or len(found) < len(self._stretches):
            return
        sources = np.concatenate([*found, np.empty(0, dtype=np.int32)])
        keep(Matches(sources, rest, events.data.num_rows))

    def _left(self, gone: GoneRows, number: int) -> Iterator[pa.RecordBatch]:
        """The rows of a stretch of which some are gone and none has changed."""
        yield from native_rows(
            self._reader(),
            self._wanted,
            self._stretches[number].groups if self._stretches else (),
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

    def _loaded(self) -> UnitEvents | GoneRows:
        with self._lock:
            if self._unit is None:
                names = self._wanted.read(self._wanted.schema.names).names
                # What was found of all events is of no use with some of them.
                whole = replace(self._context, condition=None)
                loaded = self._source.load(names, self._context if self._known is None else whole)
                if isinstance(loaded, np.ndarray):
                    self._unit = self._checked(loaded)
                else:
                    if self._known is not None:
                        self._known.check(loaded)
                    self._unit = UnitEvents(loaded, self._wanted)
            return self._unit

    def _checked(self, positions: Positions) -> GoneRows:
        if self._file is None:  # rows are gone of a file that is not read
            return GoneRows(positions[:0], 0, "no file")
        reader = self._reader()
        return GoneRows(positions, reader.num_rows, reader.name)

    def _fetch(self, number: int) -> None:
        """Ask for what is surely read of a stretch, and of the next one where it is this thread's.

        Of a file far away, the bytes come while events are loaded: keys and other columns at once.
        """
        wanted = self._wanted
        names = wanted.columns if wanted.condition is None else wanted.tested
        last = number + 1 if self._use_threads else number + 2
        for at in self._stretches[number:last]:
            reader = self._reader()
            if isinstance(reader, Fetching):
                reader.fetch(wanted.read(names).names, at.groups)

    @property
    def _most_ahead(self) -> int:
        """Batches that may wait for the events."""
        return 1 if self._context.held_bytes is not None else _MOST_AHEAD

    def _ahead(self, number: int) -> Iterator[pa.RecordBatch] | None:
        """What is read of a stretch while events are loaded and meet its keys.

        That is all but the keys, where it will be of use: several threads, and no condition.
        """
        waits = self._stretches and self._known is None
        if not self._use_threads or not waits or self._wanted.condition is not None:
            return None
        keys = self._changes.key_columns
        names = [n for n in self._wanted.read(self._wanted.columns).names if n not in keys]
        rest = self._schema(names)
        return self._batches(self._reader(ahead=True), rest, self._stretches[number].groups, names)

    def _stretch(self, unit: UnitEvents, number: int) -> Stretch:
        """Where the rows of a stretch come from; its keys meet the events in its turn."""
        at, reader, events = self._stretches[number], self._reader(), unit.events
        if self._known is not None:
            sources = self._known.sources[at.first_row : at.first_row + at.rows]
            return Stretch([], sources, None)
        names = list(events.columns(reader))
        shown = [] if unit.selects else events.data.schema.names
        if self._use_threads:
            names += [name for name in shown if name in self._changes.key_columns]
        batches = self._batches(reader, self._schema(names), at.groups)
        keeps = not set(names).isdisjoint(shown)
        with self._turns.turn(number):
            stretch = Stretch.meeting(batches, events, at, reader.name, keeps=keeps)
            if self._found is not None:
                self._found.append(stretch.sources)
        return stretch

    def _merged(
        self,
        unit: UnitEvents,
        number: int,
        stretch: Stretch,
        ahead: Iterator[pa.RecordBatch] | None,
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a stretch."""
        at, reader, sources = self._stretches[number], self._reader(), stretch.sources
        if unit.events.fills or (stretch.stays and not unit.selects):
            whole = self._put_together(unit.events, reader, at.groups, stretch, ahead)
            yield from unit.tested(whole)
            return
        if stretch.stays:
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
        with self._lock:
            if self._may_match is None:
                self._may_match = frozenset(matching_groups(reader, self._wanted))
            return self._may_match

    def _put_together(
        self,
        events: Events,
        reader: FileReader,
        groups: Sequence[int],
        stretch: Stretch,
        ahead: Iterator[pa.RecordBatch] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """The rows that are left of a stretch, from the file and the events, untested.

        Args:
            events: those of the unit.
            reader: the file.
            groups: the stretch's row groups.
            stretch: where the rows come from.
            ahead: the columns that it lacks, texts as dictionaries, if they are being read.
        """
        if ahead is None or events.fills:
            names = [n for n in events.data.schema.names if n not in stretch.schema.names]
            encoded = [] if events.fills else names
            ahead = self._batches(reader, self._schema(names), groups, encoded)
        done = 0
        for batch in read_ahead(ahead) if self._use_threads else ahead:
            merged = self._one_batch(batch, stretch, done, events)
            done += batch.num_rows
            if merged.num_rows:
                yield merged
        if done != len(stretch.sources):
            raise InputError(f"{reader.name}: {done} rows, but {len(stretch.sources)} keys")

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
        self, batch: pa.RecordBatch, stretch: Stretch, begin: int, events: Events
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
