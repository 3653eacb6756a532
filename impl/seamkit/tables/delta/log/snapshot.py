"""A version of a table: its newest protocol and metadata, and the data files that are live."""

from __future__ import annotations

import itertools
import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from seambase.errors import InputError, RefusedError
from seambase.scan import ScanWarning
from seambase.wording import counted
from seamkit.core.tasks import gc_paused
from seamkit.files.file_cache import KEPT
from seamkit.files.storage import Storage
from seamkit.tables.delta.log.actions import (
    ACTIONS,
    FileKey,
    Metadata,
    Protocol,
    add_file,
    check_protocol,
    metadata,
    path_of,
    protocol,
    removed_key,
)
from seamkit.tables.delta.log.adds import AddedFiles
from seamkit.tables.delta.log.checkpoint import Action, checkpoint_actions, json_actions
from seamkit.tables.delta.log.folder import LOG, WAITING, Checkpoint, LogFolder, Segment
from seamkit.tables.delta.log.history import History, first_stated


@dataclass(frozen=True)
class Snapshot:
    """One version of a table."""

    version: int
    protocol: Protocol  # what it asks of readers; checked
    metadata: Metadata  # schema, partitioning, properties
    files: AddedFiles  # live logical files, by path
    # where the log contradicts itself and no row is known to be lost by it
    warnings: Sequence[ScanWarning] = ()
    # since 1970, the time that the newest commit with one states; None if none does
    millis: int | None = None


@dataclass
class _Replay:
    """Actions from the newest to the oldest: the first one about anything counts.

    `unmatched` has the paths that were removed and that no commit has been seen to add, and where.
    """

    decided: set[FileKey] = field(default_factory=set)
    history: History = field(default_factory=History)
    live: AddedFiles = field(default_factory=AddedFiles)
    protocol: Protocol | None = None
    metadata: Metadata | None = None
    unmatched: dict[str, str] = field(default_factory=dict)

    def take(self, adds: AddedFiles, removed: Mapping[FileKey, str]) -> None:
        """The file actions of one commit, or of the checkpoint.

        Where one commit removes and adds the same logical file, it is there, whatever the order of
        its lines. Of lines that add the same one the last counts.
        """
        added = set(adds.keys)
        fresh = adds
        if len(added) < len(adds) or not added.isdisjoint(self.decided):
            last = dict(zip(adds.keys, range(len(adds)), strict=True))
            fresh = adds.take([at for key, at in last.items() if key not in self.decided])
        if self.unmatched or removed:
            self._match(adds.keys, removed)
        self.live.extend(fresh)
        self.decided.update(removed, added)

    def _match(self, added: Iterable[FileKey], removed: Mapping[FileKey, str]) -> None:
        """Match files with removals of their paths by later commits, which may miss them."""
        # A file that is removed by another deletion vector than it has stays: Trino's OPTIMIZE
        # names none, so that its rows are there twice.
        gone = {path_of(key): where for key, where in removed.items()}
        for key in added:
            path = path_of(key)
            gone.pop(path, None)
            where = self.unmatched.pop(path, None)
            if where is not None and key not in self.decided:
                reason = f"it removes {path} by another deletion vector than the file has"
                self.history.warnings.append(ScanWarning(where, -1, reason))
        self.unmatched.update(gone)

    def take_others(
        self, actions: Mapping[str, Sequence[tuple[Mapping[str, Any], str]]], adds: int
    ) -> None:
        """What one commit, or the checkpoint, says of the table and of itself.

        Metadata that a newer one has replaced is not parsed: it may say what no reader knows.
        """
        for what in ("protocol", "metaData"):
            count = len(actions.get(what, ()))
            if count > 1:
                where = actions[what][-1][1]
                raise InputError(
                    f"{where}: the file has {counted(count, 'action')} {what}, one is legal"
                )
        if "protocol" in actions:
            own = protocol(*actions["protocol"][0])
            self.protocol = self.protocol or own
        if "metaData" in actions and self.metadata is None:
            self.metadata = metadata(*actions["metaData"][0])
        if "commitInfo" in actions:
            self.history.take(*actions["commitInfo"][0], adds, len(actions.get("cdc", ())))

    def take_version(self, snapshot: Snapshot) -> None:
        """All that an earlier version came to; nothing can come before it."""
        self.take(snapshot.files, {})
        self.history.take_earlier(snapshot.version, snapshot.millis, snapshot.warnings)
        self.protocol = self.protocol or snapshot.protocol
        self.metadata = self.metadata or snapshot.metadata


@gc_paused()
def load_snapshot(folder: LogFolder, version: int | None = None) -> Snapshot:
    """Replay the listed log up to a version, or to the newest."""
    storage, segment = folder.storage, folder.segment(version)
    made_of = storage.identities(segment.paths)
    earlier = _earlier(storage, segment, made_of)
    if earlier is not None and earlier.made_of == made_of:
        current = earlier.snapshot
    else:
        sidecars = [] if earlier is None else list(earlier.sidecars)
        current = _replayed(storage, segment, earlier, sidecars)
        if made_of is not None and storage.identities(segment.paths) == made_of:
            _keep(
                storage, segment, _Version(made_of, sidecars, storage.identities(sidecars), current)
            )
    check_protocol(current.protocol, storage.root, ratified=folder.ratified is not None)
    if current.metadata.provider != "parquet":
        raise InputError(
            f"{storage.root}: the data files are {current.metadata.provider!r}, not 'parquet'"
        )
    if version is None:
        _check_newest(folder, current.metadata)
    doubts = _contradictions(folder, segment, current)
    return replace(current, warnings=[*current.warnings, *doubts])


@dataclass(frozen=True)
class _Version:
    """A version as it is kept."""

    made_of: Sequence[Hashable]  # identities of the checkpoint's files and of the commits, in order
    sidecars: Sequence[str]  # further files of the checkpoint
    # their identities; None, with which nothing agrees, if one has none
    sidecars_made_of: Sequence[Hashable] | None
    snapshot: Snapshot  # what came of them


_KIND = "version of a table of Delta"
_BYTES_A_FILE = 1000  # of memory, about, without its statistics


def _earlier(
    storage: Storage, segment: Segment, made_of: Sequence[Hashable] | None
) -> _Version | None:
    """The newest version that was replayed before, of the same files as far as it goes."""
    first = len(segment.checkpoint_paths) or 1
    for last in range(len(segment.paths), first - 1, -1):
        known: _Version | None = KEPT.get((_KIND, storage.root, segment.paths[last - 1]))
        if known is not None and made_of is not None and known.made_of == made_of[:last]:
            sidecars = storage.identities(known.sidecars)
            return known if sidecars is not None and sidecars == known.sidecars_made_of else None
    return None


def _keep(storage: Storage, segment: Segment, version: _Version) -> None:
    files = version.snapshot.files
    taken = _BYTES_A_FILE * len(files) + sum(map(len, filter(None, files.stats)))
    KEPT.put((_KIND, storage.root, segment.paths[-1]), version, taken)


def _replayed(
    storage: Storage, segment: Segment, earlier: _Version | None, sidecars: list[str]
) -> Snapshot:
    """A version, made of commits on top of an earlier version or of the checkpoint."""
    replay = _Replay()
    done = 0 if earlier is None else len(earlier.made_of) - len(segment.checkpoint_paths)
    _take_commits(replay, storage, segment, done)
    unmatched = dict(replay.unmatched)
    if earlier is not None:
        replay.take_version(earlier.snapshot)
        if any(path in replay.unmatched for path in unmatched):
            # Which files have been there before that version, only what it is made of tells.
            return _replayed(storage, segment, None, sidecars)
    elif segment.checkpoint is not None:
        actions = checkpoint_actions(
            storage, segment.checkpoint, sidecars, removals=bool(unmatched)
        )
        adds = _take(replay, actions, once=True)
        _check_checkpoint(storage, segment.checkpoint, adds)
    # A checkpoint's own removals are of files that were there once, and a compaction of commits
    # keeps removals of files whose additions it drops.
    if segment.compacted:
        unmatched = {}
    unmatched = {p: where for p, where in unmatched.items() if replay.unmatched.get(p) == where}
    if replay.protocol is None or replay.metadata is None:
        what = "protocol" if replay.protocol is None else "metaData"
        raise InputError(f"{storage.root}/{LOG}: version {segment.version} has no {what}")
    if unmatched:
        replay.history.warnings.append(_never_added(unmatched))
    replay.history.check_times(first_stated(replay.protocol, replay.metadata.configuration))
    files = _in_order(replay.live, storage, segment)
    history = replay.history
    return Snapshot(
        segment.version, replay.protocol, replay.metadata, files, history.warnings, history.millis
    )


def _in_order(live: AddedFiles, storage: Storage, segment: Segment) -> AddedFiles:
    """The files of a version by their paths, each of which is there once."""
    paths = [key if isinstance(key, str) else path_of(key) for key in live.keys]
    order = sorted(range(len(paths)), key=paths.__getitem__)
    if len(set(paths)) < len(paths):
        for one, other in itertools.pairwise(order):
            if paths[one] == paths[other]:
                raise InputError(
                    f"{storage.root}/{LOG}: {live[one].path} is live twice in version "
                    f"{segment.version}, with different deletion vectors"
                )
    return live.take(order)


def _take_commits(replay: _Replay, storage: Storage, segment: Segment, done: int) -> None:
    """Take the commits but the first ones, from the newest on."""
    for path in reversed(segment.commits[done:]):
        actions = list(json_actions(storage, path))
        if actions and ACTIONS.isdisjoint(name for name, _, _ in actions):
            reason = f"none of its lines is an action that is known, such as {actions[0][0]!r}"
            replay.history.warnings.append(ScanWarning(storage.full(path), -1, reason))
        if path in segment.compacted:
            _check_reconciled(actions)
        _take(replay, actions)


def _never_added(unmatched: Mapping[str, str]) -> ScanWarning:
    """Of removed files that no commit adds: a line is lost, or the path is another's."""
    path, where = min(unmatched.items(), key=lambda item: item[1])
    more = f", nor {len(unmatched) - 1} more that the log removes" if len(unmatched) > 1 else ""
    return ScanWarning(where, -1, f"it removes {path}, which no commit up to it adds{more}")


def _take(replay: _Replay, actions: Iterable[Action], *, once: bool = False) -> int:
    """Take the actions of one commit, or of a checkpoint, and count the files that they add."""
    adds = AddedFiles()
    removed: dict[FileKey, str] = {}
    others: dict[str, list[tuple[Mapping[str, Any], str]]] = {}
    where = ""
    for name, content, where in actions:
        if name == "add" and isinstance(content, AddedFiles):
            adds.extend(content)
        elif name == "add":
            adds.append(add_file(content, where))
        elif name == "remove":
            removed[removed_key(content, where)] = where
        elif name in ("protocol", "metaData", "commitInfo", "cdc"):
            others.setdefault(name, []).append((content, where))
    if once and len(adds) > len(set(adds.keys)):
        raise InputError(f"{where}: the checkpoint adds a file twice")
    replay.take(adds, removed)
    replay.take_others(others, len(adds))
    return len(adds)


def _check_reconciled(actions: Iterable[Action]) -> None:
    """Refuse a log compaction with two actions of one file, of which none is known to be newer."""
    seen: set[FileKey] = set()
    for name, content, where in actions:
        keys: Sequence[FileKey] = ()
        if name == "add":
            many = isinstance(content, AddedFiles)
            keys = content.keys if many else [add_file(content, where).key]
        elif name == "remove":
            keys = [removed_key(content, where)]
        for key in keys:
            if key in seen:
                raise InputError(
                    f"{where}: the log compaction has a second action of {path_of(key)}, and not "
                    "all of its commits are there"
                )
            seen.add(key)


def _check_checkpoint(storage: Storage, checkpoint: Checkpoint, adds: int) -> None:
    """Hold the adds of a checkpoint to what `_last_checkpoint` says of that version."""
    # The file is a hint, and may be of another checkpoint or broken: then it says nothing.
    path = f"{LOG}/_last_checkpoint"
    try:
        hint = json.loads(storage.read_if_there(path) or b"{}")
        is_same = hint["version"] == checkpoint.version
        count = hint.get("numOfAddFiles")
    except (ValueError, RecursionError, AttributeError, TypeError, KeyError, InputError):
        return
    if is_same and isinstance(count, int) and count != adds:
        raise InputError(
            f"{storage.full(path)}: the checkpoint of version {checkpoint.version} adds {count} "
            f"files, and {adds} stand in it"
        )


def _check_newest(folder: LogFolder, metadata: Metadata) -> None:
    """Refuse to take a version for the newest whose successor is there but for its commit.

    It has a checksum file, or a coordinator of commits may know of it.
    """
    # Checksum files are written after their commits (PROTOCOL.md, "Version Checksum File"). Where a
    # catalog says which version is the newest, later ones may be there.
    if folder.ratified is not None:
        return
    _check_coordinated(folder, metadata)
    storage, last = folder.storage, max(folder.checksums, default=-1)
    if last <= folder.newest:
        return
    # A commit that was made during the listing may be missing in it.
    if not storage.exists(f"{LOG}/{last:020}.json"):
        raise InputError(
            f"{storage.full(folder.checksums[last])}: it is the checksum of version {last}, whose "
            f"commit is not there; as_of={folder.newest} reads the newest version that is"
        )


_COORDINATOR = "delta.coordinatedCommits.commitCoordinator"


def _check_coordinated(folder: LogFolder, metadata: Metadata) -> None:
    """Refuse to pass over commits that a coordinator may have taken and not published yet."""
    # They all lie in one folder, those that it has turned down among them; it alone knows which
    # are which (the RFC on coordinated commits, "Commit Files").
    named = map(metadata.configuration.get, (_COORDINATOR, f"{_COORDINATOR}-preview"))
    if not any(named):
        return
    last = folder.last_waiting()
    # Commits are published in order; one that was during the listing may be missing in it.
    if last > folder.newest and not folder.storage.exists(f"{LOG}/{last:020}.json"):
        raise RefusedError(
            f"{folder.root}: a coordinator keeps the table's commits, of which {WAITING} may have "
            f"some that are not published, up to version {last}: it alone knows; "
            f"as_of={folder.newest} reads the newest version that is published"
        )


def _contradictions(folder: LogFolder, segment: Segment, replayed: Snapshot) -> list[ScanWarning]:
    """What the checksum file of a version says otherwise of it than the log, if it has one."""
    path = folder.checksums.get(segment.version)
    if path is None:
        return []
    where = folder.storage.full(path)
    own = {"numFiles": len(replayed.files), "tableSizeBytes": sum(replayed.files.sizes)}
    numbers = {}
    try:
        checksum = json.loads(folder.storage.read(path))
        numbers = {name: int(checksum[name]) for name in own if checksum.get(name) is not None}
        problem = _difference(checksum, replayed, where)
    except (ValueError, ArithmeticError, RecursionError, AttributeError, TypeError, InputError):
        problem = "it is no checksum of a version, so nothing more is checked by it"
    for name, number in numbers.items():
        if number != own[name]:
            raise InputError(
                f"{where}: it says {name} {number}, the log adds up to {own[name]}: a commit of "
                f"version {segment.version} or before is not as it was written"
            )
    return [] if problem is None else [ScanWarning(where, -1, problem)]


def _difference(stored: Mapping[str, Any], replayed: Snapshot, where: str) -> str | None:
    """How a checksum's other fields differ from the version that was replayed, as one sentence."""
    if "protocol" in stored and protocol(stored["protocol"], where) != replayed.protocol:
        return "its protocol is not that of the log"
    if "metadata" in stored and metadata(stored["metadata"], where) != replayed.metadata:
        return "its metadata is not that of the log"
    if stored.get("allFiles") is not None:
        files = {path_of(add.key): add for add in (add_file(f, where) for f in stored["allFiles"])}
        for add, key in zip(replayed.files, replayed.files.keys, strict=True):
            other = files.get(path_of(key))
            # A checkpoint may have statistics in another form alone.
            if other is None or (other if add.stats else replace(other, stats=None)) != add:
                return f"it says something else of {add.path} than the log"
    return None
