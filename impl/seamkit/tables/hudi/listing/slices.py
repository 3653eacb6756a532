"""File groups and file slices, from a plain listing and the timeline.

A slice is an optional base file and the logs that belong on top of it. The rules are those of
Hudi's file-system view (docs/hudi.md, "From files to slices").
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from seambase.errors import InputError, RefusedError
from seamkit.files.storage import FileStatus
from seamkit.tables.hudi.listing.listing import Listing
from seamkit.tables.hudi.timeline.schema_history import FileNames, file_names
from seamkit.tables.hudi.timeline.timeline import Instant, Timeline, Write, replaced_groups
from seamkit.tables.hudi.timeline.window import NOW, Window

__all__ = ["BaseFile", "FileSlice", "LogFile", "list_slices", "may_have_changed", "with_file_names"]

_BASE = re.compile(r"^([a-zA-Z0-9-]+)_([a-zA-Z0-9-]+)_([0-9]+)(\.[a-zA-Z0-9]+)$")
_LOG = re.compile(
    r"^\.([^._]+)_([^.]*)\.(?:log|archive)\.(\d{1,18})(?:_((\d+)-(\d+)-(\d+))(\.cdc)?)?$"
)
_NATIVE_LOG = re.compile(r"^[^.]+_.*\.(?:log|deletes|cdc)\.parquet$")


@dataclass(frozen=True)
class External:
    """A file outside the table that holds the columns which a skeleton lacks.

    Attributes:
        root: folder or address that it lies below.
        path: the file, below the root.
        values: what the names of its folders say of columns that it lacks; None is null.
    """

    root: str
    path: str
    values: Mapping[str, str | None]


@dataclass(frozen=True)
class BaseFile:
    """A base file: the rows of a file group at one instant.

    `external` is there for a skeleton of a bootstrapped table, which has the meta columns alone,
    `names` for a file from before columns were renamed, `told_bytes` where the timeline tells of
    another length than the listing.
    """

    path: str
    partition: str
    file_id: str
    write_token: str
    instant: str
    size_bytes: int
    external: External | None = None
    names: FileNames | None = None
    told_bytes: int | None = None


@dataclass(frozen=True)
class LogFile:
    """A log file. `instant` is the base's (version 6) or its own delta commit's (8 and up).

    `told_bytes` is there where the timeline tells of a longer file than the listing.
    """

    path: str
    partition: str
    file_id: str
    instant: str
    version: int
    write_token: str | None
    size_bytes: int
    told_bytes: int | None = None

    @property
    def order(self) -> tuple[str, int, bool, str]:
        """Scan order inside a slice: instant, numeric version, write token as text."""
        return (self.instant, self.version, self.write_token is not None, self.write_token or "")


@dataclass
class FileSlice:
    """What one task reads: `base` may be missing, `logs` may be empty, never both."""

    partition: str
    file_id: str
    instant: str
    base: BaseFile | None = None
    logs: list[LogFile] = field(default_factory=list)


@dataclass
class _Group:
    bases: list[BaseFile] = field(default_factory=list)
    logs: list[LogFile] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)


def list_slices(
    listing: Listing, timeline: Timeline, window: Window = NOW, *, archived: bool = False
) -> list[FileSlice]:
    """The latest slice of every file group of the listing, as a window shows it.

    Slices come in the order of partition and file id.

    Args:
        listing: the files.
        timeline: the table's instants.
        window: which of them are seen.
        archived: ask the whole archive, too, for files that must be there. What the table is now
            can be told without, as long as no file of an archived write is missing or was cut.

    Raises:
        RefusedError: a file of a newer format lies among the table's files.
        InputError: a file is missing that the timeline says belongs to a latest slice.
    """
    groups = _group_files(listing, timeline)
    # What the table was may rest on files that only the archive knows.
    archived = archived or not all(window.sees(i.requested) for i in timeline.writes())
    told = timeline.told(archived=archived)
    writes = [write for write in told if window.sees(write[0].requested)]
    replaced = {key for instant, body in writes for key in replaced_groups(instant, body)}
    others = _check_nothing_missing(listing, timeline, writes, replaced)
    for instant in timeline.pending_compactions():
        for key in timeline.compaction_plan(instant):
            groups[key].pending.append(instant.requested)
    slices = []
    for key in sorted(groups):
        if key not in replaced:
            found = _latest_slice(key, groups[key], timeline, window)
            if found is not None:
                slices.append(found)
    for slice_ in slices if others else ():
        slice_.logs = [replace(log, told_bytes=others.get(log.path)) for log in slice_.logs]
        if slice_.base is not None and slice_.base.path in others:
            slice_.base = replace(slice_.base, told_bytes=others[slice_.base.path])
    return slices


def may_have_changed(slice_: FileSlice, timeline: Timeline, window: Window) -> bool:
    """Whether rows of an incremental query may lie in a slice.

    A row that an instant wrote lies in a file of that instant or of a later one.
    """
    if slice_.base is not None and window.hands_out(slice_.base.instant):
        return True
    by_name = timeline.config.timeline_layout == 1  # the name does not tell who wrote a log
    return any(by_name or window.hands_out(log.instant) for log in slice_.logs)


def _group_files(listing: Listing, timeline: Timeline) -> dict[tuple[str, str], _Group]:
    groups: dict[tuple[str, str], _Group] = defaultdict(_Group)
    by_name = timeline.config.timeline_layout == 1  # the name does not tell who wrote a log
    for partition, files in listing.partitions.items():
        for status in files:
            base, log = _base_file(status, partition, timeline), _log_file(status, partition)
            if base is not None and timeline.is_committed(base.instant):
                groups[partition, base.file_id].bases.append(base)
            elif log is not None and (by_name or timeline.is_committed(log.instant)):
                groups[partition, log.file_id].logs.append(log)
            elif base is None and log is None and _NATIVE_LOG.match(status.name):
                raise RefusedError(
                    f"{timeline.storage.full(status.path)}: log files in this format belong "
                    "to a newer table version and are not supported"
                )
            if not timeline.instants and (base or log):
                raise InputError(
                    f"{timeline.storage.full(timeline.config.timeline_folder)}: the timeline has "
                    f"no instants, but the table has files such as {status.path}"
                )
    return groups


def _check_nothing_missing(
    listing: Listing, timeline: Timeline, writes: Sequence[Write], replaced: set[tuple[str, str]]
) -> dict[str, int]:
    """A listing cannot tell that a file is gone, and its rows with it; the timeline can.

    What the cleaner removes is older than the newest base file of its group.

    Returns:
        What the timeline says of the length of log files that are shorter, as one that was cut
        between two blocks would seem to be whole, and of base files that are of another length.
    """
    newest_base: dict[tuple[str, str], tuple[str, str, int]] = {}
    logs: dict[tuple[str, str], list[tuple[str, str, int]]] = defaultdict(list)
    others: dict[str, int] = {}
    for instant, key, path, told_bytes in _written(listing, timeline, writes):
        if key in replaced:
            continue
        if _LOG.match(_name(path)):
            # From version 8 on a log belongs to the slice that had begun when it was completed.
            logs[key].append((instant.completed or instant.requested, path, told_bytes))
        else:
            newest_base[key] = (instant.requested, path, told_bytes)
    for key in newest_base.keys() | logs.keys():
        begin = newest_base[key][0] if key in newest_base else ""
        wanted = [log for log in logs[key] if log[0] > begin]
        for _, path, told_bytes in [*wanted, *([newest_base[key]] if begin else [])]:
            size_bytes = listing.size_bytes(path)
            if size_bytes is None:
                raise InputError(
                    f"{timeline.storage.full(path)}: missing, but the timeline says that it holds "
                    "rows of the table; ask for a later instant if a cleaner removed it, else "
                    "restore the file, or roll its commit back with Hudi's own tools"
                )
            if size_bytes < told_bytes or (
                size_bytes > told_bytes > 0 and _BASE.match(_name(path))
            ):
                others[path] = max(told_bytes, others.get(path, 0))
    return others


def _written(
    listing: Listing, timeline: Timeline, writes: Sequence[Write]
) -> Iterator[tuple[Instant, tuple[str, str], str, int]]:
    """Instant, group, path and length of each file that a write has told, the oldest first.

    Raises:
        InputError: a write tells of another's file.
    """
    for instant, body in writes:
        for partition, files in (body.get("partitionToWriteStats") or {}).items():
            if listing.covers(partition):
                for stat in files:
                    if stat.get("path"):
                        _check_own(instant, stat["path"], timeline)
                        key = partition, stat.get("fileId") or ""
                        told_bytes = stat.get("fileSizeInBytes") or 0
                        yield instant, key, stat["path"], told_bytes


def _check_own(instant: Instant, path: str, timeline: Timeline) -> None:
    """The name of a base file bears the instant that wrote it, and in time a log's, too."""
    name = _name(path)
    match, log = _BASE.match(name), _LOG.match(name)
    written = (
        match[3] if match else log[2] if log and timeline.config.timeline_layout == 2 else None
    )
    if written not in (None, instant.requested) and instant.path:
        raise InputError(
            f"{timeline.storage.full(instant.path)}: it tells of the file {path}, which is that of "
            f"{written}"
        )


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _base_file(status: FileStatus, partition: str, timeline: Timeline) -> BaseFile | None:
    match = _BASE.match(status.name)
    if match is None:
        return None
    assert status.size_bytes is not None  # folders were left out
    known = (".hfile",) if timeline.config.metadata_table else (".parquet", ".orc")
    if match[4] not in known:
        raise RefusedError(
            f"{timeline.storage.full(status.path)}: base files in {match[4][1:]} are not supported"
        )
    return BaseFile(status.path, partition, match[1], match[2], match[3], status.size_bytes)


def _log_file(status: FileStatus, partition: str) -> LogFile | None:
    """None for anything else, and for change logs (`.cdc`), which ordinary reads leave out."""
    match = _LOG.match(status.name)
    if match is None or match[8]:
        return None
    assert status.size_bytes is not None  # folders were left out
    return LogFile(
        status.path, partition, match[1], match[2], int(match[3]), match[4], status.size_bytes
    )


def _slice_of(log: LogFile, starts: list[str], timeline: Timeline) -> str:
    """The start of the slice a log belongs to: by name (version 6), by completion time (8 up)."""
    if timeline.config.timeline_layout == 1:
        return log.instant
    completion = timeline.completion(log.instant)
    if completion is None:
        return starts[-1] if starts else log.instant
    earlier = [start for start in starts if start <= completion]
    return earlier[-1] if earlier else log.instant


def _latest_slice(
    key: tuple[str, str], group: _Group, timeline: Timeline, window: Window
) -> FileSlice | None:
    """The slice that the window shows of a group, or None if it shows nothing of it."""
    slices = _slices_of(key, group, timeline, window)
    visible = [slices[s] for s in sorted(slices) if window.up_to is None or s <= window.up_to]
    if not visible:
        return None
    latest = visible.pop()
    unseen = {base.instant for base in group.bases if not window.sees(base.instant)}
    unseen |= {instant.requested for instant in timeline.pending_compactions()}
    while visible and latest.base is None and latest.instant in unseen:
        # Only a compaction that is not done yet: its logs go on top of the slice before.
        before = visible.pop()
        latest = FileSlice(*key, before.instant, before.base, before.logs + latest.logs)
    return latest if latest.base is not None or latest.logs else None


def _slices_of(
    key: tuple[str, str], group: _Group, timeline: Timeline, window: Window
) -> dict[str, FileSlice]:
    """All slices of a group by where they begin, with the files that the window sees."""
    by_name = timeline.config.timeline_layout == 1
    starts = {base.instant for base in group.bases} | set(group.pending)
    if window.alone:
        starts = {start for start in starts if window.sees(start)}
    slices = {start: FileSlice(*key, start) for start in starts}
    for base in group.bases:
        if window.sees(base.instant):
            slices[base.instant].base = _same_base(slices[base.instant].base, base, timeline)
    for log in sorted(group.logs, key=lambda entry: entry.order):
        if by_name or window.sees(log.instant):
            start = _slice_of(log, sorted(slices), timeline)
            slices.setdefault(start, FileSlice(*key, start)).logs.append(log)
    return slices


def _same_base(known: BaseFile | None, base: BaseFile, timeline: Timeline) -> BaseFile:
    """Of two base files that tasks of one write left for a group, the one that the write names.

    Where nobody knows any more, it is the one with the greater write token.
    """
    if known is None:
        return base
    named = timeline.written_paths(base.instant)
    return max(known, base, key=lambda file: (file.path in named, file.write_token))


def with_file_names(
    slices: Sequence[FileSlice], timeline: Timeline, window: Window
) -> list[FileSlice]:
    """The slices, with what their base files called the columns."""
    if timeline.schema_history is None:
        return list(slices)
    return [
        slice_
        if slice_.base is None
        else replace(
            slice_,
            base=replace(slice_.base, names=file_names(timeline, window, slice_.base.instant)),
        )
        for slice_ in slices
    ]
