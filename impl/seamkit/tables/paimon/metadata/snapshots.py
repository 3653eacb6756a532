"""Snapshots: which there are, which of them is meant, and what each says.

The hints `LATEST` and `EARLIEST` may be stale or missing, so the folder is listed instead. A hint
that is newer than all snapshots is never stale: a snapshot is lost.

A branch has schemas, snapshots and tags of its own over the manifests and files of one table.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from seambase.errors import InputError, RefusedError, UsageError
from seamkit.files.reader import check_names
from seamkit.files.storage import Storage, json_object
from seamkit.tables.paimon.metadata.schemas import field
from seamkit.tables.table import Moment, micros, parsed_moment, too_early

#: The branch whose schemas and snapshots lie in the table's own folder.
MAIN = "main"

_ADDRESS = re.compile(r"(?P<table>.+?)/+branch/+branch-(?P<name>[^/]+)/*")


def branch_address(path: str, branch: str | None) -> tuple[str, str]:
    """The table that an address means, and its branch.

    An address may be a branch's own, `TABLE/branch/branch-NAME`.
    """
    if branch is not None and (not isinstance(branch, str) or not branch or "/" in branch):
        raise UsageError(f"branch is {branch!r}: the name of a branch is meant")
    match = _ADDRESS.fullmatch(path)
    if match is None:
        return path, branch or MAIN
    if branch not in (None, match["name"]):
        raise UsageError(f"{path} is the branch {match['name']!r}, not {branch!r}")
    return match["table"], match["name"]


def branch_folder(table: Storage, branch: str) -> Storage:
    """Where the schemas, snapshots and tags of a branch lie."""
    if branch == MAIN:
        return table
    folder = f"branch/branch-{branch}"
    if not table.list(f"{folder}/schema"):
        known = ", ".join(branch_names(table)) or "none"
        raise UsageError(f"{table.root}: there is no branch {branch!r}; branches: {known}")
    return table.below(folder)


def branch_names(table: Storage) -> list[str]:
    """The branches of a table but the main one."""
    return sorted(s.name.removeprefix("branch-") for s in table.list("branch"))


_NEWEST_VERSION = 3
_HINT_DIGITS = 20
_NAME = re.compile(r"snapshot-(\d{1,19})")
_TAG = re.compile(r"tag-(.+)")
_HINT = "snapshot/LATEST"
#: Fields that may be missing; a snapshot without one of the others is refused.
_OPTIONAL = frozenset(
    (
        "version",
        "baseManifestListSize",
        "deltaManifestListSize",
        "changelogManifestList",
        "changelogManifestListSize",
        "indexManifest",
        "totalRecordCount",
    )
)
_KINDS = ("APPEND", "COMPACT", "OVERWRITE", "ANALYZE")


@dataclass(frozen=True)
class ManifestList:
    """A list of manifests, as a snapshot names it."""

    name: str  # of the file, below the folder of manifests
    size_bytes: int | None = None  # its length; None in snapshots of 0.9, which do not tell it


@dataclass(frozen=True)
class Snapshot:
    """One commit, and the table as it left it."""

    id: int  # its number; snapshots follow each other without gaps
    schema_id: int  # the schema that it was written with
    base_list: ManifestList  # manifest list of what was there before
    delta_list: ManifestList  # that of its own changes
    changelog_list: ManifestList | None  # that of its changelog files; None where it has none
    index_manifest: str | None  # the manifest of its index files, or None
    kind: str  # what it did: APPEND, COMPACT, OVERWRITE or ANALYZE
    time_millis: int  # when it was made, since 1970
    total_records: int | None  # rows of all live files, not merged; None where it is not stated
    where: str

    def is_after(self, moment: dt.datetime) -> bool:
        """Whether it was made after a moment."""
        return self.time_millis > micros(moment) // 1000


@dataclass(frozen=True)
class SnapshotFolder:
    """The snapshots and tags that can be read."""

    storage: Storage  # the folder of the table or of its branch
    paths: Mapping[int, str]  # file by number of the snapshot
    tags: Mapping[str, str]  # file by name of the tag
    hint: int | None  # the snapshot that is said to be the newest; None where nothing readable is

    @property
    def lost(self) -> str | None:
        """What is wrong where the newest snapshot is not there; None if nothing is."""
        if self.hint is None or self.hint <= max(self.paths, default=0):
            return None
        return f"it says that snapshot {self.hint} is the newest, which is not there"

    @property
    def hint_path(self) -> str:
        """The hint's file, for messages."""
        return self.storage.full(_HINT)

    @property
    def newest(self) -> int | None:
        """Number of the newest snapshot; None in a table without any."""
        return max(self.paths, default=None)

    def load(self, number: int) -> Snapshot:
        """A snapshot by its number."""
        if number not in self.paths:
            shown = f"{min(self.paths)} to {max(self.paths)}" if self.paths else "none"
            raise UsageError(
                f"{self.storage.root}: there is no snapshot {number}; there are {shown}"
            )
        snapshot = _snapshot(self.storage, self.paths[number])
        if snapshot.id != number:
            raise InputError(f"{snapshot.where}: its id is {snapshot.id}")
        return snapshot

    def tagged(self, name: str) -> Snapshot:
        """The snapshot of a tag, which may have expired since."""
        if name not in self.tags:
            raise UsageError(f"{self.storage.root}: there is no tag {name!r}")
        return _snapshot(self.storage, self.tags[name])

    def at(self, moment: dt.datetime) -> Snapshot:
        """The newest snapshot that was made at a moment or before it."""
        found = None
        low, high = 0, len(self.paths) - 1
        numbers = sorted(self.paths)
        while low <= high:
            middle = (low + high) // 2
            snapshot = self.load(numbers[middle])
            if snapshot.is_after(moment):
                high = middle - 1
            else:
                found, low = snapshot, middle + 1
        if found is None:
            first = self.load(numbers[0]) if numbers else None
            oldest = None if first is None else (first.id, first.time_millis)
            raise too_early(f"{self.storage.root}: no snapshot that is left", moment, oldest)
        return found


def list_snapshots(storage: Storage) -> SnapshotFolder:
    """List the snapshots and tags of a table."""
    paths = {
        int(match[1]): status.path
        for status in storage.list("snapshot")
        if status.size_bytes is not None and (match := _NAME.fullmatch(status.name))
    }
    tags = {
        match[1]: status.path
        for status in storage.list("tag")
        if status.size_bytes is not None and (match := _TAG.fullmatch(status.name))
    }
    numbers = sorted(paths)
    if numbers and numbers[-1] - numbers[0] + 1 != len(numbers):
        gap = next(n for n in range(numbers[0], numbers[-1]) if n not in paths)
        raise InputError(f"{storage.full('snapshot')}: snapshot {gap} is missing between others")
    return SnapshotFolder(storage, paths, tags, _hint(storage))


def _hint(storage: Storage) -> int | None:
    if not storage.exists(_HINT):
        return None
    text = storage.read(_HINT).strip()
    return int(text) if text.isdigit() and len(text) < _HINT_DIGITS else None


def _snapshot(storage: Storage, path: str) -> Snapshot:
    where = storage.full(path)
    content = json_object(storage.read(path), where)
    check_names(content, _OPTIONAL, where, "field")
    version = field(content, "version", int, where, 1)
    if not 1 <= version <= _NEWEST_VERSION:
        raise RefusedError(f"{where}: version {version} of snapshots is not supported")
    kind = field(content, "commitKind", str, where)
    if kind not in _KINDS:
        raise RefusedError(f"{where}: a commit of the unknown kind {kind!r}")
    changelog = field(content, "changelogManifestList", str, where, None)
    return Snapshot(
        id=field(content, "id", int, where),
        schema_id=field(content, "schemaId", int, where),
        base_list=_list(content, "baseManifestList", where),
        delta_list=_list(content, "deltaManifestList", where),
        changelog_list=None
        if changelog is None
        else _list(content, "changelogManifestList", where),
        index_manifest=field(content, "indexManifest", str, where, None),
        kind=kind,
        time_millis=field(content, "timeMillis", int, where),
        total_records=field(content, "totalRecordCount", int, where, None),
        where=where,
    )


def _list(content: Mapping[str, Any], name: str, where: str) -> ManifestList:
    return ManifestList(
        field(content, name, str, where), field(content, f"{name}Size", int, where, None)
    )


Point = Moment
"""A snapshot's number, a tag's name, or a time."""

ChangeMode = Literal["auto", "delta", "changelog", "diff"]
"""Where changes are taken from: the files that commits added, changelog files, or a comparison."""


@dataclass(frozen=True)
class Window:
    """The bounds of a query of changes."""

    # the snapshot before the first that counts; None for the beginning of the table
    begin: Snapshot | None
    end: Snapshot | None  # the last one that counts; None where nothing was written up to then
    tags: bool  # whether both bounds are tags

    def snapshots(self, folder: SnapshotFolder) -> list[Snapshot]:
        """The snapshots that count, the oldest first."""
        first = 1 if self.begin is None else self.begin.id + 1
        last = 0 if self.end is None else self.end.id
        return [folder.load(number) for number in range(first, last + 1)]


def snapshot_at(folder: SnapshotFolder, point: Point, word: str) -> Snapshot:
    """The snapshot that a number, a tag or a time means."""
    if isinstance(point, str) and point in folder.tags:
        return folder.tagged(point)
    moment = _parsed(folder, point, word)
    return folder.load(moment) if isinstance(moment, int) else folder.at(moment)


def _parsed(folder: SnapshotFolder, point: Point, word: str) -> int | dt.datetime:
    known = ", ".join(sorted(folder.tags)) or "none"
    return parsed_moment(point, word, f"a snapshot, a time or a tag (tags: {known})")


def window(folder: SnapshotFolder, begin: Point | None, end: Point | None) -> Window:
    """Bounds of a query of changes; 0 and a time before the first snapshot mean the beginning."""
    tags = all(isinstance(point, str) and point in folder.tags for point in (begin, end))
    if end is None:
        last = None if folder.newest is None else folder.load(folder.newest)
    else:
        last = _bound(folder, end, "end")
    first = None if begin is None else _bound(folder, begin, "begin")
    if first is not None and (last is None or last.id < first.id):
        raise UsageError(f"{folder.storage.root}: the end lies before the begin {begin!r}")
    return Window(first, last, tags)


def _bound(folder: SnapshotFolder, point: Point, word: str) -> Snapshot | None:
    """The snapshot of a bound; None for the time before there was any."""
    is_tag = isinstance(point, str) and point in folder.tags
    moment = None if is_tag else _parsed(folder, point, word)
    if moment == 0:
        return None
    if isinstance(moment, dt.datetime):
        oldest = min(folder.paths, default=None)
        if oldest is None or (oldest == 1 and folder.load(1).is_after(moment)):
            return None
    return snapshot_at(folder, point, word)
