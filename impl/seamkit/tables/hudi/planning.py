"""Which file slices a read of a Hudi table meets, and they as read units of `seamkit.scan`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal

from seambase.description import StoredFile
from seambase.errors import InputError, RefusedError
from seambase.scan import ScanWarning
from seambase.wording import counted
from seamkit.files.file_cache import KEPT
from seamkit.files.storage import Storage
from seamkit.scan.units import DataFile, FileTest, ReadPlan, ReadUnit
from seamkit.tables.hudi.base_files import open_slice_base
from seamkit.tables.hudi.indexes.key_filters import bucket_units
from seamkit.tables.hudi.indexes.metadata import (
    BloomIndex,
    ColumnStats,
    known_bounds,
    known_ranges,
    may_hold_keys,
)
from seamkit.tables.hudi.listing.file_groups import FileGroups, GroupKey, list_slices
from seamkit.tables.hudi.listing.files import (
    TAKEN_UP,
    FileSlice,
    Listing,
    PartitionColumns,
    list_files,
    may_have_changed,
    unlisted,
)
from seamkit.tables.hudi.listing.metadata_table import (
    METADATA_FOLDER,
    ask_metadata_ahead,
    has_partition,
    list_from_metadata,
)
from seamkit.tables.hudi.merge.fold import SliceChanges
from seamkit.tables.hudi.merge.keys import LogSource
from seamkit.tables.hudi.timeline.instants import completed_as
from seamkit.tables.hudi.timeline.timeline import Timeline
from seamkit.tables.hudi.timeline.window import NOW, Window

_BYTES_A_NAME, _BYTES_A_SLICE = 400, 1500  # of memory, about

ListingSource = Literal["auto", "files", "metadata"]


@dataclass(frozen=True)
class Plan:
    """The slices of a read."""

    slices: list[FileSlice]  # in the order of partition and file id
    from_metadata: bool  # whether the metadata table, not folders, gave the names of the files
    warnings: Sequence[ScanWarning] = ()  # what went wrong on the way and was done otherwise
    # how many slices were left out because no row of theirs changed in the window
    unchanged: int = 0


class Planner:
    """Plans reads of a table; of those over the same writes the files are listed once.

    `listing` is `files`, `metadata`, or `auto`: the metadata table where the table has one and is
    not local, or may have files that Hudi did not write, and folders otherwise. A metadata table
    that turns out to be broken then becomes a warning, and folders are listed. `strict` asks the
    archive, too, for files that are missing or shorter than they were written, and refuses what is
    otherwise a warning: a write that says nothing, and a base file that is longer than it was
    written.
    """

    def __init__(
        self, storage: Storage, timeline: Timeline, listing: ListingSource, *, strict: bool = False
    ) -> None:
        if listing == "metadata" and not has_partition(timeline):
            root = storage.root
            raise RefusedError(f"{root}: the table has no metadata table that lists its files")
        self._storage = storage
        self._timeline = timeline
        self._listing = listing
        self._strict = strict
        # Folders do not tell of files that Hudi did not write, which lack meta columns.
        self._may_lack = timeline.config.virtual_keys and has_partition(timeline)
        far = not storage.is_local and has_partition(timeline)
        self._from_metadata = listing == "metadata" or (
            listing == "auto" and (far or self._may_lack)
        )
        self._files: Listing | None = None
        self._all: FileGroups | None = None
        self._warnings: list[ScanWarning] = []

    def ahead(self) -> None:
        """Let a table far away be asked at once for what a plan will read; see `Timeline.ahead`."""
        lists = not self._from_metadata and self._files is None
        self._timeline.ahead([""] if lists else [])
        if self._from_metadata and self._files is None:
            ask_metadata_ahead(self._storage)

    def plan(self, window: Window) -> Plan:
        """The latest slices, as a window shows them."""
        return self._planned(window, partial(self._slices, window))

    def _slices(self, window: Window, files: Listing) -> list[FileSlice]:
        """The latest slices, as they were for the same files and instants before."""
        timeline = self._timeline
        # What lies behind the active timeline is looked at only by those who ask for it.
        archived = self._strict or (self._may_lack and not self._from_metadata)
        identity = timeline.identity() if window == NOW and not archived else None
        if identity is None:
            return list_slices(files, timeline, window, archived=archived)
        key = "slices of a table of Hudi", self._storage.root
        known = KEPT.get(key)
        if known is not None and known[0] == identity and known[1] == files.partitions:
            return list(known[2])
        listed_slices = list_slices(files, timeline, window)
        if timeline.identity() == identity:
            listed = sum(map(len, files.partitions.values()))
            taken = _BYTES_A_NAME * listed + _BYTES_A_SLICE * len(listed_slices)
            KEPT.put(key, (identity, files.partitions, listed_slices), taken)
        return list(listed_slices)

    def plan_groups(self, window: Window, only: Collection[GroupKey]) -> Plan:
        """The latest slices of some groups; the files are grouped once, whatever the window."""

        def slices(files: Listing) -> list[FileSlice]:
            if self._all is None:
                self._all = FileGroups(
                    files, self._timeline, self._timeline.completed_writes(archived=True)
                )
            return self._all.slices(window, only)

        return self._planned(window, slices)

    def _planned(self, window: Window, slices: Callable[[Listing], list[FileSlice]]) -> Plan:
        try:
            all_ = slices(self._listed())
        except (InputError, RefusedError) as error:
            if not self._from_metadata or self._listing == "metadata":
                raise
            reason = f"folders were listed instead of the metadata table ({error})"
            self._warnings = [ScanWarning(self._storage.full(METADATA_FOLDER), -1, reason)]
            self._from_metadata, self._files, self._all = False, None, None
            all_ = slices(self._listed())
        damage = [*self._silent_writes, *_changed_bases(all_, self._timeline)]
        damage += _unfinished(self._timeline, window)
        if self._strict and damage:
            raise InputError(f"{damage[0].file}: {damage[0].reason}")
        changed = [slice_ for slice_ in all_ if may_have_changed(slice_, self._timeline, window)]
        return Plan(
            changed, self._from_metadata, [*self._warnings, *damage], len(all_) - len(changed)
        )

    @cached_property
    def _silent_writes(self) -> list[ScanWarning]:
        """Completed writes whose files are empty, so that files of theirs may be gone unnoticed."""
        # Hudi takes an empty file for a write that says nothing.
        reason = "the file of a completed write is empty; nothing tells what it wrote"
        return [
            ScanWarning(self._storage.full(instant.path), -1, f"{reason}, nor its schema")
            for instant, body in self._timeline.completed_writes(archived=False)
            if not body
        ]

    def _listed(self) -> Listing:
        if self._files is None and self._from_metadata:
            self._files = list_from_metadata(self._storage, self._timeline)
        elif self._files is None:
            self._files = list_files(self._storage)
            self._check_listed()
        return self._files

    def _check_listed(self) -> None:
        """Make sure that folders tell of all files; see `TAKEN_UP`."""
        if not self._may_lack:
            return
        try:
            known = list_from_metadata(self._storage, self._timeline).partitions
        except (InputError, RefusedError):
            return  # all writes are asked
        for status in (status for files in known.values() for status in files):
            if status.name.endswith(TAKEN_UP):
                raise unlisted(self._storage.full(status.path))


def _unfinished(timeline: Timeline, window: Window) -> Iterator[ScanWarning]:
    """The first write that a query goes beyond by its requested time, and that still runs."""
    # Once it has, the same query has its rows, or one that begins at its end has missed them. Hudi
    # refuses such queries (TimelineUtils, validateTimestampAsOf and handleHollowCommitIfNeeded).
    # Compactions and clusterings change no row.
    if window.up_to is None and window.after is None:
        return
    end = window.up_to or timeline.last_completed() or ""
    for instant in timeline.instants:
        requested, action = instant.requested, instant.action
        is_running = timeline.is_pending(requested) and completed_as(action) == action
        is_passed = requested <= end and window.hands_out(requested)
        if is_running and is_passed and not timeline.may_cluster(requested):
            reason = f"the write of {requested} is not completed, and will count once it is"
            yield ScanWarning(timeline.storage.full(instant.path), -1, reason)
            return


def _changed_bases(slices: Sequence[FileSlice], timeline: Timeline) -> Iterator[ScanWarning]:
    """Base files that are longer than they were written; nothing is ever added to one."""
    for base in (slice_.base for slice_ in slices):
        if base is not None and base.size_bytes > base.stated_bytes > 0:
            reason = (
                f"{counted(base.size_bytes, 'byte')}, but it was written with {base.stated_bytes}"
            )
            yield ScanWarning(timeline.storage.full(base.path), -1, reason)


Path = Literal["auto", "native", "merge"]
"""How slices are read: `auto` chooses for each, `native` reads base files alone and refuses logs
that it would have to apply, `merge` takes that path for every slice."""


def read_plan(
    plan: Plan, source: LogSource, path: Path, *, merge_logs: bool, buckets: int | None = None
) -> ReadPlan:
    """The units of a read, in the order of partition and file id.

    Without `merge_logs` (the read-optimised view) logs are left out, and slices without a base file
    contribute nothing. `buckets` is how many the simple bucket index is said to have.
    """
    slices = plan.slices if merge_logs else _bases_alone(plan.slices)
    taken_up = any(slice_.base is not None and slice_.base.is_taken_up for slice_ in slices)
    partitions = PartitionColumns(source.config, source.schema, taken_up=taken_up)
    doubts = list(plan.warnings)
    indexes = _Indexes.of(plan, source, doubts)
    units = [_unit(slice_, source, path, partitions, indexes) for slice_ in slices]
    if buckets is not None:
        numbered = bucket_units(source.storage, source.config, source.schema, slices, buckets)
        units = [replace(unit, bucket=own) for unit, own in zip(units, numbered, strict=True)]
    notes = []
    if plan.unchanged:
        notes.append(f"pruned     no change of the window in {counted(plan.unchanged, 'slice')}")
    listed_from = "the metadata table" if plan.from_metadata else "folders"
    heading = f"listed from {listed_from}"
    if indexes.names:
        heading += f", filters ask its {', '.join(indexes.names)}"
    table = source.storage.root
    return ReadPlan(table, source.schema, units, heading, notes, doubts)


def _unit(
    slice_: FileSlice,
    source: LogSource,
    path: Path,
    partitions: PartitionColumns,
    indexes: _Indexes,
) -> ReadUnit:
    full = source.storage.full
    if path == "native" and slice_.logs:
        raise RefusedError(
            f"{source.storage.root}: file group {slice_.file_id} has logs, which the native path "
            "does not apply; read it with --reader auto, or ask for --query read-optimized"
        )
    base, files, logs = slice_.base, [], slice_.logs
    told = partitions.values(slice_.partition)
    if base is not None and base.is_taken_up:
        fields = source.config.partition_fields
        needed = [name for name in fields if name in source.schema.names and name not in told]
        base = replace(base, needed=needed)
        slice_ = replace(slice_, base=base)
    bounds, ranges = indexes.columns, indexes.ranges
    known = _known_files(slice_) if bounds or ranges else []
    if base is not None:
        opened = partial(open_slice_base, source.storage, base, source.config.record_keys)
        files.append(DataFile(full(base.path), base.size_bytes, opened))
    return ReadUnit(
        name=base.path if base else "no base file",
        files=files,
        partition=told,
        changes=SliceChanges(slice_, source) if logs or path == "merge" else None,
        reason="logs" if logs else "no log to apply",
        changed_by=[StoredFile("log", full(log.path), log.size_bytes) for log in logs],
        group=slice_.partition,
        guarantee=partial(known_bounds, bounds, known) if bounds and known else None,
        ranges=partial(known_ranges, ranges, known) if ranges and known else None,
        file_test=indexes.file_test(slice_, source.config.record_keys),
    )


@dataclass(frozen=True)
class _Indexes:
    """Indexes of the metadata table that a plan's filters ask; None those that they do not.

    `ranges` are asked for statistics, whatever lists the files: it has none of unknown ones.
    """

    ranges: ColumnStats | None
    columns: ColumnStats | None
    keys: BloomIndex | None

    @classmethod
    def of(cls, plan: Plan, source: LogSource, doubts: list[ScanWarning]) -> _Indexes:
        """Those of a plan; what is wrong with them is put to its doubts once a filter asks."""
        table, schema = (source.storage, source.timeline), source.schema
        how: Any = {"strict": source.strict and plan.from_metadata, "_doubts": doubts}
        known = ColumnStats.is_there(source.timeline)
        ranges = ColumnStats(*table, schema, **how) if known else None
        return cls(
            ranges,
            ranges if plan.from_metadata else None,
            BloomIndex(*table, **how)
            if plan.from_metadata and BloomIndex.is_there(source.timeline)
            else None,
        )

    @property
    def names(self) -> list[str]:
        """What they are called."""
        indexes = {
            "column statistics": self.columns,
            "Bloom filters": self.keys,
        }
        return [name for name, index in indexes.items() if index is not None]

    def file_test(self, slice_: FileSlice, keys: Sequence[str]) -> FileTest | None:
        """What Bloom filters say of a slice's base file."""
        base = slice_.base
        if self.keys is None or base is None or base.external is not None or base.names is not None:
            return None
        return partial(may_hold_keys, self.keys, base.path.rpartition("/")[2], keys)


def _known_files(slice_: FileSlice) -> list[str]:
    """A slice's files as statistics name them, if all of these are the table's; else none."""
    paths = [log.path for log in slice_.logs]
    paths += [] if slice_.base is None else [slice_.base.path]
    return [] if _has_external(slice_) else [path.rpartition("/")[2] for path in paths]


def _has_external(slice_: FileSlice) -> bool:
    """Whether rows of a slice lie in a file outside the table."""
    return slice_.base is not None and slice_.base.external is not None


def _bases_alone(slices: list[FileSlice]) -> list[FileSlice]:
    return [
        FileSlice(slice_.partition, slice_.file_id, slice_.instant, slice_.base)
        for slice_ in slices
        if slice_.base is not None
    ]
