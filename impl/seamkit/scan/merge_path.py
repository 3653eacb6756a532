"""The merge path: base rows meet the folded logs, a batch at a time.

The base is read stretch by stretch: first the keys of a stretch, then, once it is known where its
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
from seambase.scan import ScanWarning
from seamkit.core.arrow_data import batch_of
from seamkit.files.reader import FileReader
from seamkit.scan.merge import KEEP, Words, assemble
from seamkit.scan.tasks import read_ahead
from seamkit.tables.hudi.base_files import open_slice_base
from seamkit.tables.hudi.listing.slices import FileSlice
from seamkit.tables.hudi.merge.events import LogView, SliceLog, read_slice_log
from seamkit.tables.hudi.merge.row_events import ordering_columns, root_of

__all__ = ["ReadLog", "SliceMerge", "merge_slice"]

ReadLog = Callable[[FileSlice, LogView, Sequence[str], list[ScanWarning]], SliceLog]
"""As `seamkit.tables.hudi.merge.events.read_slice_log`."""


def merge_slice(
    slice_: FileSlice,
    view: LogView,
    names: Sequence[str],
    batch_rows: int,
    warnings: list[ScanWarning],
    read_log: ReadLog = read_slice_log,
    row_groups: Callable[[FileReader], Sequence[int]] | None = None,
) -> Iterator[pa.RecordBatch]:
    """The merged rows of one slice; see `SliceMerge`, whose arguments these are."""
    merge = SliceMerge(slice_, view, names, batch_rows, warnings, read_log, row_groups=row_groups)
    for number in range(merge.n_stretches):
        yield from merge.rows(number)


class SliceMerge:
    """One slice being merged; its stretches may be read by several threads.

    The logs are read once. Stretches meet them in the base's order, whoever reads them: where the
    base holds a key twice, the first of the rows uses the event up. So a stretch waits for those
    before it; they must be asked for first.

    Args:
        slice_: base file, logs, or both.
        view: how to read the logs.
        names: columns to hand out, in order; all are in the view's schema.
        batch_rows: most rows in a batch.
        warnings: receives what was skipped.
        read_log: where the folded logs come from.
        threads: that read at once. If these are several, logs are decoded and columns of the base
            read in parallel: a slice has few stretches, and they differ in size.
        row_groups: says which row groups of a base file to read; None for all. Others may be left
            out if rows with their keys are thrown away afterwards, whatever the logs say of them.
    """

    def __init__(
        self,
        slice_: FileSlice,
        view: LogView,
        names: Sequence[str],
        batch_rows: int,
        warnings: list[ScanWarning],
        read_log: ReadLog = read_slice_log,
        *,
        threads: int = 1,
        row_groups: Callable[[FileReader], Sequence[int]] | None = None,
    ) -> None:
        self._slice = slice_
        self._view = replace(view, threads=threads)
        self._names = list(names)
        self._batch_rows = batch_rows
        self._warnings = warnings
        self._read_log = read_log
        self._readers = threading.local()
        self._turns = _Turns()
        self._lock = threading.Lock()
        self._log: SliceLog | None = None
        self._stretches: list[list[int]] = []
        if slice_.base is not None:
            reader = self._reader()
            groups = range(reader.num_row_groups) if row_groups is None else row_groups(reader)
            self._stretches = _stretches(reader, groups, batch_rows)
        self._use_threads = threads > 1

    @property
    def n_stretches(self) -> int:
        """How many there are, at least one."""
        return max(len(self._stretches), 1)

    def rows(self, number: int) -> Iterator[pa.RecordBatch]:
        """The merged rows of a stretch; behind those of the last come rows that only logs have.

        Raises:
            SeambenchError: what is wrong with the base, the logs, or a stretch before this one.
        """
        with self._turns.failing():
            log = self._folded()
        if self._stretches:
            yield from self._merged(log, number)
        if number + 1 == self.n_stretches:
            yield from self._rows_of(log, self._rest(log))

    def _rows_of(self, log: SliceLog, rows: Words) -> Iterator[pa.RecordBatch]:
        for begin in range(0, len(rows), self._batch_rows):
            yield log.data.take(pa.array(rows[begin : begin + self._batch_rows]))

    def _rest(self, log: SliceLog) -> Words:
        """Rows that only the logs have."""
        rest = log.index.rest()
        if log.keys.by_position and len(rest):
            raise InputError(
                f"{self._view.storage.root}: the logs of file group {self._slice.file_id} name "
                "rows that its base file has not"
            )
        return rest

    def _reader(self) -> FileReader:
        """This thread's reader of the base; those of pyarrow may not be shared."""
        assert self._slice.base is not None  # asked for where there are stretches
        if not hasattr(self._readers, "own"):
            self._readers.own = open_slice_base(self._view.storage, self._slice.base)
        reader: FileReader = self._readers.own
        return reader

    def _folded(self) -> SliceLog:
        with self._lock:
            if self._log is None:
                self._log = self._read_log(self._slice, self._view, self._names, self._warnings)
            return self._log

    def _merged(self, log: SliceLog, number: int) -> Iterator[pa.RecordBatch]:
        groups = self._stretches[number]
        with self._turns.failing():
            reader = self._reader()
            ordering = () if log.outranks(reader.greatest) else log.ordering
            roots = [root_of(name, self._view.schema.names) for name in ordering]
            met_by = self._schema([*log.keys.fields, *roots])
            keys = self._batches(reader, met_by, groups)
            with self._turns.turn(number):
                met = _Met(list(keys), log, ordering, reader.rows_in(range(groups[0])), reader.name)
        if log.filled is None and met.nothing_stays:
            yield from self._rows_of(log, met.sources[met.sources > KEEP])
            return
        rest = self._schema([name for name in self._names if met_by.get_field_index(name) < 0])
        encoded = rest.names if log.filled is None else []
        done = 0
        batches = self._batches(reader, rest, groups, encoded)
        for batch in read_ahead(batches) if self._use_threads else batches:
            merged = self._put_together(batch, met, done, log)
            done += batch.num_rows
            if merged.num_rows:
                yield merged
        if done != met.rows:
            raise InputError(f"{reader.name}: {done} rows, but {met.rows} keys")

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
        return pa.schema([self._view.schema.field(name) for name in dict.fromkeys(names)])

    def _put_together(
        self, batch: pa.RecordBatch, met: _Met, begin: int, log: SliceLog
    ) -> pa.RecordBatch:
        """The merged rows of a batch that begins at a row of its stretch."""
        n, own = batch.num_rows, set(batch.schema.names)
        columns = [
            batch.column(name) if name in own else met.column(name, begin, n)
            for name in self._names
        ]
        fields = [pa.field(name, c.type) for name, c in zip(self._names, columns, strict=True)]
        whole = batch_of(columns, pa.schema(fields), n)
        sources = met.sources[begin : begin + n]
        if log.filled is None:
            return assemble(whole, log.data, log.exported, sources, self._view.allocator)
        losers = met.losers[begin : begin + n]
        return log.filled.assemble(whole, sources, losers, self._view.allocator)


class _Met:
    """The keys of a stretch, and what they met in the logs.

    Attributes:
        rows: how many there are.
        sources: where each of them comes from.
        losers: rows of the log that a base row stays above, or -1; if versions fill gaps.
        nothing_stays: whether no value of the base is handed out.
    """

    def __init__(
        self,
        batches: list[pa.RecordBatch],
        log: SliceLog,
        ordering: Sequence[str],
        first_row: int,
        source: str,
    ) -> None:
        self._batches = batches
        self.rows = sum(batch.num_rows for batch in batches)
        self.sources = np.empty(self.rows, dtype=np.int32)
        self.losers = np.empty(self.rows if log.filled is not None else 0, dtype=np.int32)
        done = 0
        for batch in batches:
            end = done + batch.num_rows
            losers = None if log.filled is None else self.losers[done:end]
            if log.keys.by_position:
                keys = log.keys.of_positions(np.arange(first_row + done, first_row + end))
            else:
                keys = log.keys.of_rows(batch, source)
            ordered = ordering_columns(batch, ordering) if ordering else None
            self.sources[done:end] = log.index.probe(keys, ordered, losers)
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
