"""File groups, from a plain listing and the timeline, and the slice that a window shows of each.

The rules are those of Hudi's file-system view (docs/hudi.md, "From files to slices").
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from seambase.errors import InputError, RefusedError
from seambase.wording import counted
from seamkit.tables.hudi.listing.files import (
    TAKEN_UP,
    BaseFile,
    FileSlice,
    Listing,
    LogFile,
    base_file,
    instant_in_name,
    is_native_log,
    log_file,
    unlisted,
)
from seamkit.tables.hudi.timeline.instants import Instant
from seamkit.tables.hudi.timeline.timeline import Timeline, Write, replaced_groups
from seamkit.tables.hudi.timeline.window import NOW, Window


class _Stated(NamedTuple):
    """What a completed write states of a file; 0 where it says nothing.

    `instant` is the one that must have completed for the file to count.
    """

    write: Instant
    path: str
    instant: str
    size_bytes: int
    rows: int
    is_log: bool


GroupKey = tuple[str, str]
"""Partition and file id."""


@dataclass(slots=True)
class _Group:
    """What is known of a group."""

    bases: list[BaseFile] = field(default_factory=list)  # its base files, of completed writes
    # its log files; from version 8 on of completed writes
    logs: list[LogFile] = field(default_factory=list)
    # what writes state of its files, the oldest first
    written: list[_Stated] = field(default_factory=list)
    pending: Sequence[str] = ()  # requested times of compactions that are scheduled and not done
    replaced: Sequence[str] = ()  # requested times of the writes that replaced it


def list_slices(
    listing: Listing, timeline: Timeline, window: Window = NOW, *, archived: bool = False
) -> list[FileSlice]:
    """The latest slice of every file group of the listing, as a window shows it.

    Slices come in the order of partition and file id. With `archived` the whole archive is asked,
    too, for files that must be there. What the table is now can be told without, as long as no file
    of an archived write is missing or was cut.
    """
    # What the table was may rest on files that only the archive knows; so may what it is, where a
    # savepoint keeps files that a write has replaced which is archived since.
    archived = archived or any(
        not window.sees(i.requested) or i.requested < timeline.start for i in timeline.writes()
    )
    writes = timeline.completed_writes(archived=archived)
    seen = [write for write in writes if window.sees(write[0].requested)]
    groups = FileGroups(listing, timeline, seen)
    if timeline.has_gap and not archived:
        return list_slices(listing, timeline, window, archived=True)
    return groups.slices(window)


class FileGroups:
    """The file groups of a table; any window may be asked for, over one listing.

    `writes` are the completed writes that any window sees, the oldest first.
    """

    def __init__(self, listing: Listing, timeline: Timeline, writes: Sequence[Write]) -> None:
        self._listing = listing
        self._timeline = timeline
        self._groups: dict[GroupKey, _Group] = defaultdict(_Group)
        self._named: dict[str, BaseFile | LogFile] = {}  # by path, also those that do not count
        self._columns: dict[str, Sequence[str]] = {}  # that a write states, by its instant
        self._add_listed()
        for instant in timeline.pending_compactions():
            for key in timeline.compaction_plan(instant):
                group = self._groups[key]
                group.pending = [*group.pending, instant.requested]
        for write in writes:
            self._add_written(*write)

    def slices(self, window: Window, only: Collection[GroupKey] | None = None) -> list[FileSlice]:
        """The latest slice of each group, or of some, as a window shows it, by partition and id."""
        keys = self._groups.keys() if only is None else self._groups.keys() & only
        slices = []
        for key in sorted(keys):
            group = self._groups[key]
            if group.replaced and any(map(window.sees, group.replaced)):
                continue
            stated = self._check_nothing_missing(group, window)
            slice_ = _latest_slice(key, group, self._timeline, window)
            if slice_ is not None:
                self._check_begin(slice_, group)
                base = slice_.base
                named = None if stated is None else self._named.get(stated.path)
                if base is not None and stated is not None and named is base:
                    # Files that Hudi did not write may have columns that the table lacks.
                    own = () if base.is_taken_up else self._stated_columns(base.instant)
                    slice_.base = base.as_stated(stated.size_bytes, stated.rows, own)
                slices.append(slice_)
        return slices

    def _stated_columns(self, instant: str) -> Sequence[str]:
        if instant not in self._columns:
            columns = self._timeline.written_columns(instant) or frozenset()
            if columns:  # a commit's schema may lack those of the path
                columns |= {*self._timeline.config.partition_fields}
            self._columns[instant] = sorted(columns)
        return self._columns[instant]

    def _check_begin(self, slice_: FileSlice, group: _Group) -> None:
        """Logs alone, above base files: they wait for a compaction, which must be known."""
        # Up to version 6 it is the logs' names that say so; without its plan, which tells that it
        # is pending, the rows of the base file below would not count.
        if slice_.base is None and group.bases and not self._timeline.knows(slice_.instant):
            raise InputError(
                f"{self._timeline.storage.full(slice_.logs[0].path)}: its name says that it is for "
                f"the compaction of {slice_.instant}, which the timeline does not know"
            )

    def _add_listed(self) -> None:
        timeline = self._timeline
        by_name = timeline.config.timeline_layout == 1  # the name does not tell who wrote a log
        for partition, files in self._listing.partitions.items():
            for status in files:
                base = base_file(status, partition, timeline)
                log = log_file(status, partition) if base is None else None
                if (file := base or log) is not None:
                    self._named[status.path] = file
                if base is not None and timeline.is_committed(base.instant):
                    self._groups[partition, base.file_id].bases.append(base)
                elif log is not None and (
                    timeline.is_log_committed(log.instant)
                    or (by_name and not timeline.may_cluster(log.instant))
                ):
                    self._groups[partition, log.file_id].logs.append(log)
                elif file is None and is_native_log(status.name):
                    raise RefusedError(
                        f"{timeline.storage.full(status.path)}: log files in this format belong "
                        "to a newer table version and are not supported"
                    )
                if not timeline.instants and file is not None:
                    raise InputError(
                        f"{timeline.storage.full(timeline.config.timeline_folder)}: the timeline "
                        f"has no instants, but the table has files such as {status.path}"
                    )

    def _add_written(self, instant: Instant, body: dict[str, Any]) -> None:
        for key in replaced_groups(instant, body):
            group = self._groups[key]
            group.replaced = [*group.replaced, instant.requested]
        for partition, files in (body.get("partitionToWriteStats") or {}).items():
            if self._listing.covers(partition):
                for path, file_id, size_bytes, rows in files:
                    if path:
                        is_log, named = self._kind_of(instant, path)
                        # Of a clustering that is pending or undone nothing need be there.
                        if named == instant.requested or self._timeline.is_committed(named):
                            stated = _Stated(instant, path, named, size_bytes, rows, is_log)
                            self._groups[partition, file_id].written.append(stated)

    def _kind_of(self, instant: Instant, path: str) -> tuple[bool, str]:
        """Whether a write tells of a log, and the instant by which the file counts: its own."""
        # The name of a base file bears the instant that wrote it, and in time a log's, too. While
        # buckets are resized, a write puts its rows into the new ones as well, into logs that bear
        # the instant of the clustering: they count once that has completed (RFC 42, dual write).
        timeline, listed = self._timeline, self._named.get(path)
        if listed is not None:
            is_log, named = isinstance(listed, LogFile), listed.instant
        else:
            kind, named = instant_in_name(path) or ("", instant.requested)
            is_log = kind == "log"
        if named == instant.requested:
            return is_log, named
        if is_log and timeline.may_cluster(named):
            return True, named
        # Up to version 6 a log bears an earlier instant, its base file's; upgrades leave those be.
        of_any = timeline.config.timeline_layout == 1 or (
            named < instant.requested and timeline.is_committed(named)
        )
        if instant.path and not (is_log and of_any):
            raise InputError(
                f"{timeline.storage.full(instant.path)}: it tells of the file {path}, which is "
                f"that of {named}"
            )
        return is_log, instant.requested

    def _check_nothing_missing(self, group: _Group, window: Window) -> _Stated | None:
        """A listing cannot tell that a file is gone, or was cut between two blocks of a log."""
        # What was stated of the base file comes back; its rows are counted when it is opened.
        base, logs = _needed(group, window)
        for stated in logs if base is None else [*logs, base]:
            listed = self._named.get(stated.path)
            size_bytes = listed.size_bytes if listed else self._listing.size_bytes(stated.path)
            if size_bytes is not None and size_bytes >= stated.size_bytes:
                continue
            name = self._timeline.storage.full(stated.path)
            if size_bytes is None and stated.path.endswith(TAKEN_UP):
                raise unlisted(name)
            if size_bytes is None:
                raise InputError(
                    f"{name}: missing, but the timeline says that it holds rows of the table; ask "
                    "for a later instant if a cleaner removed it, else restore the file, or roll "
                    "its commit back with Hudi's own tools"
                )
            raise InputError(
                f"{name}: {counted(size_bytes, 'byte')}, but its "
                f"commit states {stated.size_bytes}; "
                "restore the file, or roll its commit back with Hudi's own tools"
            )
        return base


def _needed(group: _Group, window: Window) -> tuple[_Stated | None, list[_Stated]]:
    """The base file and the logs that must be there."""
    # What the cleaner removes is older than the newest base file of its group.
    base: _Stated | None = None
    begin, logs = "", []
    for stated in group.written:
        write = stated.write
        if not (window.sees(write.requested) and window.sees(stated.instant)):
            continue
        if stated.is_log:
            # From version 8 on a log belongs to the slice that had begun when it was completed.
            logs.append((write.completed or write.requested, stated))
        else:
            begin, base = write.requested, stated
    return base, [stated for since, stated in logs if since > begin]


def _slice_of(log: LogFile, starts: list[str], timeline: Timeline) -> str:
    """The start of the slice a log belongs to: by name (version 6), by completion time (8 up)."""
    # A downgrade leaves logs that bear the instant of their own write, at which no slice begins,
    # and layout 1 does not say when that completed.
    if timeline.config.timeline_layout == 1:
        completion = log.instant if timeline.is_committed(log.instant) else ""
    elif log.instant in starts:
        # Named before an upgrade, which made completion times of the dates of the timeline's files.
        completion = log.instant
    elif (known := timeline.completion(log.instant)) is not None:
        completion = known
    else:
        return starts[-1] if starts else log.instant
    at = bisect_right(starts, completion)
    return starts[at - 1] if at else log.instant


def _latest_slice(
    key: tuple[str, str], group: _Group, timeline: Timeline, window: Window
) -> FileSlice | None:
    """The slice that the window shows of a group, or None if it shows nothing of it."""
    slices = _slices_of(key, group, timeline, window)
    visible = [slices[s] for s in sorted(slices) if window.up_to is None or s <= window.up_to]
    if not visible:
        return None
    latest = visible.pop()
    if visible and latest.base is None:
        latest = _on_top(latest, visible, group, timeline, window)
    return latest if latest.base is not None or latest.logs else None


def _on_top(
    latest: FileSlice, visible: list[FileSlice], group: _Group, timeline: Timeline, window: Window
) -> FileSlice:
    """A slice that has no base file yet, with the slices below it that it goes on top of."""
    unseen = {base.instant for base in group.bases if not window.sees(base.instant)}
    unseen |= {instant.requested for instant in timeline.pending_compactions()}
    while visible and latest.base is None and latest.instant in unseen:
        # Only a compaction that is not done yet: its logs go on top of the slice before.
        before = visible.pop()
        key = before.partition, before.file_id
        latest = FileSlice(*key, before.instant, before.base, before.logs + latest.logs)
    return latest


def _slices_of(
    key: tuple[str, str], group: _Group, timeline: Timeline, window: Window
) -> dict[str, FileSlice]:
    """All slices of a group by where they begin, with the files that the window sees."""
    by_name = timeline.config.timeline_layout == 1
    slices = {
        start: FileSlice(*key, start)
        for start in {*group.pending, *[base.instant for base in group.bases]}
        if not window.alone or window.sees(start)
    }
    for base in group.bases:
        if window.sees(base.instant):
            slices[base.instant].base = _same_base(slices[base.instant].base, base, timeline)
    begun = sorted(slices)
    logs = group.logs
    writers = _log_writers(group, timeline) if window.is_incremental and not by_name else {}
    for log in sorted(logs, key=lambda one: one.order) if len(logs) > 1 else logs:
        if own := writers.get(log.path):
            log = replace(log, writers=own)
        if by_name or window.sees(log.instant) or any(map(window.sees, log.writers)):
            start = _slice_of(log, begun, timeline)
            if start not in slices:
                slices[start] = FileSlice(*key, start)
                begun = sorted(slices)
            slices[start].logs.append(log)
    return slices


def _log_writers(group: _Group, timeline: Timeline) -> dict[str, list[str]]:
    """The instants that wrote each log, by its path; dual writes do not count."""
    # What a clustering has replaced is gone before it is archived, so that one telling is left.
    writers: dict[str, list[str]] = defaultdict(list)
    for stated in group.written:
        own = stated.write.requested
        if stated.is_log and (stated.instant == own or stated.instant < timeline.start):
            writers[stated.path].append(own)
    return writers


def _same_base(known: BaseFile | None, base: BaseFile, timeline: Timeline) -> BaseFile:
    """Of two base files that tasks of one write left for a group, the one that the write names."""
    # Where nobody knows any more, it is the one with the greater write token.
    if known is None:
        return base
    named = timeline.written_paths(base.instant)
    return max(known, base, key=lambda file: (file.path in named, file.write_token))
