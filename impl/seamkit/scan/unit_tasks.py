"""The units of a plan as tasks for threads, each read as its changes say."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import pyarrow as pa

from seambase.filters import apply_filter
from seambase.scan import ScanWarnings
from seamkit.core.memory import TrackedAllocator
from seamkit.core.tasks import Task
from seamkit.files.reader import PageCounts
from seamkit.files.storage import is_far
from seamkit.scan.arguments import ScanOptions
from seamkit.scan.events_cache import ChangedRows, EventsCache, changed_rows
from seamkit.scan.masks import SharedMask
from seamkit.scan.merge_path import EventsOfUnit, UnitMerge
from seamkit.scan.native_path import native_rows
from seamkit.scan.pruning import (
    files_ruled_out,
    groups_by_key,
    keyless_may_match,
    units_that_may_match,
)
from seamkit.scan.runs_path import GroupsOf, Share, key_ranges, merged_runs
from seamkit.scan.units import (
    Keyed,
    KeyMask,
    Mask,
    ReadContext,
    ReadPlan,
    ReadUnit,
    Runs,
    UnitFile,
    Wanted,
)

_WAITING = 4
# A part of a file by which a thread has this many times its share is waited for.
_MOST_UNEVEN = 1.25

ReadRows = Callable[[ReadUnit, pa.Schema, int, ReadContext], Iterator[pa.RecordBatch]]
"""Another way to read a unit: its rows with the columns of a schema, in batches of so many rows."""


@dataclass
class ReadState:
    """What all units of a scan share while they are read."""

    allocator: TrackedAllocator
    warnings: ScanWarnings = field(default_factory=ScanWarnings)
    rows: int = 0
    spent: list[tuple[str, float]] = field(default_factory=list)
    pages: PageCounts = field(default_factory=PageCounts)


class OtherPath(NamedTuple):
    """A way to read units in place of the scan's own paths."""

    name: str  # what reports call it
    read: ReadRows  # a function of a module, so that the scan can be pickled
    only_merged: bool  # units that need no merge stay on the native path


@dataclass(frozen=True)
class UnitTasks:
    """Makes the tasks of one read of a plan."""

    plan: ReadPlan
    options: ScanOptions
    state: ReadState  # what the units share
    other_path: OtherPath | None  # takes the place of the scan's own paths; None for nothing

    def of(self, wanted: Wanted, events: EventsCache | None) -> tuple[list[Task], frozenset[int]]:
        """What is to be done: a unit is one task, or several if it has more than its share.

        The numbers of those that are another reader's, which may be slow, come back, too.
        """
        units, threads = self.plan.units, self.options.n_threads
        kept: Sequence[ReadUnit] = units
        if wanted.condition is not None:
            test = wanted.condition, self.plan.schema, wanted.tested
            kept = list(itertools.compress(units, units_that_may_match(units, *test)))
            # What the table tells of its rows may turn out to be broken when it is asked.
            told = self.state.warnings
            told += [one for one in self.plan.warnings if one not in told]
        whole_bytes = sum(unit.size_bytes for unit in kept)
        spare = sum(len(unit.files) for unit in kept) < threads
        tasks: list[Task] = []
        by_other: set[int] = set()
        by_key = functools.cache(functools.partial(_groups_of_events, wanted=wanted))
        for unit in kept:
            names = wanted.schema.names
            known = {name: unit.partition[name] for name in names if name in unit.partition}
            own = replace(wanted, known=known)
            other = self.other_path
            if other is not None and self.path_of(unit) == other.name:
                by_other.add(len(tasks))
                tasks.append(self._by_other(unit, own, other.read))
                continue
            parts = max(1, math.ceil(unit.size_bytes * threads / max(whole_bytes, 1)))
            if isinstance(unit.changes, Runs):
                tasks += self._merging_runs(unit, unit.changes, own, parts)
                continue
            if isinstance(unit.changes, ChangedRows):
                rows = (unit.changes, self.plan.schema, own, self.context())
                tasks.append(functools.partial(changed_rows, *rows))
                continue
            if unit.changes is not None and not isinstance(unit.changes, Mask | KeyMask):
                groups_of = by_key(frozenset(unit.changes.key_columns))
                tasks += self._merging(unit, unit.changes, own, parts, events, groups_of)
                continue
            for file in unit.files:
                parts = max(1, math.ceil(file.size_bytes * threads / max(whole_bytes, 1)))
                tasks += self._native(unit, file, own, parts, spare)
        return tasks, frozenset(by_other)

    def _native(
        self, unit: ReadUnit, file: UnitFile, wanted: Wanted, parts: int, spare: bool
    ) -> list[Task]:
        """Tasks for a file: one, or one for each run of row groups if it is cut in parts."""
        # Where no other file is left for a thread that ends early, pyarrow decodes columns in
        # parallel, unless the parts are about as large as one another.
        cuts: list[tuple[int, int] | None] = [None]
        by_column = spare
        if parts > 1:
            whole = file.open()
            cuts = [*_runs_of_groups(whole.num_row_groups, parts)] or [None]
            rows = [whole.rows_in(range(*cut)) for cut in cuts if cut]
            share = sum(rows) / self.options.n_threads
            by_column = spare and max(rows, default=math.inf) > _MOST_UNEVEN * share
        gone = None if unit.changes is None else SharedMask(unit.changes)

        def read(cut: tuple[int, int] | None) -> Iterator[pa.RecordBatch]:
            # A reader of its own for each task: pyarrow's may not be shared by threads.
            reader = file.open()
            return native_rows(
                reader,
                wanted,
                range(*cut) if cut else range(reader.num_row_groups),
                use_threads=by_column,
                gone=None if gone is None else gone.of(reader, self.context(), wanted.batch_rows),
                allocator=self.state.allocator,
            )

        return [functools.partial(read, cut) for cut in cuts]

    def _merging(
        self,
        unit: ReadUnit,
        changes: Keyed,
        wanted: Wanted,
        parts: int,
        events: EventsCache | None,
        by_key: GroupsOf | None,
    ) -> list[Task]:
        condition = None if by_key is None else wanted.condition
        lacks = condition is not None and files_ruled_out(
            unit, condition, self.plan.schema, wanted.tested
        )
        file = unit.files[0] if unit.files and not lacks else None
        context = replace(self.context(), condition=condition)

        def merge(threads: int = 1) -> UnitMerge:
            schema, groups_of = self.plan.schema, by_key
            if events is None:
                own: EventsOfUnit = changes
            else:
                own = cached = events.of(changes, whole=by_key is None)
                if cached.matches is not None:  # the condition itself rules out row groups then
                    groups_of = None
            return UnitMerge(
                file, own, schema, wanted, context, threads=threads, row_groups=groups_of
            )

        if parts == 1:
            # Opened by the task: a scan may have more units than files can be open.
            reads: list[Task] = [lambda: merge().all_rows()]
        else:
            shared = merge(threads=parts)
            reads = [functools.partial(shared.rows, i) for i in range(shared.n_ranges)]
        return reads

    def _merging_runs(
        self, unit: ReadUnit, changes: Runs, wanted: Wanted, parts: int
    ) -> list[Task]:
        """Tasks for a unit of sorted runs, one for each range of keys that it is cut into."""
        # Rows are tested after they were merged.
        groups_of = _groups_by_key(changes.keys, wanted)
        ranges = key_ranges(changes, self.plan.schema, parts) if parts > 1 else ()
        shares = [Share(groups_of, keys) for keys in ranges]
        # What cannot be cut is decoded in parallel at least.
        shares = shares or [Share(groups_of, use_threads=parts > 1)]
        read = functools.partial(
            merged_runs,
            unit,
            changes,
            self.plan.schema,
            wanted.read(wanted.schema.names).names,
            self._rows_of_a_merge(wanted.batch_rows),
            self.context(),
        )
        return [
            functools.partial(_tested, functools.partial(read, share), wanted) for share in shares
        ]

    def _rows_of_a_merge(self, batch_rows: int) -> int:
        """Rows that one merge of sorted runs may hold: all at once share those of a batch."""
        # Half of them are for batches that wait to be fetched, where threads hand them over.
        merges = self.units_at_once
        return batch_rows if merges == 1 else max(1, batch_rows // (2 * merges))

    def _by_other(self, unit: ReadUnit, wanted: Wanted, read: ReadRows) -> Task:
        schema = wanted.read(wanted.schema.names)
        context = replace(self.context(), condition=wanted.condition)
        rows = functools.partial(read, unit, schema, wanted.batch_rows, context)
        return functools.partial(_tested, rows, wanted)

    def path_of(self, unit: ReadUnit) -> str:
        """The path that a unit takes: `native`, `merge`, or another reader's."""
        native = isinstance(unit.changes, Mask | KeyMask | None)
        other = self.other_path
        if other is not None and not (native and other.only_merged):
            return other.name
        return "native" if native else "merge"

    @property
    def units_at_once(self) -> int:
        """More than there are cores where files are far away: most of them wait for bytes."""
        options = self.options
        far = options.threads is None and is_far(self.plan.table)
        return options.n_threads * (_WAITING if far else 1)

    def context(self) -> ReadContext:
        """What the read lends: a quarter of a unit's share of memory is for its events' rows.

        The rest is for keys, index and batches.
        """
        limit = self.options.memory_limit_bytes
        held_bytes = None if limit is None else limit // (4 * self.units_at_once)
        state = self.state
        return ReadContext(
            state.allocator, state.warnings, held_bytes=held_bytes, spent=state.spent
        )


def _runs_of_groups(groups: int, parts: int) -> Iterator[tuple[int, int]]:
    """Where runs of neighbouring row groups begin and end; none if there is but one."""
    parts = min(parts, groups)
    if parts > 1:
        yield from itertools.pairwise(groups * i // parts for i in range(parts + 1))


def _groups_by_key(keys: Collection[str], wanted: Wanted) -> GroupsOf | None:
    if wanted.condition is None:
        return None
    return groups_by_key(keys, wanted.condition, wanted.tested, wanted.schema)


def _groups_of_events(keys: frozenset[str], wanted: Wanted) -> GroupsOf | None:
    """The same of a file that events change, which may have no more than a part of a row."""
    found = _groups_by_key(keys, wanted)
    if found is None or wanted.condition is None:
        return None
    lacking = keyless_may_match(keys, wanted.condition, wanted.tested, wanted.schema)
    return None if lacking else found


def _tested(read: Task, wanted: Wanted) -> Iterator[pa.RecordBatch]:
    """Rows of another path that meet the condition; a value below the merge may be stale."""
    whole = (wanted.whole(batch, wanted.schema) for batch in read())
    if wanted.condition is None:
        return whole
    stream = pa.RecordBatchReader.from_batches(wanted.schema, whole)
    return iter(apply_filter(stream, wanted.condition, wanted.columns))
