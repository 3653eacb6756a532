"""The folder `_delta_log`: which files it holds, and which of them a version is made from.

Names are taken by their exact patterns, everything else is left alone. `_last_checkpoint` is a hint
that may be stale, so the folder is listed instead.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from seambase.errors import InputError, SeambenchError, UsageError
from seamkit.files.storage import FileStatus, Storage

LOG = "_delta_log"
_COMMIT = re.compile(r"(\d{20})\.json")
_COMPACTED = re.compile(r"(\d{20})\.(\d{20})\.compacted\.json")
_CHECKSUM = re.compile(r"(\d{20})\.crc")
_CLASSIC = re.compile(r"(\d{20})\.checkpoint\.parquet")
_PART = re.compile(r"(\d{20})\.checkpoint\.(\d{10})\.(\d{10})\.parquet")
_STAGED = re.compile(r"(\d{20})\.[0-9a-fA-F-]{36}\.json")
WAITING = f"{LOG}/_commits"
"""Where the commits of a coordinator lie before it publishes them."""
_V2 = re.compile(r"(\d{20})\.checkpoint\.[0-9a-fA-F-]{36}\.(json|parquet)")


@dataclass(frozen=True)
class Checkpoint:
    """The whole state of a version in files of its own."""

    version: int
    paths: Sequence[str]  # its files below the table: one, or all parts in order


@dataclass(frozen=True)
class Segment:
    """What a version is replayed from."""

    version: int
    checkpoint: Checkpoint | None  # where to start, or None to start with commit 0
    # paths of what came after it, oldest first: commits, and log compactions in place of such as
    # are gone
    commits: Sequence[str]
    compacted: Collection[str]  # which of these are log compactions

    @property
    def checkpoint_paths(self) -> Sequence[str]:
        """Files of the checkpoint, without its sidecars; none if there is no checkpoint."""
        return () if self.checkpoint is None else self.checkpoint.paths

    @property
    def paths(self) -> Sequence[str]:
        """The files of the checkpoint, and those of the commits, oldest first."""
        return [*self.checkpoint_paths, *self.commits]


@dataclass(frozen=True)
class LogFolder:
    """The files of a log."""

    storage: Storage
    commits: Mapping[int, str]  # path by version
    checkpoints: Sequence[Checkpoint]  # complete ones, oldest first
    checksums: Mapping[int, str]  # path by version
    # by the first version that each puts together, its last one and its path
    compactions: Mapping[int, Sequence[tuple[int, str]]]
    # the newest version as the table's catalog tells it; None without a catalog
    ratified: int | None = None

    @property
    def root(self) -> str:
        """The table, for messages."""
        return self.storage.root

    @property
    def newest(self) -> int:
        """The newest version, which a log compaction may be the last to tell."""
        if self.ratified is not None:
            return self.ratified
        compacted = (last for own in self.compactions.values() for last, _ in own)
        return max([*self.commits, *(c.version for c in self.checkpoints), *compacted])

    def last_waiting(self) -> int:
        """The newest version of which a coordinator has been asked for a commit; -1 without one."""
        found = map(_STAGED.fullmatch, (entry.name for entry in self.storage.list(WAITING)))
        return max((int(match[1]) for match in found if match), default=-1)

    def readable(self) -> Iterator[int]:
        """The versions that can still be made, the newest first."""
        known = {*self.commits, *(one.version for one in self.checkpoints), self.newest}
        for version in sorted(known, reverse=True):
            try:
                self.segment(version)
            except SeambenchError:
                continue
            yield version

    def segment(self, version: int | None = None) -> Segment:
        """The files that a version, or the newest, is made from.

        A log compaction counts where not all of its commits are there: Delta's writers left
        removals out that have no time (before delta#4894) or an old one (Kernel).
        """
        requested, version = version, self.newest if version is None else version
        if not 0 <= version <= self.newest:
            raise UsageError(f"{self.root}: there is no version {version}; {self.newest} is newest")
        usable = [c for c in self.checkpoints if c.version <= version]
        start = usable[-1] if usable else None
        number, paths = 0 if start is None else start.version + 1, []
        compacted: set[str] = set()
        while number <= version:
            fitting = [
                (last, path)
                for last, path in self.compactions.get(number, ())
                if last <= version and any(n not in self.commits for n in range(number, last + 1))
            ]
            if not fitting and number not in self.commits:
                self._raise_missing(number, version, cleaned=requested is not None and not usable)
            last, path = max(fitting) if fitting else (number, self.commits[number])
            paths.append(path)
            if fitting:
                compacted.add(path)
            number = last + 1
        return Segment(version, start, paths, compacted)

    def _raise_missing(self, number: int, version: int, *, cleaned: bool) -> None:
        if cleaned and self.checkpoints:
            oldest = self.checkpoints[0].version
            raise UsageError(
                f"{self.root}: version {version} cannot be read any more: the oldest checkpoint is "
                f"of version {oldest}, and the commit of version {number} is gone"
            )
        raise InputError(
            f"{self.root}/{LOG}: the commit of version {number} is missing, so version {version} "
            "cannot be read"
        )


def list_log(
    storage: Storage, staged: Sequence[str] = (), ratified: int | None = None
) -> LogFolder:
    """List the log of a table.

    `staged` are commits that the table's catalog has ratified and nobody has published yet: names
    of files in `_delta_log/_staged_commits`. `ratified` is the newest version, as the catalog tells
    it.
    """
    commits: dict[int, str] = {}
    checksums: dict[int, str] = {}
    compactions: list[tuple[int, int, str]] = []
    files = storage.list(LOG)
    for status in files:
        if match := _COMMIT.fullmatch(status.name):
            commits[int(match[1])] = status.path
        elif match := _COMPACTED.fullmatch(status.name):
            if status.size_bytes:  # else its writer has died, or is at work
                compactions.append((int(match[1]), int(match[2]), status.path))
        elif match := _CHECKSUM.fullmatch(status.name):
            checksums[int(match[1])] = status.path
    # What the catalog says counts, also where another file of that version has been published.
    commits |= _staged_paths(storage.root, staged, ratified)
    if ratified is not None:
        commits = {version: path for version, path in commits.items() if version <= ratified}
    checkpoints = _checkpoints(files)
    if not commits and not checkpoints:
        raise InputError(f"{storage.root} is no Delta table: {LOG} holds no commit")
    first = _by_first_version(compactions)
    return LogFolder(storage, commits, checkpoints, checksums, first, ratified)


def _checkpoints(files: Sequence[FileStatus]) -> Sequence[Checkpoint]:
    """Those of a log's files, oldest first."""
    # One without a byte, or of which a part is not there, counts as absent: its writer has died, or
    # is at work.
    found: dict[int, list[str]] = {}
    parts: dict[tuple[int, int], dict[int, str]] = {}
    for file in files:
        if not file.size_bytes:
            continue
        if match := _CLASSIC.fullmatch(file.name) or _V2.fullmatch(file.name):
            found[int(match[1])] = [file.path]
        elif match := _PART.fullmatch(file.name):
            parts.setdefault((int(match[1]), int(match[3])), {})[int(match[2])] = file.path
    for (version, count), paths in parts.items():
        if set(paths) == set(range(1, count + 1)):
            found.setdefault(version, [paths[n] for n in sorted(paths)])
    return [Checkpoint(version, paths) for version, paths in sorted(found.items())]


def _staged_paths(root: str, names: Sequence[str], ratified: int | None) -> Mapping[int, str]:
    found = {}
    for name in names:
        match = _STAGED.fullmatch(name)
        if match is None or ratified is None:
            raise UsageError(
                f"{root}: {name!r} is no staged commit of a version that the catalog has ratified: "
                "names like 00000000000000000007.<uuid>.json are meant, and version=..."
            )
        found[int(match[1])] = f"{LOG}/_staged_commits/{name}"
    return found


def _by_first_version(
    compactions: Sequence[tuple[int, int, str]],
) -> Mapping[int, Sequence[tuple[int, str]]]:
    """Log compactions by their first version; those that put nothing together are none."""
    found: dict[int, list[tuple[int, str]]] = {}
    for first, last, path in compactions:
        if first < last:
            found.setdefault(first, []).append((last, path))
    return found
