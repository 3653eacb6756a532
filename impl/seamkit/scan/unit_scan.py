"""A scan of read units: planned once by a table format, each read as its changes say."""

from __future__ import annotations

import copy
import functools
import itertools
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, SeambenchError
from seambase.filters import all_of, filter_columns
from seambase.scan import ScanReport, ScanWarning, ScanWarnings
from seambase.statistics import TableStatistics
from seambase.wording import counted
from seamkit.core.memory import TrackedAllocator
from seamkit.core.tasks import run_tasks
from seamkit.engines.files import EnginePlan, MaskedPart
from seamkit.files.file_cache import KEPT
from seamkit.scan.arguments import ScanOptions
from seamkit.scan.engine_units import engine_share, masked_unit
from seamkit.scan.events_cache import EventsCache, UnitMatches
from seamkit.scan.pruning import RuledOutBy, ruled_out_by, ruled_out_note, units_that_may_match
from seamkit.scan.scan import Scan, checked_number
from seamkit.scan.shown import Progress
from seamkit.scan.statistics import unit_statistics
from seamkit.scan.unit_tasks import OtherPath, ReadRows, ReadState, UnitTasks
from seamkit.scan.units import ReadPlan, ReadUnit, UnitsInTime, Wanted

if TYPE_CHECKING:
    import pyarrow.dataset as ds


class UnitScan(Scan):
    """One planned read, of columns in order and rows under a condition over the plan's schema.

    Attributes:
        plan: what is read.
        condition: rows to keep; None for all.
        options: how it is run.
        other_path: what `read_by` was given; None where units take the scan's own paths.
    """

    def __init__(
        self,
        plan: ReadPlan,
        columns: Sequence[str],
        condition: pc.Expression | None = None,
        options: ScanOptions | None = None,
    ) -> None:
        self.plan = plan
        self._columns = list(columns)
        self.condition = condition
        self.options = options or ScanOptions()
        self.other_path: OtherPath | None = None
        self._matches: UnitMatches | None = None
        self._keeps = True
        if condition is not None:
            filter_columns(condition, plan.schema)
        self._begin()

    def _begin(self, beside: ScanWarnings | None = None) -> None:
        allocator = TrackedAllocator(self.options.memory_limit_bytes or 0)
        self._state = ReadState(allocator, ScanWarnings(self.plan.warnings, beside))
        self._lock = threading.Lock()

    @property
    def schema(self) -> pa.Schema:
        """Schema of the batches: the requested columns in the requested order."""
        return self._fields(self._columns)

    @property
    def whole_schema(self) -> pa.Schema:
        """The columns of the plan."""
        return self.plan.schema

    def narrowed(self, columns: Sequence[str], condition: pc.Expression | None) -> UnitScan:
        """See `Scan.narrowed`; what it reads does not count in this scan's report."""
        filter_columns(condition, self.plan.schema)
        other = self._with(columns, condition)
        other._begin()
        return other

    def _with(self, columns: Sequence[str], condition: pc.Expression | None) -> UnitScan:
        other = copy.copy(self)
        other._columns = list(columns)
        other.condition = all_of(self.condition, condition)
        return other

    def to_reader(self) -> pa.RecordBatchReader:
        """A stream of batches; those of different units come in any order."""
        return self._reader(self._columns, self.condition)

    def to_table(self) -> pa.Table:
        """All rows, units in the order of the plan."""
        rows = self._state.rows
        with Progress() as progress:
            try:
                batches = list(self._seen(progress))
            except InputError as error:
                if not self._planned_anew(error, rows):
                    raise
                batches = list(self._seen(progress))
        numbered = sorted(batches, key=lambda pair: pair[0])
        return pa.Table.from_batches([batch for _, batch in numbered], schema=self.schema)

    def _seen(self, progress: Progress) -> Iterator[tuple[int, pa.RecordBatch]]:
        for number, batch in self._numbered_batches(self._columns, self.condition):
            progress.rows += batch.num_rows
            yield number, batch

    def dataset(self) -> ds.Dataset:
        """A dataset that DuckDB and Polars query, with columns and filters pushed down.

        It keeps decoded events for its next reads, and for other scans of the same files (see
        `seamkit.keep_at_most`), unless memory is limited.
        """
        from seambase.dataset import ScanDataset

        limited = self.options.memory_limit_bytes is not None
        events = None if limited else EventsCache(shared=KEPT)
        if self._matches is not None:
            events = self._matches.events
        return ScanDataset(self.schema, functools.partial(self._open_for_engine, events=events))

    def engine_plan(self, *, masks: bool = False, by_query: bool = False) -> EnginePlan:
        """Files for an engine's own reader, a scan of the rest; see `Scan`.

        All stays with this scan where it has something other than columns: a condition, a
        limit of memory, or strictness.
        """
        self._state.warnings.tell()
        if self._alone() is not None:
            return EnginePlan([], self, self.schema, *_sizes(self.plan))
        matches = UnitMatches(self.plan.schema, EventsCache(shared=KEPT)) if masks else None
        context, threads = self._tasks.context(), self.options.n_threads
        share = engine_share(self.plan, self._columns, matches, by_query=by_query, threads=threads)

        def of_units(units: Sequence[ReadUnit]) -> UnitScan:
            some = copy.copy(self)
            some.plan = replace(self.plan, units=units, again=None)
            # What it reads counts as this scan's.
            some._state, some._lock = self._state, self._lock
            some._matches = matches
            return some

        files = [*share.files(context, threads, lambda units: of_units(units).dataset())]
        if not share.rest.units:
            return EnginePlan(files, None, self.schema)
        return EnginePlan(files, of_units(share.rest.units), self.schema, *_sizes(share.rest))

    def _alone(self) -> str | None:
        """Why no engine's own reader takes part; None where it may."""
        if self.other_path is not None:
            return f"rows come by the path {self.other_path.name}"
        if self.condition is not None:
            return "the scan has a filter of its own"
        if self.options.memory_limit_bytes is not None:
            return "memory is limited"
        return "strict scans check what an engine does not" if self.options.strict else None

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
        other.other_path = OtherPath(path, read, only_merged)
        return other

    def beside(self, warnings: list[ScanWarning]) -> UnitScan:
        """The same scan as a part of a larger read, of which each warning is given once."""
        other = copy.copy(self)
        other._begin(warnings if isinstance(warnings, ScanWarnings) else None)
        return other

    def files_alone(self) -> UnitScan:
        """The same parts, each as its data files stand: what their changes cost is the difference.

        These are no rows of the table: replaced and deleted ones come, added ones may be missing.
        """
        other = copy.copy(self)
        units = [replace(unit, changes=None) for unit in self.plan.units]
        other.plan = replace(self.plan, units=units)
        other._begin()
        return other

    @property
    def n_parts(self) -> int:
        """As many parts as units."""
        return len(self.plan.units)

    def part_bytes(self) -> list[int]:
        """Bytes of each unit's files, and of those that change it."""
        units = self.plan.units
        if isinstance(units, UnitsInTime):
            return [each or 1 for each in units.read_bytes()]
        return [unit.read_bytes or 1 for unit in units]

    def part(
        self, number: int, columns: Sequence[str], condition: pc.Expression | None
    ) -> UnitScan:
        """One unit's scan; see `Scan.part`.

        It keeps to one thread unless the scan was given a number, and has the memory limit to
        itself.
        """
        self._state.warnings.tell()
        piece = self._with(columns, condition)
        units = [self.plan.units[checked_number("part", number, self.n_parts, "scan")]]
        piece.plan = replace(self.plan, units=units, again=None, warnings=())
        piece.options = replace(self.options, threads=self.options.threads or 1)
        piece._begin(self._state.warnings)
        piece._keeps = False  # a task reads it once, in a process that may have little memory
        return piece

    @property
    def part_values(self) -> frozenset[str]:
        """See `Scan.part_values`."""
        return frozenset(name for unit in self.plan.units for name in unit.partition)

    def masked_part(
        self, number: int, columns: Sequence[str], condition: pc.Expression | None
    ) -> MaskedPart:
        """One unit, split; see `Scan.masked_part`.

        All of its rows come from us where a filter on its keys leaves row groups out, as the engine
        would have us look at all keys of its file.
        """
        piece = self.part(number, columns, condition)
        whole = super().masked_part(number, columns, condition)
        unit = self.plan.units[number]
        values = self.part_values.intersection(columns)
        if self._alone() is not None or values != unit.partition.keys() & {*columns}:
            return whole
        split = masked_unit(unit, self.plan.schema, piece.schema, condition, piece._tasks.context())
        if split is None:
            return whole
        file, gone, changed = split
        piece.plan = replace(piece.plan, units=[] if changed is None else [changed])
        return MaskedPart(file, gone, piece)

    def __getstate__(self) -> dict[str, Any]:
        """All but what belongs to this process, or tells of reads so far."""
        return {k: v for k, v in self.__dict__.items() if k not in ("_state", "_lock")}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()

    def report(self) -> ScanReport:
        """Which paths the units take, and what reads so far came to."""
        with self._lock:
            seconds: dict[str, float] = {}
            for what, spent in list(self._state.spent):
                seconds[what] = seconds.get(what, 0.0) + spent
            return ScanReport(
                paths=dict(Counter(map(self.path_of, self.plan.units))),
                warnings=list(dict.fromkeys(self._state.warnings)),
                rows=self._state.rows,
                peak_bytes=self._state.allocator.counters().peak_bytes,
                seconds=seconds,
                pages=self._state.pages.pages,
                unread_pages=self._state.pages.unread,
            )

    def statistics(self, *, footers: bool = True) -> TableStatistics:
        """What the plan and the footers of its files tell of the rows; see `Scan.statistics`.

        Figures are exact where nothing changes the rows of the files and nothing was asked but
        columns; bounds otherwise.
        """
        plan = self.plan
        may_match = units_that_may_match(plan.units, self.condition, plan.schema)
        kept = list(itertools.compress(plan.units, may_match))
        threads = self.options.n_threads
        found = unit_statistics(kept, self.schema, footers=footers, threads=threads)
        return found if self.condition is None else found.of_some_rows(self._columns)

    def explain(self, *, engine: bool = False) -> str:
        """The plan in words: each unit, its path, its files, and why."""
        plan = self.plan
        units = counted(len(plan.units), "unit")
        lines = [f"{plan.table}: {', '.join(filter(None, (units, plan.heading)))}"]
        ruled = ruled_out_by(plan.units, self.condition, plan.schema)
        partitions = [ReadUnit(unit.name, (), unit.partition) for unit in plan.units]
        within = units_that_may_match(partitions, self.condition, plan.schema)
        ways = self._engine_ways() if engine else self._own_ways(ruled, within)
        for unit, (path, why) in zip(plan.units, ways, strict=True):
            lines.append(f"  {path:9}  {unit.name}" + (f"  ({why})" if why else ""))
        notes = [*plan.notes, *ruled_out_note(plan, self.condition, ruled, within)]
        pages = self._state.pages
        if pages.pages:
            notes.append(
                f"read       {pages.unread} of "
                f"{counted(pages.pages, 'page')} left out by their index"
            )
        return "\n".join([*lines, *(f"  {note}" for note in notes)])

    def _own_ways(
        self, ruled: Sequence[RuledOutBy | None], within: Sequence[bool]
    ) -> Iterator[tuple[str, str]]:
        """The path of each unit, and why."""
        for unit, may, by in zip(self.plan.units, within, ruled, strict=True):
            if by is None:
                yield self.path_of(unit), unit.why
            else:
                what = "keys or statistics do" if may else "partition does"
                yield "pruned", f"its {what} not meet the filter"

    def _engine_ways(self) -> Iterator[tuple[str, str]]:
        """The path `engine` for what an engine's own reader reads; why units or columns stay."""
        if (alone := self._alone()) is not None:
            ways: Sequence[tuple[bool, str]] = [(False, alone)] * len(self.plan.units)
        else:
            matches = UnitMatches(self.plan.schema, EventsCache())
            threads = self.options.n_threads
            ways = engine_share(self.plan, self._columns, matches, threads=threads).ways
        for unit, (as_it_stands, why) in zip(self.plan.units, ways, strict=True):
            yield "engine" if as_it_stands else self.path_of(unit), why

    def _fields(self, names: Sequence[str]) -> pa.Schema:
        return pa.schema([self.plan.schema.field(name) for name in names])

    def path_of(self, unit: ReadUnit) -> str:
        """The path that a unit takes: `native`, `merge`, or another reader's."""
        return self._tasks.path_of(unit)

    @property
    def _tasks(self) -> UnitTasks:
        return UnitTasks(self.plan, self.options, self._state, self.other_path)

    def _open_for_engine(
        self, columns: Sequence[str], condition: pc.Expression | None, events: EventsCache | None
    ) -> pa.RecordBatchReader:
        if self._matches is not None:
            tested = filter_columns(condition, self.plan.schema)
            self._matches.columns = list(dict.fromkeys([*columns, *tested]))
        return self._reader(columns, all_of(self.condition, condition), events)

    def _reader(
        self,
        columns: Sequence[str],
        condition: pc.Expression | None,
        events: EventsCache | None = None,
    ) -> pa.RecordBatchReader:
        batches = (batch for _, batch in self._numbered_batches(columns, condition, events))
        return pa.RecordBatchReader.from_batches(self._fields(columns), batches)

    def _numbered_batches(
        self,
        columns: Sequence[str],
        condition: pc.Expression | None,
        events: EventsCache | None = None,
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Batches with the numbers of their tasks; planned anew while none was handed out."""
        begun, rows = False, self._state.rows
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
        self, columns: Sequence[str], condition: pc.Expression | None, events: EventsCache | None
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        self._state.warnings.tell()
        tested = [] if condition is None else filter_columns(condition, self.plan.schema)
        wanted = Wanted(
            self._fields(list(dict.fromkeys([*columns, *tested]))),
            columns,
            condition,
            tested,
            {},
            self.options.most_rows,
            self._state.pages,
        )
        tasks, by_other = self._tasks.of(wanted, events or self._own_events(condition))
        for number, batch in run_tasks(tasks, self._tasks.units_at_once, by_other):
            with self._lock:
                self._state.rows += batch.num_rows
            yield number, batch

    def _own_events(self, condition: pc.Expression | None) -> EventsCache | None:
        """Where events come from in a stream or table: kept ones take part where a filter is."""
        # All rows are read once, as a rule, and their logs would push out what queries come back
        # to.
        limited = self.options.memory_limit_bytes is not None
        if condition is None or limited or not self._keeps:
            return None
        return EventsCache(most_bytes=0, shared=KEPT)

    def _planned_anew(self, error: InputError, rows: int) -> bool:
        """Whether the table has another state by now, by which the read that failed is planned."""
        # Rows that it read itself nobody has seen.
        plan = self.plan
        if plan.again is None:
            return False
        try:
            newer = plan.again()
        except SeambenchError:
            return False  # the first error tells what is wrong
        same = [(u.name, u.why) for u in newer.units] == [(u.name, u.why) for u in plan.units]
        if same or not newer.schema.equals(plan.schema):
            return False
        reason = f"planned anew, since the table changed while it was read ({error})"
        self.plan = replace(newer, again=None)
        with self._lock:
            self._state.warnings += [*newer.warnings, ScanWarning(plan.table, -1, reason)]
            self._state.rows = rows
        return True


def _sizes(plan: ReadPlan) -> tuple[int, int | None]:
    """Bytes of a plan's files, and about how many rows it has, as far as it knows itself."""
    known = unit_statistics(plan.units, pa.schema([]), footers=False, threads=1)
    return plan.size_bytes, None if known.rows is None else known.rows.value
