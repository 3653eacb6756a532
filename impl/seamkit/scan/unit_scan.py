"""A scan of read units: planned once by a table format, each read as its changes say."""

from __future__ import annotations

import copy
import functools
import itertools
import math
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, SeambenchError
from seambase.filters import apply_filter, filter_columns
from seambase.scan import ScanReport, ScanWarning
from seambase.statistics import TableStatistics
from seamkit.core.memory import TrackedAllocator
from seamkit.core.tasks import Task, run_tasks
from seamkit.engines.files import EnginePlan, MaskedPart
from seamkit.files.kept import KEPT
from seamkit.files.storage import is_far
from seamkit.scan.engine_masks import ChangedRows, UnitMatches, changed_rows
from seamkit.scan.engine_units import engine_share, masked_unit
from seamkit.scan.events_cache import EventsCache, EventsSource, FreshEvents
from seamkit.scan.key_ranges import key_ranges
from seamkit.scan.masks import SharedMask
from seamkit.scan.merge_path import UnitMerge
from seamkit.scan.native_path import Wanted, native_rows, with_values
from seamkit.scan.options import ScanOptions
from seamkit.scan.pruning import groups_by_key, units_that_may_match
from seamkit.scan.runs_path import Share, merged_runs
from seamkit.scan.scan import Scan
from seamkit.scan.statistics import unit_statistics
from seamkit.scan.units import (
    DataFile,
    Keyed,
    KeyMask,
    Mask,
    ReadContext,
    ReadPlan,
    ReadUnit,
    Runs,
)

if TYPE_CHECKING:
    import pyarrow.dataset as ds

__all__ = ["ReadRows", "UnitScan"]

_WAITING = 4

ReadRows = Callable[[ReadUnit, pa.Schema, int, ReadContext], Iterator[pa.RecordBatch]]
"""Another way to read a unit: its rows with the columns of a schema, in batches of so many rows."""


@dataclass
class _Run:
    """What all units of a scan share while they are read."""

    allocator: TrackedAllocator
    warnings: list[ScanWarning] = field(default_factory=list)
    rows: int = 0
    spent: list[tuple[str, float]] = field(default_factory=list)


class UnitScan(Scan):
    """One planned read.

    Args:
        plan: what to read.
        columns: names of those to hand out, in order; the plan's schema has them all.
        condition: rows to keep, over any columns of the plan's schema; None for all.
        options: how to run it.

    Raises:
        UsageError: the condition does not fit the schema.
    """

    def __init__(
        self,
        plan: ReadPlan,
        columns: Sequence[str],
        condition: pc.Expression | None = None,
        options: ScanOptions | None = None,
    ) -> None:
        self._plan = plan
        self._columns = list(columns)
        self._condition = condition
        self._options = options or ScanOptions()
        self._other_path: tuple[str, ReadRows] | None = None
        self._only_merged = False
        self._matches: UnitMatches | None = None
        filter_columns(condition, plan.schema)
        self._begin()

    def _begin(self) -> None:
        allocator = TrackedAllocator(self._options.memory_limit_bytes or 0)
        self._run = _Run(allocator, list(self._plan.warnings))
        self._lock = threading.Lock()

    @property
    def plan(self) -> ReadPlan:
        """What is read."""
        return self._plan

    @property
    def condition(self) -> pc.Expression | None:
        """Rows to keep; None for all."""
        return self._condition

    @property
    def options(self) -> ScanOptions:
        """How it is run."""
        return self._options

    @property
    def other_path(self) -> tuple[str, ReadRows, bool] | None:
        """What `read_by` was given; None where units take the scan's own paths."""
        return None if self._other_path is None else (*self._other_path, self._only_merged)

    @property
    def schema(self) -> pa.Schema:
        """Schema of the batches: the requested columns in the requested order."""
        return self._fields(self._columns)

    def to_reader(self) -> pa.RecordBatchReader:
        """A stream of batches; those of different units come in any order."""
        return self._reader(self._columns, self._condition)

    def to_table(self) -> pa.Table:
        """All rows, units in the order of the plan."""
        rows = self._run.rows
        try:
            batches = list(self._numbered_batches(self._columns, self._condition))
        except InputError as error:
            if not self._planned_anew(error, rows):
                raise
            batches = list(self._numbered_batches(self._columns, self._condition))
        numbered = sorted(batches, key=lambda pair: pair[0])
        return pa.Table.from_batches([batch for _, batch in numbered], schema=self.schema)

    def dataset(self) -> ds.Dataset:
        """A dataset that DuckDB and Polars query, with columns and filters pushed down.

        It keeps decoded events for its next reads, and for other scans of the same files (see
        `seamkit.keep_at_most`), unless memory is limited.
        """
        from seambase.dataset import ScanDataset

        limited = self._options.memory_limit_bytes is not None
        events: EventsSource = FreshEvents() if limited else EventsCache(shared=KEPT)
        if self._matches is not None:
            events = self._matches.events
        return ScanDataset(self.schema, functools.partial(self._open_for_engine, events=events))

    def engine_plan(self, *, masks: bool = False) -> EnginePlan:
        """Files for an engine's own reader, a scan of the rest; see `Scan`.

        All stays with this scan where something other than columns was asked of it: a condition, a
        limit of memory, or strictness.
        """
        if self._alone() is not None:
            return EnginePlan([], self, self.schema, *_sizes(self._plan))
        matches = UnitMatches(self._plan.schema, EventsCache(shared=KEPT)) if masks else None
        share = engine_share(self._plan, self._columns, matches)
        files = [*share.files, *share.masked(self._context(), self._options.n_threads)]
        if not share.rest.units:
            return EnginePlan(files, None, self.schema)
        rest = copy.copy(self)
        rest._plan = replace(share.rest, again=None)
        # What it reads counts as this scan's.
        rest._run, rest._lock = self._run, self._lock
        rest._matches = matches
        return EnginePlan(files, rest, self.schema, *_sizes(share.rest))

    def _alone(self) -> str | None:
        """Why no engine's own reader takes part; None where it may."""
        if self._other_path is not None:
            return f"rows come by the path {self._other_path[0]}"
        if self._condition is not None:
            return "the scan has a filter of its own"
        if self._options.memory_limit_bytes is not None:
            return "memory is limited"
        return "strict scans check what an engine does not" if self._options.strict else None

    def read_by(self, path: str, read: ReadRows, *, only_merged: bool = False) -> UnitScan:
        """A scan of the same plan whose units a function reads, in place of the scan's own paths.

        For descriptions and peers that are compared with them. Filters are applied to the rows that
        the function gives.

        Args:
            path: what reports call it.
            read: a function of a module, so that the scan can be pickled.
            only_merged: units that need no merge stay on the native path.
        """
        other = copy.copy(self)
        other._other_path, other._only_merged = (path, read), only_merged
        return other

    def files_alone(self) -> UnitScan:
        """The same parts, each as its data files stand: what their changes cost is the difference.

        These are no rows of the table: replaced and deleted ones come, added ones may be missing.
        """
        other = copy.copy(self)
        units = [replace(unit, changes=None) for unit in self._plan.units]
        other._plan = replace(self._plan, units=units)
        other._begin()
        return other

    @property
    def n_parts(self) -> int:
        """As many parts as units."""
        return len(self._plan.units)

    def part_bytes(self) -> list[int]:
        """Bytes of each unit's files, and of those that change it."""
        changes = [sum(file.size_bytes for file in unit.changed_by) for unit in self._plan.units]
        own = [unit.size_bytes for unit in self._plan.units]
        return [max(1, a + b) for a, b in zip(own, changes, strict=True)]

    def part(
        self, number: int, columns: Sequence[str], condition: pc.Expression | None
    ) -> UnitScan:
        """One unit's scan; see `Scan.part`.

        It keeps to one thread unless the scan was given a number, and has the memory limit to
        itself.
        """
        piece = copy.copy(self)
        piece._plan = replace(self._plan, units=[self._plan.units[number]], again=None)
        piece._columns = list(columns)
        piece._condition = self._both(condition)
        piece._options = replace(self._options, threads=self._options.threads or 1)
        return piece

    @property
    def part_values(self) -> frozenset[str]:
        """See `Scan.part_values`."""
        return frozenset(name for unit in self._plan.units for name in unit.partition)

    def masked_part(
        self, number: int, columns: Sequence[str], condition: pc.Expression | None
    ) -> MaskedPart:
        """One unit, split; see `Scan.masked_part`.

        All of its rows come from us where a filter on its keys leaves row groups out, as the engine
        would have us look at all keys of its file.
        """
        piece = self.part(number, columns, condition)
        whole = super().masked_part(number, columns, condition)
        unit = self._plan.units[number]
        values = self.part_values.intersection(columns)
        if self._alone() is not None or values != unit.partition.keys() & {*columns}:
            return whole
        split = masked_unit(unit, self._plan.schema, piece.schema, condition, piece._context())
        if split is None:
            return whole
        file, gone, changed = split
        piece._plan = replace(piece._plan, units=[] if changed is None else [changed])
        return MaskedPart(file, gone, piece)

    def __getstate__(self) -> dict[str, Any]:
        """All but what belongs to this process, or tells of reads so far."""
        return {k: v for k, v in self.__dict__.items() if k not in ("_run", "_lock")}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()

    def report(self) -> ScanReport:
        """Which paths the units take, and what reads so far came to."""
        with self._lock:
            seconds: dict[str, float] = {}
            for what, spent in list(self._run.spent):
                seconds[what] = seconds.get(what, 0.0) + spent
            return ScanReport(
                paths=dict(Counter(map(self.path_of, self._plan.units))),
                warnings=list(dict.fromkeys(self._run.warnings)),
                rows=self._run.rows,
                peak_bytes=self._run.allocator.counters().peak_bytes,
                seconds=seconds,
            )

    def statistics(self, *, footers: bool = True) -> TableStatistics:
        """What the plan and the footers of its files tell of the rows; see `Scan.statistics`.

        Figures are exact where nothing changes the rows of the files and nothing was asked but
        columns; bounds otherwise.
        """
        plan = self._plan
        may_match = units_that_may_match(plan.units, self._condition, plan.schema)
        kept = list(itertools.compress(plan.units, may_match))
        threads = self._options.n_threads
        found = unit_statistics(kept, self.schema, footers=footers, threads=threads)
        return found if self._condition is None else found.of_some_rows(self._columns)

    def explain(self, *, engine: bool = False) -> str:
        """The plan in words: each unit, its path, its files, and why."""
        plan = self._plan
        lines = [f"{plan.table}: {plan.heading or f'{len(plan.units)} units'}"]
        ways = self._engine_ways() if engine else self._own_ways()
        for unit, (path, why) in zip(plan.units, ways, strict=True):
            lines.append(f"  {path:9}  {unit.name}" + (f"  ({why})" if why else ""))
        return "\n".join([*lines, *(f"  {note}" for note in plan.notes)])

    def _own_ways(self) -> Iterator[tuple[str, str]]:
        """The path of each unit, and why."""
        plan = self._plan
        partitions = [ReadUnit(unit.name, (), unit.partition) for unit in plan.units]
        in_partition = units_that_may_match(partitions, self._condition, plan.schema)
        kept = units_that_may_match(plan.units, self._condition, plan.schema)
        for unit, may, is_kept in zip(plan.units, in_partition, kept, strict=True):
            if is_kept:
                yield self.path_of(unit), unit.reason
            else:
                what = "keys or statistics do" if may else "partition does"
                yield "pruned", f"its {what} not meet the filter"

    def _engine_ways(self) -> Iterator[tuple[str, str]]:
        """The path `engine` for what an engine's own reader reads; of other units why they stay."""
        alone = self._alone()
        reasons: Sequence[str | None] = [alone] * len(self._plan.units)
        if alone is None:
            matches = UnitMatches(self._plan.schema, FreshEvents())
            reasons = engine_share(self._plan, self._columns, matches).reasons
        for unit, why in zip(self._plan.units, reasons, strict=True):
            yield ("engine", "") if why is None else (self.path_of(unit), why)

    def _fields(self, names: Sequence[str]) -> pa.Schema:
        return pa.schema([self._plan.schema.field(name) for name in names])

    def path_of(self, unit: ReadUnit) -> str:
        """The path that a unit takes: `native`, `merge`, or another reader's."""
        native = isinstance(unit.changes, Mask | KeyMask | None)
        if self._other_path is not None and not (native and self._only_merged):
            return self._other_path[0]
        return "native" if native else "merge"

    def _open_for_engine(
        self, columns: Sequence[str], condition: pc.Expression | None, events: EventsSource
    ) -> pa.RecordBatchReader:
        if self._matches is not None:
            tested = filter_columns(condition, self._plan.schema)
            self._matches.columns = list(dict.fromkeys([*columns, *tested]))
        return self._reader(columns, self._both(condition), events)

    def _both(self, condition: pc.Expression | None) -> pc.Expression | None:
        """The scan's own condition and a further one."""
        if self._condition is None or condition is None:
            return self._condition if condition is None else condition
        return self._condition & condition

    def _reader(
        self,
        columns: Sequence[str],
        condition: pc.Expression | None,
        events: EventsSource | None = None,
    ) -> pa.RecordBatchReader:
        batches = (batch for _, batch in self._numbered_batches(columns, condition, events))
        return pa.RecordBatchReader.from_batches(self._fields(columns), batches)

    def _numbered_batches(
        self,
        columns: Sequence[str],
        condition: pc.Expression | None,
        events: EventsSource | None = None,
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Batches with the numbers of their tasks; planned anew while none was handed out."""
        begun, rows = False, self._run.rows
        try:
            for pair in self._planned_batches(columns, condition, events):
                begun = True
                yield pair
        except InputError as error:
            if begun or not self._planned_anew(error, rows):
                raise
        else:
            return
        yield from self._planned_batches(columns, condition, None)

    def _planned_batches(
        self,
        columns: Sequence[str],
        condition: pc.Expression | None,
        events: EventsSource | None,
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        tested = filter_columns(condition, self._plan.schema)
        wanted = Wanted(
            self._fields(list(dict.fromkeys([*columns, *tested]))),
            columns,
            condition,
            tested,
            {},
            self._options.most_rows,
        )
        tasks, by_other = self._tasks(wanted, events or FreshEvents())
        for number, batch in run_tasks(tasks, self._units_at_once, by_other):
            with self._lock:
                self._run.rows += batch.num_rows
            yield number, batch

    def _planned_anew(self, error: InputError, rows: int) -> bool:
        """Whether the table has another state by now, by which the read that failed is planned.

        Args:
            error: how it failed.
            rows: that were handed out before it; those that it read itself nobody has seen.
        """
        plan = self._plan
        if plan.again is None:
            return False
        try:
            newer = plan.again()
        except SeambenchError:
            return False  # the first error tells what is wrong
        same = [(u.name, u.reason) for u in newer.units] == [(u.name, u.reason) for u in plan.units]
        if same or not newer.schema.equals(plan.schema):
            return False
        reason = f"planned anew, since the table changed while it was read ({error})"
        self._plan = replace(newer, again=None)
        with self._lock:
            self._run.warnings += [*newer.warnings, ScanWarning(plan.table, -1, reason)]
            self._run.rows = rows
        return True

    def _tasks(self, wanted: Wanted, events: EventsSource) -> tuple[list[Task], frozenset[int]]:
        """What is to be done: a unit is one task, or several if it has more than its share.

        Returns:
            The tasks, and the numbers of those that are another reader's, which may be slow.
        """
        units, threads = self._plan.units, self._options.n_threads
        may_match = units_that_may_match(units, wanted.condition, self._plan.schema)
        kept = list(itertools.compress(units, may_match))
        whole_bytes = sum(unit.size_bytes for unit in kept)
        spare = sum(len(unit.files) for unit in kept) < threads
        tasks: list[Task] = []
        by_other: set[int] = set()
        for unit in kept:
            names = wanted.schema.names
            known = {name: unit.partition[name] for name in names if name in unit.partition}
            own = replace(wanted, known=known)
            if self._other_path is not None and self.path_of(unit) == self._other_path[0]:
                by_other.add(len(tasks))
                tasks.append(self._by_other(unit, own, self._other_path[1]))
                continue
            parts = max(1, math.ceil(unit.size_bytes * threads / max(whole_bytes, 1)))
            if isinstance(unit.changes, Runs):
                tasks += self._merging_runs(unit, unit.changes, own, parts)
                continue
            if isinstance(unit.changes, ChangedRows):
                rows = (unit.changes, self._plan.schema, own, self._context())
                tasks.append(functools.partial(changed_rows, *rows))
                continue
            if unit.changes is not None and not isinstance(unit.changes, Mask | KeyMask):
                tasks += self._merging(unit, unit.changes, own, parts, events)
                continue
            for file in unit.files:
                parts = max(1, math.ceil(file.size_bytes * threads / max(whole_bytes, 1)))
                tasks += self._native(unit, file, own, parts, spare)
        return tasks, frozenset(by_other)

    def _native(
        self, unit: ReadUnit, file: DataFile, wanted: Wanted, parts: int, spare: bool
    ) -> list[Task]:
        """Tasks for a file: one, or one for each run of row groups if it is cut in parts."""
        cuts: list[tuple[int, int] | None] = [None]
        if parts > 1:
            groups = file.open().num_row_groups
            parts = min(parts, groups)
            bounds = [groups * i // parts for i in range(parts + 1)] if parts > 1 else []
            cuts = list(itertools.pairwise(bounds)) or [None]
        gone = None if unit.changes is None else SharedMask(unit.changes)

        def read(cut: tuple[int, int] | None) -> Iterator[pa.RecordBatch]:
            # A reader of its own for each task: pyarrow's may not be shared by threads.
            reader = file.open()
            return native_rows(
                reader,
                wanted,
                range(*cut) if cut else range(reader.num_row_groups),
                use_threads=spare and cut is None,
                gone=None if gone is None else gone.of(reader, self._context(), wanted.batch_rows),
                allocator=self._run.allocator,
            )

        return [functools.partial(read, cut) for cut in cuts]

    def _merging(
        self, unit: ReadUnit, changes: Keyed, wanted: Wanted, parts: int, events: EventsSource
    ) -> list[Task]:
        """Tasks for a unit that is merged."""
        merge = functools.partial(
            UnitMerge,
            unit.files[0] if unit.files else None,
            changes,
            self._plan.schema,
            wanted,
            self._context(),
            events,
            row_groups=groups_by_key(changes.key_columns, wanted),
        )
        if parts == 1:
            # Opened by the task: a scan may have more units than files can be open.
            reads: list[Task] = [lambda: merge().all_rows()]
        else:
            shared = merge(threads=parts)
            reads = [functools.partial(shared.rows, i) for i in range(shared.n_stretches)]
        return reads

    def _merging_runs(
        self, unit: ReadUnit, changes: Runs, wanted: Wanted, parts: int
    ) -> list[Task]:
        """Tasks for a unit of sorted runs, one for each range of keys that it is cut into.

        Rows are tested after they were merged.
        """
        groups_of = groups_by_key(frozenset(changes.keys), wanted)
        ranges = key_ranges(changes, self._plan.schema, parts) if parts > 1 else ()
        shares = [Share(groups_of, keys) for keys in ranges]
        # What cannot be cut is decoded in parallel at least.
        shares = shares or [Share(groups_of, use_threads=parts > 1)]
        read = functools.partial(
            merged_runs,
            unit,
            changes,
            self._plan.schema,
            wanted.read(wanted.schema.names).names,
            self._rows_of_a_merge(wanted.batch_rows),
            self._context(),
        )
        return [
            functools.partial(_tested, functools.partial(read, share), wanted) for share in shares
        ]

    def _rows_of_a_merge(self, batch_rows: int) -> int:
        """Rows that one merge of sorted runs may hold: all that run at once share those of a batch.

        Half of them are for batches that wait to be fetched, where threads hand them over.
        """
        merges = self._units_at_once
        return batch_rows if merges == 1 else max(1, batch_rows // (2 * merges))

    def _by_other(self, unit: ReadUnit, wanted: Wanted, read: ReadRows) -> Task:
        schema = wanted.read(wanted.schema.names)
        context = replace(self._context(), condition=wanted.condition)
        rows = functools.partial(read, unit, schema, wanted.batch_rows, context)
        return functools.partial(_tested, rows, wanted)

    @property
    def _units_at_once(self) -> int:
        """More than there are cores where files are far away: most of them wait for bytes."""
        options = self._options
        far = options.threads is None and is_far(self._plan.table)
        return options.n_threads * (_WAITING if far else 1)

    def _context(self) -> ReadContext:
        """A quarter of a unit's share of the memory is for its events' rows.

        The rest is for keys, index and batches.
        """
        limit = self._options.memory_limit_bytes
        held_bytes = None if limit is None else limit // (4 * self._units_at_once)
        run = self._run
        return ReadContext(run.allocator, run.warnings, held_bytes=held_bytes, spent=run.spent)


def _sizes(plan: ReadPlan) -> tuple[int, int | None]:
    """Bytes of a plan's files, and about how many rows it has, as far as it knows itself."""
    known = unit_statistics(plan.units, pa.schema([]), footers=False, threads=1)
    return plan.size_bytes, None if known.rows is None else known.rows.value


def _tested(read: Task, wanted: Wanted) -> Iterator[pa.RecordBatch]:
    """Rows of another path that meet the condition; a value below the merge may be stale."""
    whole = (with_values(batch, wanted.schema, wanted.known) for batch in read())
    if wanted.condition is None:
        return whole
    stream = pa.RecordBatchReader.from_batches(wanted.schema, whole)
    return iter(apply_filter(stream, wanted.condition, wanted.columns))
