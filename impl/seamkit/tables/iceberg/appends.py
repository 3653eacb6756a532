"""What was appended between two snapshots (`query="incremental"`).

The line of parents is followed from the end back to the begin. Of the snapshots on it those count
whose operation is `append`; each gives the files that it added, as they were added: no delete is
applied. Compactions add nothing; what overwrites and deletes did is no append and is left out, as
Spark leaves it out, which the plan notes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from seambase.errors import UsageError
from seamkit.tables.iceberg.metadata.document import Snapshot, TableMetadata
from seamkit.tables.iceberg.metadata.doubts import doubts_of_manifest
from seamkit.tables.iceberg.metadata.location import TableFiles
from seamkit.tables.iceberg.metadata.manifests import DATA, Entry, read_entries, read_list

__all__ = ["Window", "appended_files", "line_between", "snapshots_between"]

_ADDS_NOTHING = ("append", "replace")


@dataclass(frozen=True)
class Window:
    """Snapshots of a line of parents.

    Attributes:
        appends: those that appended, oldest first.
        notes: the others that changed rows, in words.
    """

    appends: list[Snapshot]
    notes: list[str]


def snapshots_between(
    metadata: TableMetadata, begin: Snapshot | None, end: Snapshot | None
) -> Window:
    """The snapshots after one and up to another that appended; see `line_between`."""
    line = line_between(metadata, begin, end)
    notes = [
        f"left out: {one.operation or 'unknown operation'} of snapshot {one.id}, no append"
        for one in line
        if one.operation not in _ADDS_NOTHING
    ]
    return Window([one for one in line if one.operation == "append"], notes)


def line_between(
    metadata: TableMetadata, begin: Snapshot | None, end: Snapshot | None
) -> list[Snapshot]:
    """The snapshots after one and up to another, oldest first, each the parent of the next.

    Args:
        metadata: of the table.
        begin: not among them; None for the beginning of the table.
        end: the last of them; None for a table without one.

    Raises:
        UsageError: the line from the end does not lead to the begin.
    """
    line = []
    for snapshot in _ancestors(metadata, end):
        if begin is not None and snapshot.id == begin.id:
            break
        line.append(snapshot)
    else:
        _check_whole(metadata, begin, line)
    line.reverse()
    return line


def _check_whole(metadata: TableMetadata, begin: Snapshot | None, line: list[Snapshot]) -> None:
    """Refuse a line that ended before what was asked for."""
    if begin is not None:
        raise UsageError(
            f"{metadata.where}: snapshot {begin.id} is no ancestor of the snapshot at which the "
            "read ends"
        )
    if line and line[-1].parent_id is not None:
        raise UsageError(
            f"{metadata.where}: the snapshots before {line[-1].id} are gone, so what they changed "
            "is not known: name a begin"
        )


def _ancestors(metadata: TableMetadata, snapshot: Snapshot | None) -> Iterator[Snapshot]:
    """A snapshot and those before it, as far as they are known."""
    seen: set[int] = set()
    while snapshot is not None and snapshot.id not in seen:
        seen.add(snapshot.id)
        yield snapshot
        snapshot = metadata.snapshots.get(-1 if snapshot.parent_id is None else snapshot.parent_id)


def appended_files(
    files: TableFiles, appends: list[Snapshot], metadata: TableMetadata
) -> tuple[list[Entry], list[str]]:
    """The data files that some snapshots appended, oldest first, and what is doubted of them.

    Raises:
        InputError: a manifest is missing or broken.
        RefusedError: a kind of file that is not supported.
    """
    found: list[Entry] = []
    doubts: list[str] = []
    for snapshot in appends:
        for manifest in read_list(files, snapshot, metadata):
            if manifest.snapshot_id not in (None, snapshot.id) or manifest.is_deletes:
                continue
            entries = read_entries(files, manifest, metadata)
            doubts += doubts_of_manifest(manifest, entries, metadata)
            found += [
                entry
                for entry in entries
                if entry.content == DATA and entry.is_new and entry.added_by == snapshot.id
            ]
    return found, doubts
