"""A version of a table: its newest protocol and metadata, and the data files that are live."""

from __future__ import annotations

import itertools
import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from seambase.errors import InputError
from seambase.scan import ScanWarning
from seamkit.core.collector import collector_at_rest
from seamkit.files.kept import KEPT
from seamkit.files.storage import Storage
from seamkit.tables.delta.log.actions import (
    AddFile,
    FileKey,
    Metadata,
    Protocol,
    add_file,
    metadata,
    protocol,
    removed_key,
)
from seamkit.tables.delta.log.checkpoint import checkpoint_actions, json_actions
from seamkit.tables.delta.log.folder import LOG, LogFolder, Segment
from seamkit.tables.delta.log.protocol import check_protocol

__all__ = ["Snapshot", "load_snapshot"]


@dataclass(frozen=True)
class Snapshot:
    """One version of a table.

    Attributes:
        version: its number.
        protocol: what it asks of readers; checked.
        metadata: schema, partitioning, properties.
        files: live logical files, by path.
        warnings: where the log contradicts itself and no row is known to be lost by it.
    """

    version: int
    protocol: Protocol
    metadata: Metadata
    files: Sequence[AddFile]
    warnings: Sequence[ScanWarning] = ()


@dataclass
class _Replay:
    """Actions from the newest to the oldest: the first one about anything counts."""

    decided: set[FileKey] = field(default_factory=set)
    live: list[AddFile] = field(default_factory=list)
    protocol: Protocol | None = None
    metadata: Metadata | None = None

    def take(self, adds: Mapping[FileKey, AddFile], removed: set[FileKey]) -> None:
        """The file actions of one commit, or of the checkpoint.

        Where one commit removes and adds the same logical file, it is there, whatever the order of
        its lines.
        """
        self.live += [add for key, add in adds.items() if key not in self.decided]
        self.decided |= removed
        self.decided.update(adds)

    def take_version(self, snapshot: Snapshot) -> None:
        """All that an earlier version came to; nothing can come before it."""
        self.take({add.key: add for add in snapshot.files}, set())
        self.protocol = self.protocol or snapshot.protocol
        self.metadata = self.metadata or snapshot.metadata


@collector_at_rest()
def load_snapshot(storage: Storage, folder: LogFolder, version: int | None = None) -> Snapshot:
    """Replay the log up to a version.

    Args:
        storage: the table's folder.
        folder: its log, listed.
        version: which; None for the newest.

    Raises:
        UsageError: there is no such version, or it cannot be read any more.
        InputError: a file of the log is missing or broken, or the version contradicts itself.
        RefusedError: the table asks for what is not supported.
    """
    segment = folder.segment(version)
    made_of = storage.identities(segment.paths)
    earlier = _earlier(storage, segment, made_of)
    if earlier is not None and earlier.made_of == made_of:
        found = earlier.snapshot
    else:
        sidecars = [] if earlier is None else list(earlier.sidecars)
        found = _replayed(storage, segment, earlier, sidecars)
        if made_of is not None and storage.identities(segment.paths) == made_of:
            _keep(
                storage, segment, _Version(made_of, sidecars, storage.identities(sidecars), found)
            )
    return replace(found, warnings=_contradictions(storage, folder, segment, found))


@dataclass(frozen=True)
class _Version:
    """A version as it is kept.

    Attributes:
        made_of: identities of the checkpoint's files and of the commits, in order.
        sidecars: further files of the checkpoint.
        sidecars_made_of: their identities; None, with which nothing agrees, if one has none.
        snapshot: what came of them.
    """

    made_of: Sequence[Hashable]
    sidecars: Sequence[str]
    sidecars_made_of: Sequence[Hashable] | None
    snapshot: Snapshot


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
    taken = sum(_BYTES_A_FILE + len(file.stats or "") for file in files)
    KEPT.put((_KIND, storage.root, segment.paths[-1]), version, taken)


def _replayed(
    storage: Storage, segment: Segment, earlier: _Version | None, sidecars: list[str]
) -> Snapshot:
    """A version, made of commits on top of an earlier version or of the checkpoint.

    Args:
        storage: the table's folder.
        segment: the checkpoint and the commits.
        earlier: a version that some of these came to.
        sidecars: gets the further files of the checkpoint, if that is read.
    """
    replay = _Replay()
    done = 0 if earlier is None else len(earlier.made_of) - len(segment.checkpoint_paths)
    for path in reversed(segment.commits[done:]):
        _take(replay, json_actions(storage, path))
    if earlier is not None:
        replay.take_version(earlier.snapshot)
    elif segment.checkpoint is not None:
        _take(replay, checkpoint_actions(storage, segment.checkpoint, sidecars))
    if replay.protocol is None or replay.metadata is None:
        what = "protocol" if replay.protocol is None else "metaData"
        raise InputError(f"{storage.root}/{LOG}: version {segment.version} has no {what}")
    check_protocol(replay.protocol, storage.root)
    if replay.metadata.provider != "parquet":
        raise InputError(
            f"{storage.root}: the data files are {replay.metadata.provider!r}, not 'parquet'"
        )
    files = sorted(replay.live, key=lambda add: add.path)
    for one, other in itertools.pairwise(files):
        if one.path == other.path:
            raise InputError(
                f"{storage.root}/{LOG}: {one.path} is live twice in version {segment.version}, "
                "with different deletion vectors"
            )
    return Snapshot(segment.version, replay.protocol, replay.metadata, files)


def _take(replay: _Replay, actions: Iterable[tuple[str, Mapping[str, Any], str]]) -> None:
    adds: dict[FileKey, AddFile] = {}
    removed: set[FileKey] = set()
    protocols, metadatas = [], []
    where = ""
    for name, content, where in actions:
        if name == "add":
            add = add_file(content, where)
            adds[add.key] = add
        elif name == "remove":
            removed.add(removed_key(content, where))
        elif name == "protocol":
            protocols.append(protocol(content, where))
        elif name == "metaData":
            metadatas.append(metadata(content, where))
    replay.take(adds, removed)
    for found, what in ((protocols, "protocol"), (metadatas, "metaData")):
        if len(found) > 1:
            raise InputError(f"{where}: the file has {len(found)} actions {what}, one is legal")
    if protocols and replay.protocol is None:
        replay.protocol = protocols[0]
    if metadatas and replay.metadata is None:
        replay.metadata = metadatas[0]


def _contradictions(
    storage: Storage, folder: LogFolder, segment: Segment, found: Snapshot
) -> list[ScanWarning]:
    """What the checksum file of a version says otherwise, and checksums of commits that are gone.

    Checksum files are optional and written after the commit, by some writers wrongly: they refuse
    nothing, unless the read is strict.
    """
    warnings = []
    if segment.version == folder.newest:
        for version in sorted(v for v in folder.checksums if v > folder.newest):
            reason = f"it is the checksum of version {version}, whose commit is not there"
            warnings.append(ScanWarning(storage.full(folder.checksums[version]), -1, reason))
    path = folder.checksums.get(segment.version)
    if path is not None:
        where = storage.full(path)
        try:
            told = json.loads(storage.read(path))
            problem = _difference(told, found, where)
        except (ValueError, RecursionError, AttributeError, TypeError, InputError):
            problem = "it is no checksum of a version, so nothing is checked by it"
        if problem is not None:
            warnings.append(ScanWarning(where, -1, problem))
    return warnings


def _difference(told: Mapping[str, Any], found: Snapshot, where: str) -> str | None:
    """How a checksum differs from the version that was replayed, as one sentence."""
    size = sum(add.size_bytes for add in found.files)
    numbers = {"numFiles": len(found.files), "tableSizeBytes": size}
    for name, own in numbers.items():
        if name in told and told[name] != own:
            return f"it says {name} {told[name]}, the log adds up to {own}"
    if "protocol" in told and protocol(told["protocol"], where) != found.protocol:
        return "its protocol is not that of the log"
    if "metadata" in told and metadata(told["metadata"], where) != found.metadata:
        return "its metadata is not that of the log"
    if told.get("allFiles") is not None:
        files = {add.path: add for add in (add_file(f, where) for f in told["allFiles"])}
        for add in found.files:
            other = files.get(add.path)
            # A checkpoint may have statistics in another form alone.
            if other is None or (other if add.stats else replace(other, stats=None)) != add:
                return f"it says something else of {add.path} than the log"
    return None
