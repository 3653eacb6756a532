"""A scan of a Hudi table: slices are planned once, each goes its own path."""

from __future__ import annotations

import copy
import functools
import itertools
import math
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import RefusedError, UsageError
from seambase.filters import apply_filter, filter_columns
from seambase.scan import ScanReport, ScanWarning
from seamkit.core.memory import TrackedAllocator
from seamkit.files.reader import FileReader
from seamkit.files.storage import Storage
from seamkit.scan.merge_path import ReadLog, SliceMerge, merge_slice
from seamkit.scan.native_path import Wanted, native_rows, with_values
from seamkit.scan.options import DEFAULT_BATCH_ROWS
from seamkit.scan.tasks import Task, run_tasks
from seamkit.tables.hudi.base_files import open_slice_base
from seamkit.tables.hudi.config.properties import TableConfig
from seamkit.tables.hudi.connector_path import connector_slice
from seamkit.tables.hudi.listing.partitions import PartitionColumns
from seamkit.tables.hudi.listing.planning import Plan
from seamkit.tables.hudi.listing.slices import BaseFile, FileSlice
from seamkit.tables.hudi.log_cache import LogCache
from seamkit.tables.hudi.merge.events import LogView, read_slice_log
from seamkit.tables.hudi.merge.keys import RECORD_KEY
from seamkit.tables.hudi.merge.row_events import IS_DELETED, OPERATION, root_of
from seamkit.tables.hudi.timeline.timeline import Timeline
from seamkit.tables.hudi.timeline.window import Window

if TYPE_CHECKING:
    import pyarrow.dataset as ds

__all__ = ["HudiScan", "Path", "ScanOptions"]

Path = Literal["auto", "native", "merge", "connector"]


@dataclass(frozen=True)
class ScanOptions:
    """How to run a scan.

    Attributes:
        path: `auto` chooses per slice; `native` reads base files alone and refuses logs it would
            have to apply; `merge` and `connector` take that path for every slice.
        batch_rows: most rows in a batch, or None for the default.
        threads: slices at once, or None for one per core.
        memory_limit: bytes the tracked allocator may hand out at once, or None. Rows of logs that
            would take too much of it wait on local disk.
        strict: refuse damage that Hudi's own reader skips.
        positions: match log records by their positions in the base file where all blocks of a slice
            have them. It spares reading keys and changes no row, but where the base holds a key
            twice: Hudi logs both positions then, and both rows change.
    """

    path: Path = "auto"
    batch_rows: int | None = None
    threads: int | None = None
    memory_limit: int | None = None
    strict: bool = False
    positions: bool = False


@dataclass
class _Run:
    """What all slices of a scan share while they are read."""

    allocator: TrackedAllocator
    warnings: list[ScanWarning] = field(default_factory=list)
    rows: int = 0


class HudiScan:
    """One planned read of a table; implements `seambench.contracts.scan.Scan`.

    Made by `HudiTable.scan`. Each call of `to_reader` or `to_table` reads anew.
    """

    def __init__(
        self,
        storage: Storage,
        config: TableConfig,
        timeline: Timeline,
        table_schema: pa.Schema,
        plan: Plan,
        columns: Sequence[str],
        *,
        condition: pc.Expression | None,
        merge_logs: bool,
        window: Window,
        options: ScanOptions,
    ) -> None:
        self._storage = storage
        self._config = config
        self._timeline = timeline
        self._table_schema = table_schema
        self._columns = list(columns)
        self._condition = condition
        self._window = window
        self._options = options
        self._slices = plan.slices if merge_logs else _bases_alone(plan.slices)
        self._source = plan.source
        self._paths = [self._path_of(slice_) for slice_ in self._slices]
        self._partitions = PartitionColumns(config, table_schema)
        self._told = plan.warnings
        self._unchanged = plan.unchanged
        self._begin()

    def _begin(self) -> None:
        allocator = TrackedAllocator(self._options.memory_limit or 0)
        self._run = _Run(allocator, list(self._told))
        self._lock = threading.Lock()

    @property
    def schema(self) -> pa.Schema:
        """Schema of the batches: the requested columns in the requested order."""
        return pa.schema([self._table_schema.field(name) for name in self._columns])

    def to_reader(self) -> pa.RecordBatchReader:
        """A stream of batches; those of different slices come in any order."""
        return self._reader(self._columns, self._condition)

    def to_table(self) -> pa.Table:
        """All rows, slices in the order of partition and file id."""
        numbered = sorted(
            self._numbered_batches(self._columns, self._condition), key=lambda pair: pair[0]
        )
        return pa.Table.from_batches([batch for _, batch in numbered], schema=self.schema)

    def dataset(self) -> ds.Dataset:
        """A dataset that DuckDB and Polars query, with columns and filters pushed down.

        It keeps decoded logs for its next reads (at most `CACHE_BYTES`), unless memory is limited.
        """
        from seambase.dataset import ScanDataset

        limited = self._options.memory_limit is not None
        read_log = read_slice_log if limited else LogCache(self.log_view).read
        opened = functools.partial(self._open_for_engine, read_log=read_log)
        return ScanDataset(self.schema, opened)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_reader().__arrow_c_stream__(requested_schema)

    @property
    def n_parts(self) -> int:
        """As many parts as slices; see `seambench.contracts.scan.Parted`."""
        return len(self._slices)

    def part(
        self, number: int, columns: Sequence[str], condition: pc.Expression | None
    ) -> HudiScan:
        """One slice's scan; see `seambench.contracts.scan.Parted`.

        It keeps to one thread unless the scan was given a number, and has the memory limit to
        itself.
        """
        piece = copy.copy(self)
        piece._columns = list(columns)
        piece._condition = self._both(condition)
        piece._options = replace(self._options, threads=self._options.threads or 1)
        piece._slices, piece._paths = [self._slices[number]], [self._paths[number]]
        return piece

    def __getstate__(self) -> dict[str, Any]:
        """All but what belongs to this process, or tells of reads so far."""
        return {k: v for k, v in self.__dict__.items() if k not in ("_run", "_lock")}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()

    def report(self) -> ScanReport:
        """Which paths the slices take, and what reads so far came to."""
        with self._lock:
            return ScanReport(
                paths=dict(Counter(self._paths)),
                warnings=list(dict.fromkeys(self._run.warnings)),
                rows=self._run.rows,
                peak_bytes=self._run.allocator.counters().peak_bytes,
            )

    def explain(self) -> str:
        """The plan in words: each slice, its path, its files, and why."""
        lines = [f"{self._storage.root}: {len(self._slices)} slices, listed from {self._source}"]
        partitions = self._partitions_of(self._condition)
        for slice_, path in zip(self._slices, self._paths, strict=True):
            base = slice_.base.path if slice_.base else "no base file"
            why = f"{len(slice_.logs)} logs" if slice_.logs else "no log to apply"
            if slice_.partition not in partitions:
                path, why = "pruned", "its partition does not meet the filter"
            lines.append(f"  {path:9}  {base}  ({why})")
        if self._unchanged:
            lines.append(f"  pruned     {self._unchanged} slices hold no change of the window")
        return "\n".join(lines)

    def _path_of(self, slice_: FileSlice) -> str:
        if self._options.path == "auto":
            return "merge" if slice_.logs else "native"
        if self._options.path == "native" and slice_.logs:
            raise RefusedError(
                f"{self._storage.root}: file group {slice_.file_id} has logs, which the native "
                "path does not apply; read it with --reader auto, or ask for --query "
                "read-optimized"
            )
        return self._options.path

    def _open_for_engine(
        self, columns: Sequence[str], condition: pc.Expression | None, read_log: ReadLog
    ) -> pa.RecordBatchReader:
        return self._reader(columns, self._both(condition), read_log)

    def _both(self, condition: pc.Expression | None) -> pc.Expression | None:
        """The scan's own condition and a further one."""
        if self._condition is None or condition is None:
            return self._condition if condition is None else condition
        return self._condition & condition

    def _reader(
        self,
        columns: Sequence[str],
        condition: pc.Expression | None,
        read_log: ReadLog = read_slice_log,
    ) -> pa.RecordBatchReader:
        schema = pa.schema([self._table_schema.field(name) for name in columns])
        batches = (batch for _, batch in self._numbered_batches(columns, condition, read_log))
        return pa.RecordBatchReader.from_batches(schema, batches)

    def _numbered_batches(
        self,
        columns: Sequence[str],
        condition: pc.Expression | None,
        read_log: ReadLog = read_slice_log,
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        threads = self._threads()
        tested = filter_columns(condition, self._table_schema)
        names = dict.fromkeys([*columns, *tested])
        wanted = Wanted(
            pa.schema([self._table_schema.field(name) for name in names]),
            columns,
            condition,
            tested,
            {},
            self._options.batch_rows or DEFAULT_BATCH_ROWS,
        )
        tasks = self._tasks(wanted, threads, read_log)
        for number, batch in run_tasks(tasks, threads):
            with self._lock:
                self._run.rows += batch.num_rows
            yield number, batch

    def _tasks(self, wanted: Wanted, threads: int, read_log: ReadLog) -> list[Task]:
        """What is to be done: a slice is one task, or several if it has more than its share."""
        partitions = self._partitions_of(wanted.condition)
        kept = [
            (slice_, path)
            for slice_, path in zip(self._slices, self._paths, strict=True)
            if slice_.partition in partitions
        ]
        whole_bytes = sum(slice_.base.size_bytes for slice_, _ in kept if slice_.base is not None)
        spare = len(kept) < threads
        tasks: list[Task] = []
        for slice_, path in kept:
            values = self._partitions.values(slice_.partition)
            known = {name: values[name] for name in wanted.schema.names if name in values}
            own = replace(wanted, known=known)
            own_bytes = 0 if slice_.base is None else slice_.base.size_bytes
            parts = max(1, math.ceil(own_bytes * threads / max(whole_bytes, 1)))
            if path == "native":
                assert slice_.base is not None  # a slice without logs has a base
                tasks += self._native(slice_.base, own, parts, spare)
            else:
                tasks += self._merging(slice_, path, own, parts, read_log)
        return tasks

    def _partitions_of(self, condition: pc.Expression | None) -> set[str]:
        """Partitions whose path does not rule out that rows meet the condition."""
        partitions = {slice_.partition for slice_ in self._slices}
        if condition is None or not self._config.partition_fields:
            return partitions
        return self._partitions.may_match(partitions, condition)

    def _native(self, base: BaseFile, wanted: Wanted, parts: int, spare: bool) -> list[Task]:
        """Tasks for a base file: one, or one for each run of row groups if it is cut in parts."""
        cuts: list[tuple[int, int] | None] = [None]
        if parts > 1:
            groups = open_slice_base(self._storage, base).num_row_groups
            parts = min(parts, groups)
            bounds = [groups * i // parts for i in range(parts + 1)] if parts > 1 else []
            cuts = list(itertools.pairwise(bounds)) or [None]

        def read(cut: tuple[int, int] | None) -> Iterator[pa.RecordBatch]:
            # A reader of its own for each task: pyarrow's may not be shared by threads.
            reader = open_slice_base(self._storage, base)
            groups = range(*cut) if cut else range(reader.num_row_groups)
            return native_rows(reader, wanted, groups, use_threads=spare and cut is None)

        return [functools.partial(read, cut) for cut in cuts]

    def _merging(
        self, slice_: FileSlice, path: str, wanted: Wanted, parts: int, read_log: ReadLog
    ) -> list[Task]:
        """Tasks for a slice that is merged: rows are tested after that, not before."""
        names = wanted.read(wanted.schema.names).names
        view = self.log_view(names)
        rows, warnings = wanted.batch_rows, self._run.warnings
        groups = self._groups_by_key(wanted)
        reads: list[Callable[[], Iterator[pa.RecordBatch]]]
        if path == "connector":
            reads = [functools.partial(connector_slice, slice_, view, names, rows, warnings)]
        elif parts == 1:
            reads = [
                functools.partial(
                    merge_slice, slice_, view, names, rows, warnings, read_log, groups
                )
            ]
        else:
            merge = SliceMerge(
                slice_, view, names, rows, warnings, read_log, threads=parts, row_groups=groups
            )
            reads = [functools.partial(merge.rows, i) for i in range(merge.n_stretches)]
        return [functools.partial(_tested, read, wanted) for read in reads]

    def _groups_by_key(self, wanted: Wanted) -> Callable[[FileReader], Sequence[int]] | None:
        """Which row groups of a merged slice can hold keys that the condition lets through.

        Values below the merge may be stale, but a record's key never changes. By position the rows
        of a base file must all be there, and records that fill gaps look for those they fill.
        """
        keys = {RECORD_KEY, *self._config.record_keys}.intersection(wanted.tested)
        condition, fills = wanted.condition, self._config.merge.fill_rule is not None
        if condition is None or not keys or fills or self._options.positions:
            return None
        schema = pa.schema([wanted.schema.field(name) for name in wanted.tested])
        return lambda reader: reader.row_groups_that_may_match(condition, schema, told=keys)

    def log_view(self, names: Sequence[str]) -> LogView:
        """What the logs must be read with: the columns `names`, and those that merging needs."""
        needed = [*self._config.record_keys, RECORD_KEY, IS_DELETED, OPERATION]
        if self._config.merge.mode == "event-time":
            columns = self._table_schema.names
            needed += [root_of(name, columns) for name in self._config.ordering_fields]
        if self._config.merge.delete_marker is not None:
            needed.append(self._config.merge.delete_marker.column)
        known = set(self._table_schema.names)
        wanted = dict.fromkeys([*names, *(name for name in needed if name in known)])
        return LogView(
            self._storage,
            self._config,
            self._timeline,
            pa.schema([self._table_schema.field(name) for name in wanted]),
            self._window,
            self._options.strict,
            self._run.allocator,
            self._held_bytes(),
            self._options.positions,
        )

    def _held_bytes(self) -> int | None:
        """A quarter of a slice's share of the memory; the rest is for keys, index and batches."""
        limit = self._options.memory_limit
        return None if limit is None else limit // (4 * self._threads())

    def _threads(self) -> int:
        threads = self._options.threads or len(os.sched_getaffinity(0))
        if threads < 1:
            raise UsageError(f"{threads} threads: at least one is needed")
        return threads


def _tested(
    read: Callable[[], Iterator[pa.RecordBatch]], wanted: Wanted
) -> Iterator[pa.RecordBatch]:
    """Merged rows that meet the condition; a value below the merge may be stale."""
    whole = (with_values(batch, wanted.schema, wanted.known) for batch in read())
    if wanted.condition is None:
        return whole
    stream = pa.RecordBatchReader.from_batches(wanted.schema, whole)
    return iter(apply_filter(stream, wanted.condition, wanted.columns))


def _bases_alone(slices: Sequence[FileSlice]) -> list[FileSlice]:
    """The read-optimised view: slices without a base file contribute nothing."""
    return [
        FileSlice(slice_.partition, slice_.file_id, slice_.instant, slice_.base)
        for slice_ in slices
        if slice_.base is not None
    ]
