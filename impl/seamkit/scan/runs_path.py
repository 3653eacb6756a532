"""The merge path of sorted runs: files are read batch by batch, as their keys are merged.

Where one row of a key is left, the largest run is the base: its batches are changed in place, and
rows of other runs take the place of its rows or are handed out beside them. Where rows of a key
become one, all rows come out in order and a rule of the table format merges them. Memory holds a
batch of each run, whatever the runs' sizes; the more runs and threads, the smaller the batches.

Several threads merge one unit by ranges of keys, cut by the first column of the key, so that all
rows of a key fall into one. Where ranges begin is taken from the statistics of the largest run's
row groups; other runs may have a row group in two ranges, and then both read it.
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError
from seambase.filters import all_of
from seambase.wording import counted
from seamkit.core.border import ExportedBatch, array_of, batch_of, no_rows, numpy_of
from seamkit.core.tasks import read_ahead
from seamkit.files.reader import FileReader
from seamkit.scan.arguments import DEFAULT_BATCH_ROWS
from seamkit.scan.core_merges import KEEP, MergedRows, RowNumbers, RunMerge, assemble
from seamkit.scan.masks import GoneRows
from seamkit.scan.units import ReadContext, ReadUnit, Runs, UnitFile

#: Batches with fewer rows cost more than they save.
_LEAST_ROWS = 8192
_LAST_KIND = 3


@dataclass(frozen=True)
class Share:
    """What one task reads of a unit."""

    groups_of: GroupsOf | None = None  # says which row groups of a file to read; None for all
    keys: KeyRange | None = None  # the range of keys; None for all
    # whether columns of the largest run are decoded in parallel, ahead of the merge
    use_threads: bool = False

    def groups(self, reader: FileReader) -> Sequence[int]:
        """The row groups of a file that are read."""
        chosen = range(reader.num_row_groups) if self.groups_of is None else self.groups_of(reader)
        return chosen if self.keys is None else self.keys.groups(reader, chosen)

    def own(self, batch: pa.RecordBatch, kept: pa.BooleanArray | None = None) -> pa.RecordBatch:
        """The rows of a batch that are in the range of keys, and kept."""
        if self.keys is not None:
            return self.keys.own(batch, kept)
        return batch if kept is None else batch.filter(kept)


def merged_runs(
    unit: ReadUnit,
    changes: Runs,
    schema: pa.Schema,
    names: Sequence[str],
    batch_rows: int,
    context: ReadContext,
    share: Share,
) -> Iterator[pa.RecordBatch]:
    """Of a unit of sorted runs the rows of a share; about `batch_rows` are held at once."""
    # A batch of each run is held at once: together they have the rows of one, or little more.
    batch_rows = max(min(batch_rows, _LEAST_ROWS), batch_rows // len(changes.runs))
    way = _Picked if isinstance(changes.rule, str) else _Combined
    read = list(names) or [changes.keys[0]]  # rows without any column are hard to count
    for batch in way(unit, changes, schema, read, batch_rows, context, share).rows():
        if batch.num_rows:
            yield batch if names else batch_of([], pa.schema([]), batch.num_rows)
    if share.keys is not None:
        share.keys.ended(unit.name)


class _RunReader:
    def __init__(
        self,
        files: Sequence[UnitFile],
        changes: Runs,
        read: pa.Schema,
        batch_rows: int,
        share: Share,
        encoded: Sequence[str] | None,
    ) -> None:
        ahead = share.use_threads and encoded is not None
        batches = self._read(files, changes, read, batch_rows, share, encoded or [], ahead)
        self._batches = read_ahead(batches) if ahead else batches

    @staticmethod
    def _read(
        files: Sequence[UnitFile],
        changes: Runs,
        read: pa.Schema,
        batch_rows: int,
        share: Share,
        encoded: Sequence[str],
        use_threads: bool,
    ) -> Iterator[pa.RecordBatch]:
        for file in files:
            reader = file.open()
            groups = share.groups(reader)
            mask = changes.masks.get(file.name)
            if mask is None:
                for batch in reader.batches(
                    read, batch_rows, use_threads=use_threads, encoded=encoded, row_groups=groups
                ):
                    yield share.own(batch)
                continue
            gone = GoneRows.of(mask, reader)
            for group in groups:
                at = reader.rows_in(range(group))
                for batch in reader.batches(
                    read, batch_rows, use_threads=use_threads, row_groups=[group]
                ):
                    end = at + batch.num_rows
                    kept = gone.kept(at, end) if gone.count(at, end) else None
                    at = end
                    yield share.own(batch, None if kept is None else array_of(kept))

    def next(self) -> pa.RecordBatch | None:
        """The next batch that has rows; None behind the last."""
        return next((batch for batch in self._batches if batch.num_rows), None)


class _Merging:
    """What both ways to merge share: runs, their batches, and the columns that are read."""

    def __init__(
        self,
        unit: ReadUnit,
        changes: Runs,
        schema: pa.Schema,
        names: Sequence[str],
        batch_rows: int,
        context: ReadContext,
        share: Share,
    ) -> None:
        self._changes = changes
        self._names = list(names)
        self._batch_rows = batch_rows
        self._context = context
        self._unit = unit
        rule = changes.rule
        wanted = names if isinstance(rule, str) else rule.columns(names)
        kinds = [] if changes.kinds is None else [changes.kinds]
        needed = dict.fromkeys([*wanted, *changes.keys, *changes.order, *kinds])
        self._read = pa.schema([self._field(name, schema) for name in needed])
        self._ranked = [*changes.keys, *changes.order]
        self._base = self._largest() if isinstance(rule, str) else None
        self._merge = RunMerge(
            len(changes.runs),
            self._base,
            len(changes.keys),
            len(changes.order),
            changes.descending,
            rule if isinstance(rule, str) else "all",
            changes.ignores_retracts,
            context.allocator,
            unit.name,
        )
        texts = [f.name for f in self._read if f.name not in self._ranked]
        self._readers = [
            _RunReader(
                run, changes, self._read, batch_rows, share, texts if i == self._base else None
            )
            for i, run in enumerate(changes.runs)
        ]
        self._batches: dict[int, pa.RecordBatch] = {}
        # Where the values of the rows of the base's batch come from.
        self._given: RowNumbers | None = None

    def _field(self, name: str, schema: pa.Schema) -> pa.Field:
        known = self._changes.system if schema.get_field_index(name) < 0 else schema
        if known.get_field_index(name) < 0:
            raise InputError(f"{self._unit.name}: its runs are merged by {name!r}, no column")
        return known.field(name)

    def _largest(self) -> int:
        sizes = [sum(file.size_bytes for file in run) for run in self._changes.runs]
        return sizes.index(max(sizes))

    def _supply(self, run: int) -> bool:
        """Give a run its next batch, or its end; whether there was one."""
        batch = self._readers[run].next()
        if batch is None:
            self._batches.pop(run, None)
            self._merge.end(run)
            return False
        self._batches[run] = batch
        ranked = batch.select(self._ranked)
        if len(self._readers) > 1:
            first, *others = self._changes.runs[run]
            refuse_nan(ranked, first.name + " or a later file of its sorted run" * bool(others))
        if run == self._base:
            self._given = np.full(batch.num_rows, KEEP, dtype=np.int32)
        sources = self._given if run == self._base else None
        self._merge.add(run, ranked, self._kinds(batch), sources)
        return True

    def _kinds(self, batch: pa.RecordBatch) -> npt.NDArray[np.int8] | None:
        kinds = self._changes.kinds
        return None if kinds is None else row_kinds(batch.column(kinds), self._unit.name)

    def _taken(self, merged: MergedRows, names: Sequence[str]) -> pa.RecordBatch:
        """The rows that came out, in order, with some columns."""
        schema = pa.schema([self._read.field(name) for name in names])
        own = np.unique(merged.runs)
        if len(own) == 1:
            return self._batches[int(own[0])].select(names).take(pa.array(merged.rows))
        pieces = []
        places = np.empty(len(merged.rows), np.int64)
        done = 0
        for run in own:
            mine = np.flatnonzero(merged.runs == run)
            batch = self._batches[int(run)].select(names)
            pieces.append(batch.take(pa.array(merged.rows[mine])))
            places[mine] = done + np.arange(len(mine))
            done += len(mine)
        return _joined(pieces, schema).take(pa.array(places))


class _Picked(_Merging):
    """One row of a key is left."""

    def rows(self) -> Iterator[pa.RecordBatch]:
        """The rows that are left."""
        self._taking: list[pa.RecordBatch] = []
        while True:
            while (run := self._merge.wants) is not None:
                if run == self._base:
                    yield from self._finished()
                self._supply(run)
            if not self._batches:
                return
            merged = self._merge.step(self._batch_rows)
            if len(merged.rows):
                yield from self._handed_out(merged)

    def _handed_out(self, merged: MergedRows) -> Iterator[pa.RecordBatch]:
        """Rows that stand in no place of the base's; the others are kept until its batch ends."""
        whole = self._taken(merged, self._names)
        if not merged.marks.any():
            yield whole
            return
        if merged.marks.all():
            self._taking.append(whole)
            return
        marks = pa.array(merged.marks)
        self._taking.append(whole.filter(marks))
        yield whole.filter(pc.invert(marks))

    def _finished(self) -> Iterator[pa.RecordBatch]:
        """The batch of the base, once all of its rows are decided."""
        assert self._base is not None
        sources, self._given = self._given, None
        batch = self._batches.pop(self._base, None)
        if sources is None or batch is None:
            return
        schema = pa.schema([self._read.field(name) for name in self._names])
        pieces, self._taking = self._taking, []
        base = batch.select(self._names)
        del batch
        log = _joined(pieces, schema)
        yield assemble(base, log, ExportedBatch(log), sources, self._context.allocator)


class _Winners(_Merging):
    """Where the rows that are left lie in the files of their runs; nothing but keys is read."""

    def gone(self) -> list[npt.NDArray[np.bool_]]:
        """For each file, run after run, which of its rows are gone."""
        # Rows that a mask takes out are not met: those of a batch are the next of the others.
        kept = [[_left(file, self._changes) for file in run] for run in self._changes.runs]
        self._places = [np.flatnonzero(np.concatenate(own)) for own in kept]
        self._begins = [0] * len(kept)
        self._gone = [np.ones(sum(map(len, own)), np.bool_) for own in kept]
        while True:
            while (run := self._merge.wants) is not None:
                if run in self._batches:
                    self._passed(run)
                self._supply(run)
            if not self._batches:
                break
            merged = self._merge.step(self._batch_rows)
            for run in np.unique(merged.runs):
                self._gone[run][self._at(run)[merged.rows[merged.runs == run]]] = False
        cuts = [np.cumsum([len(flags) for flags in own])[:-1] for own in kept]
        pieces = [np.split(own, at) for own, at in zip(self._gone, cuts, strict=True)]
        return [flags for own in pieces for flags in own]

    def _at(self, run: int) -> npt.NDArray[np.int64]:
        """Places in the run of the rows of its batch."""
        begin = self._begins[run]
        return self._places[run][begin : begin + self._batches[run].num_rows]

    def _passed(self, run: int) -> None:
        """All rows of the batch of a run are decided."""
        if run == self._base:
            self._gone[run][self._at(run)[self._given == KEEP]] = False
        self._begins[run] += self._batches[run].num_rows


def _left(file: UnitFile, changes: Runs) -> npt.NDArray[np.bool_]:
    """For each row of a file whether no mask takes it out."""
    reader = file.open()
    return GoneRows.of(changes.masks.get(file.name), reader).kept(0, reader.num_rows)


def gone_of_runs(
    unit: ReadUnit, changes: Runs, schema: pa.Schema, context: ReadContext
) -> list[npt.NDArray[np.bool_]]:
    """For each file of a unit of runs which of its rows are none of the merged ones."""
    batch_rows = max(_LEAST_ROWS, DEFAULT_BATCH_ROWS // len(changes.runs))
    return _Winners(unit, changes, schema, [], batch_rows, context, Share()).gone()


class _Combined(_Merging):
    """The rows of a key become one."""

    def rows(self) -> Iterator[pa.RecordBatch]:
        """The merged rows."""
        while True:
            while (run := self._merge.wants) is not None:
                self._supply(run)
            if not self._batches:
                return
            merged = self._merge.step(self._batch_rows)
            if len(merged.rows):
                for batch in self._combined(merged):
                    yield batch.select(self._names)

    def _combined(self, merged: MergedRows) -> Iterator[pa.RecordBatch]:
        """Rows that are alone in their key as they are, and what becomes of the others."""
        rule = self._changes.rule
        assert not isinstance(rule, str)
        if self._changes.whole:
            merged = _without_taken_in(merged, self._changes)
        rows = self._taken(merged, self._read.names)
        kinds = self._kinds(rows)
        retracts = np.zeros(len(merged.rows), np.bool_) if kinds is None else (kinds & 1) == 1
        starts = np.flatnonzero(merged.marks)
        counts = np.diff(starts, append=len(merged.rows))
        alone = np.zeros(len(merged.rows), np.bool_)
        alone[starts[counts == 1]] = True
        if (alone & ~retracts).any():
            yield rows.filter(pa.array(alone & ~retracts))
        if not alone.all():
            several = ~alone
            own = rows.filter(pa.array(several))
            first = np.flatnonzero(merged.marks[several]).astype(np.int32)
            yield rule.merge(own, first, pa.array(retracts[several]))


def _without_taken_in(merged: MergedRows, changes: Runs) -> MergedRows:
    """Without rows that a row of their key has in it, of a run that lies less deep."""
    keys = np.cumsum(merged.marks) - 1
    depths = np.array(changes.depths)
    bounds = np.full(len(depths), max(changes.depths))
    bounds[list(changes.whole)] = depths[list(changes.whole)]
    least = np.minimum.reduceat(bounds[merged.runs], np.flatnonzero(merged.marks))
    kept = depths[merged.runs] <= least[keys]
    marks = np.diff(keys[kept], prepend=-1) != 0
    return MergedRows(merged.runs[kept], merged.rows[kept], marks)


def row_kinds(column: pa.Array, where: str) -> npt.NDArray[np.int8]:
    """The kinds of rows, odd ones of retracts, which must be known."""
    if column.null_count:
        raise InputError(f"{where}: a row has no kind")
    kinds: npt.NDArray[np.int8] = numpy_of(column)
    unknown = kinds[(kinds < 0) | (kinds > _LAST_KIND)]
    if len(unknown):
        raise InputError(f"{where}: a row has the unknown kind {unknown[0]}")
    return kinds


def refuse_nan(ranked: pa.RecordBatch, where: str) -> None:
    """Refuse rows that would be ordered by NaN, which engines take for equal to every number."""
    for name, column in zip(ranked.schema.names, ranked.columns, strict=True):
        if pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py():
            raise RefusedError(
                f"{where}: the column {name!r}, by which rows are merged, has NaN, which has no "
                "place in the order of the table's own engine"
            )


def _joined(pieces: Sequence[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    if len(pieces) == 1:
        return pieces[0]
    if not pieces:
        return no_rows(schema)
    columns = [pa.concat_arrays([p.column(i) for p in pieces]) for i in range(len(schema))]
    return batch_of(columns, schema, sum(piece.num_rows for piece in pieces))


GroupsOf = Callable[[FileReader], Sequence[int]]
"""Which row groups of a file may hold keys that are asked for."""


@dataclass
class _Tally:
    """Rows that the ranges of a unit found, which are all rows of its files.

    A row group whose statistics are wrong would otherwise lose rows without a word.
    """

    ranges: int
    expected: int = 0
    rows: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True)
class KeyRange:
    """A part of a unit's keys."""

    column: pa.Field  # the first of the key
    least: pa.Scalar | None  # its least value in the range; None for no bound
    below: pa.Scalar | None  # the value that the next range begins with; None for no bound
    tally: _Tally  # that of all ranges of the unit

    def groups(self, reader: FileReader, chosen: Sequence[int]) -> list[int]:
        """Those of some row groups of a file that may have keys in the range."""
        may = reader.row_groups_that_may_match(
            self._condition, pa.schema([self.column]), counted=frozenset([self.column.name])
        )
        if self.least is None:
            with self.tally.lock:
                self.tally.expected += reader.rows_in(chosen)
        return sorted(set(may).intersection(chosen))

    def own(self, batch: pa.RecordBatch, kept: pa.BooleanArray | None) -> pa.RecordBatch:
        """The rows of a batch that are in the range; a null, which no key has, stays."""
        keys, rows = batch.column(self.column.name), batch.num_rows
        if rows and keys.null_count == 0:
            extremes = pc.min_max(keys)
            if not (self._has(extremes["min"]) and self._has(extremes["max"])):
                inside = self._test(keys)
                rows = inside.true_count
                kept = inside if kept is None else pc.and_(inside, kept)
        with self.tally.lock:
            self.tally.rows += rows
        return batch if kept is None else batch.filter(kept)

    def ended(self, where: str) -> None:
        """The range was read to its end."""
        with self.tally.lock:
            self.tally.ranges -= 1
            tally = self.tally
            if tally.ranges == 0 and tally.rows != tally.expected:
                raise InputError(
                    f"{where}: row groups have {tally.rows} of {counted(tally.expected, 'row')} "
                    f"in the ranges of {self.column.name!r} that their statistics tell"
                )

    @property
    def _condition(self) -> pc.Expression:
        key = pc.field(self.column.name)
        least = None if self.least is None else key >= self.least
        return all_of(least, None if self.below is None else key < self.below)

    def _has(self, value: pa.Scalar) -> bool:
        return bool(self._test(value).as_py())

    def _test(self, keys: pa.Array | pa.Scalar) -> pa.BooleanArray | pa.BooleanScalar:
        tests = [] if self.least is None else [pc.greater_equal(keys, self.least)]
        tests += [] if self.below is None else [pc.less(keys, self.below)]
        return functools.reduce(pc.and_, tests)


def key_ranges(changes: Runs, schema: pa.Schema, parts: int) -> Sequence[KeyRange]:
    """Cut a unit into ranges of keys, in their order, each with about as much of the largest run.

    There may be fewer than `parts`, but two at least; none where nothing tells how to cut.
    """
    column = schema.field(changes.keys[0])
    if pa.types.is_floating(column.type) or pa.types.is_nested(column.type):
        return []  # a NaN is in no range
    largest = max(changes.runs, key=lambda run: sum(file.size_bytes for file in run))
    leasts: list[tuple[pa.Scalar, int]] = []
    for file in largest:
        reader = file.open()
        keys = reader.leasts(column.name, column.type)
        rows = [reader.rows_in([i]) for i in range(len(keys))]
        leasts += zip(keys, rows, strict=True)
    cuts = _cuts(leasts, parts)
    if not cuts:
        return []
    tally = _Tally(len(cuts) + 1)
    bounds = itertools.pairwise([None, *cuts, None])
    return [KeyRange(column, least, below, tally) for least, below in bounds]


def _cuts(leasts: Sequence[tuple[pa.Scalar, int]], parts: int) -> list[pa.Scalar]:
    """Values at which ranges begin, ascending; by the least value and the rows of row groups."""
    whole, before = sum(rows for _, rows in leasts), 0
    cuts: list[pa.Scalar] = []
    for number, (least, rows) in enumerate(leasts):
        due = whole * (len(cuts) + 1) / parts
        # The group in which a share is full begins the next range if it lies mostly behind that.
        is_due = number and len(cuts) + 1 < parts and before + rows / 2 >= due
        if is_due and pc.greater(least, cuts[-1] if cuts else leasts[0][0]).as_py():
            cuts.append(least)
        before += rows
    return cuts
