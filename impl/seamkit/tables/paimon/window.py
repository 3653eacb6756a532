"""Which snapshots a query of changes is about: those after one and up to another."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Literal

from seambase.errors import UsageError
from seamkit.tables.moments import Moment, parsed_moment
from seamkit.tables.paimon.metadata.snapshots import Snapshot, SnapshotFolder

__all__ = ["ChangeMode", "Point", "Window", "snapshot_at", "window"]

Point = Moment
"""A snapshot's number, a tag's name, or a time."""

ChangeMode = Literal["auto", "delta", "changelog", "diff"]
"""Where changes are taken from: the files that commits added, changelog files, or a comparison."""


@dataclass(frozen=True)
class Window:
    """The bounds of a query of changes.

    Attributes:
        begin: the snapshot before the first that counts; None for the beginning of the table.
        end: the last one that counts; None where nothing was written up to then.
        tags: whether both bounds are tags.
    """

    begin: Snapshot | None
    end: Snapshot | None
    tags: bool

    def snapshots(self, folder: SnapshotFolder) -> list[Snapshot]:
        """The snapshots that count, the oldest first.

        Raises:
            UsageError: one of them has expired.
        """
        first = 1 if self.begin is None else self.begin.id + 1
        last = 0 if self.end is None else self.end.id
        return [folder.load(number) for number in range(first, last + 1)]


def snapshot_at(folder: SnapshotFolder, point: Point, word: str) -> Snapshot:
    """The snapshot that a number, a tag or a time means.

    Args:
        folder: the snapshots and tags.
        point: what was given.
        word: the argument, for messages.

    Raises:
        UsageError: it means none.
        InputError: the snapshot is broken.
    """
    if isinstance(point, str) and point in folder.tags:
        return folder.tagged(point)
    moment = _parsed(folder, point, word)
    return folder.load(moment) if isinstance(moment, int) else folder.at(moment)


def _parsed(folder: SnapshotFolder, point: Point, word: str) -> int | dt.datetime:
    known = ", ".join(sorted(folder.tags)) or "none"
    return parsed_moment(point, word, f"a snapshot, a time or a tag (tags: {known})")


def window(folder: SnapshotFolder, begin: Point | None, end: Point | None) -> Window:
    """The bounds of a query of changes; 0 and a time before the first snapshot mean the beginning.

    Raises:
        UsageError: bounds that mean no snapshot, or an end before the begin.
        InputError: a snapshot is broken.
    """
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
