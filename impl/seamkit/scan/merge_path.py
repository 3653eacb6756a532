"""The merge path: rows of a file meet the events of their unit, a batch at a time.

The file is read stretch by stretch: first the keys of a stretch, then, once it is known where its
rows come from, the other columns. A stretch of which no row is left is read no further than its
keys.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pyarrow as pa

from seambase.errors import InputError
from seamkit.core.arrow_data import batch_of
from seamkit.files.reader import FileReader
from seamkit.scan.masks import GoneRows
from seamkit.scan.merge import KEEP, Words
from seamkit.scan.native_path import Wanted, native_rows
from seamkit.scan.tasks import read_ahead
from seamkit.scan.units import DataFile, Events, Keyed, Positions, ReadContext

__all__ = ["Load", "UnitMerge", "load_events"]

Load = Callable[[Keyed, Sequence[str], ReadContext], Events | Positions]
"""Where the events of a unit come from: `load_events`, or what is kept between reads."""


def load_events(changes: Keyed, names: Sequence[str], context: ReadContext) -> Events | Positions:
    """Decode and fold them anew."""
    return changes.load(names, context)


class UnitMerge:
    """One unit being merged; its stretches may be read by several threads.

    The events are loaded once. Stretches meet them in the file's order, whoever reads them: where
    a file holds a key twice, it may be the first of the rows that uses an event up. So a stretch
    waits for those before it; they must be asked for first.

    Args:
        file: the unit's file; None where it has events alone.
        changes: its events.
        schema: all columns of the table that events may be met by, or that are handed out.
        names: columns to hand out, in order.
        batch_rows: most rows in a batch.
        context: what the read lends.
        load: where the events come from.
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
        names: Sequence[str],
        batch_rows: int,
        context: ReadContext,
        load: Load = load_events,
        *,
        threads: int = 1,
        row_groups: Callable[[FileReader], Sequence[int]] | None = None,
    ) -> None:
        self._file = file
        self._changes = changes
        self._table_schema = schema
        self._names = list(names)
        self._batch_rows = batch_rows
        self._context = replace(context, threads=threads)
        self._load = load
        # By thread, but owned by this object: what a thread-local holds is freed by a thread that
        # ends, and engines' own threads end without the interpreter.
        self._readers: dict[int, FileReader] = {}
        self._turns = _Turns()
        self._lock = threading.Lock()
        self._events: Events | GoneRows | None = None
        self._stretches: list[list[int]] = []
        if file is not None:
            reader = self._reader()
            groups = range(reader.num_row_groups) if row_groups is None else row_groups(reader)
            self._stretches = _stretches(reader, groups, batch_rows)
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
        with self._turns.failing():
            events = self._loaded()
        if isinstance(events, GoneRows):
            yield from self._left(events, number)
            return
        if self._stretches:
            yield from self._merged(events, number)
        if number + 1 == self.n_stretches:
            yield from self._rows_of(events, events.rest())

    def _rows_of(self, events: Events, rows: Words) -> Iterator[pa.RecordBatch]:
        for begin in range(0, len(rows), self._batch_rows):
            yield events.data.take(pa.array(rows[begin : begin + self._batch_rows]))

    def _left(self, gone: GoneRows, number: int) -> Iterator[pa.RecordBatch]:
        """The rows of a stretch of which some are gone and none has changed."""
        wanted = Wanted(self._schema(self._names), self._names, None, (), {}, self._batch_rows)
        yield from native_rows(
            self._reader(),
            wanted,
            self._stretches[number] if self._stretches else [],
            use_threads=self._use_threads,
            gone=gone,
            allocator=self._context.allocator,
        )

    def _reader(self) -> FileReader:
        """This thread's reader of the file; those of pyarrow may not be shared."""
        assert self._file is not None  # asked for where there are stretches
        me = threading.get_ident()
        if me not in self._readers:
            self._readers[me] = self._file.open()
        return self._readers[me]

    def _loaded(self) -> Events | GoneRows:
        with self._lock:
            if self._events is None:
                loaded = self._load(self._changes, self._names, self._context)
                self._events = self._checked(loaded) if isinstance(loaded, np.ndarray) else loaded
            return self._events

    def _checked(self, positions: Positions) -> GoneRows:
        reader = self._reader()
        return GoneRows(positions, reader.num_rows, reader.name)

    def _merged(self, events: Events, number: int) -> Iterator[pa.RecordBatch]:
        groups = self._stretches[number]
        with self._turns.failing():
            reader = self._reader()
            key_schema = self._schema(events.columns(reader))
            batches = self._batches(reader, key_schema, groups)
            with self._turns.turn(number):
                keys = _StretchKeys(
                    list(batches), events, reader.rows_in(range(groups[0])), reader.name
                )
        if not events.fills and keys.nothing_stays:
            yield from self._rows_of(events, keys.sources[keys.sources > KEEP])
            return
        rest = self._schema([name for name in self._names if key_schema.get_field_index(name) < 0])
        encoded = [] if events.fills else rest.names
        done = 0
        batches = self._batches(reader, rest, groups, encoded)
        for batch in read_ahead(batches) if self._use_threads else batches:
            merged = self._put_together(batch, keys, done, events)
            done += batch.num_rows
            if merged.num_rows:
                yield merged
        if done != keys.rows:
            raise InputError(f"{reader.name}: {done} rows, but {keys.rows} keys")

    def _batches(
        self,
        reader: FileReader,
        schema: pa.Schema,
        groups: Sequence[int],
        encoded: Sequence[str] = (),
    ) -> Iterator[pa.RecordBatch]:
        return reader.batches(
            schema,
            self._batch_rows,
            use_threads=self._use_threads,
            encoded=encoded,
            row_groups=groups,
        )

    def _schema(self, names: Sequence[str]) -> pa.Schema:
        return pa.schema([self._table_schema.field(name) for name in dict.fromkeys(names)])

    def _put_together(
        self, batch: pa.RecordBatch, keys: _StretchKeys, begin: int, events: Events
    ) -> pa.RecordBatch:
        """The merged rows of a batch that begins at a row of its stretch."""
        n, own = batch.num_rows, set(batch.schema.names)
        columns = [
            batch.column(name) if name in own else keys.column(name, begin, n)
            for name in self._names
        ]
        fields = [pa.field(name, c.type) for name, c in zip(self._names, columns, strict=True)]
        whole = batch_of(columns, pa.schema(fields), n)
        losers = None if keys.losers is None else keys.losers[begin : begin + n]
        sources = keys.sources[begin : begin + n]
        return events.put_together(whole, sources, losers, self._context.allocator)


class _StretchKeys:
    """The keys of a stretch, and which events they keys.

    Attributes:
        rows: how many there are.
        sources: where each of them comes from.
        losers: rows of events that a row of the file stays above, or -1; if versions fill gaps.
        nothing_stays: whether no value of the file is handed out.
    """

    def __init__(
        self, batches: list[pa.RecordBatch], events: Events, first_row: int, source: str
    ) -> None:
        self._batches = batches
        self.rows = sum(batch.num_rows for batch in batches)
        self.sources = np.empty(self.rows, dtype=np.int32)
        self.losers = np.empty(self.rows, dtype=np.int32) if events.fills else None
        done = 0
        for batch in batches:
            end = done + batch.num_rows
            losers = None if self.losers is None else self.losers[done:end]
            self.sources[done:end] = events.meet(batch, first_row + done, source, losers)
            done = end
        self.nothing_stays = not (self.sources == KEEP).any()

    def column(self, name: str, begin: int, n: int) -> pa.Array:
        """Values of a key column, which has been read already."""
        pieces = []
        for batch in self._batches:
            piece = batch.column(name).slice(begin, n)
            n -= len(piece)
            begin = max(begin - batch.num_rows, 0)
            if len(piece):
                pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else pa.concat_arrays(pieces)


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
