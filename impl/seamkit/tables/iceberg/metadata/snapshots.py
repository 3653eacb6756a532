"""Which snapshot is meant, and the schema that goes with it.

The current snapshot and branches are read with the current schema; tags, snapshots by id and by
time with the schema of the snapshot.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from seambase.errors import InputError, UsageError
from seamkit.tables.iceberg.metadata.document import Snapshot, TableMetadata
from seamkit.tables.iceberg.metadata.schema import Schema
from seamkit.tables.moments import Moment, micros, parsed_moment

__all__ = ["REFERENCE", "View", "chosen_view"]

REFERENCE = "ref:"
"""In front of the name of a branch or a tag that could be taken for a number or a time."""


@dataclass(frozen=True)
class View:
    """A snapshot, and the schema with which its rows are shown.

    Attributes:
        snapshot: None for a table without rows yet.
        schema: see above.
        name: what plans call it.
    """

    snapshot: Snapshot | None
    schema: Schema
    name: str


def chosen_view(metadata: TableMetadata, as_of: Moment | None) -> View:
    """The snapshot that a user means.

    Args:
        metadata: of the table.
        as_of: a snapshot id (a number, or a text of digits), the name of a branch or a tag (if need
            be with `REFERENCE` in front), or a time: ISO 8601 in UTC unless it says otherwise. None
            for the current snapshot.

    Raises:
        UsageError: there is none of that id, name or time.
        InputError: the metadata contradicts itself.
    """
    if as_of is None:
        current = metadata.current
        name = "no snapshot" if current is None else f"snapshot {current.id}"
        return View(current, metadata.schema(), name)
    if isinstance(as_of, str):
        if as_of.startswith(REFERENCE):
            return _by_name(metadata, as_of.removeprefix(REFERENCE))
        if as_of in metadata.references:
            return _by_name(metadata, as_of)
    known = ", ".join(sorted(metadata.references)) or "none"
    meant = f"a snapshot id, a time (2024-12-31T23:59:59.999Z), a branch or a tag (it has {known})"
    moment = parsed_moment(as_of, "as_of", meant)
    return _by_id(metadata, moment) if isinstance(moment, int) else _by_time(metadata, moment)


def _by_id(metadata: TableMetadata, number: int) -> View:
    if number not in metadata.snapshots:
        raise UsageError(f"{metadata.where}: there is no snapshot {number}")
    return _at(metadata, number, f"snapshot {number}")


def _by_name(metadata: TableMetadata, name: str) -> View:
    reference = metadata.references.get(name)
    if reference is None:
        known = ", ".join(sorted(metadata.references)) or "none"
        raise UsageError(f"{metadata.where}: there is no branch or tag {name!r}; it has {known}")
    if reference.kind not in ("branch", "tag"):
        raise InputError(f"{metadata.where}: {name!r} is a {reference.kind!r}, no branch or tag")
    found = _at(metadata, reference.snapshot_id, f"{reference.kind} {name}")
    return (
        View(found.snapshot, metadata.schema(), found.name) if reference.kind == "branch" else found
    )


def _by_time(metadata: TableMetadata, as_of: dt.datetime) -> View:
    millis = micros(as_of) // 1000
    found = [number for time, number in metadata.log if time <= millis]
    if not found:
        raise UsageError(f"{metadata.where}: no snapshot that is left is as old as {as_of}")
    return _at(metadata, found[-1], f"snapshot {found[-1]}, the current one at {as_of}")


def _at(metadata: TableMetadata, number: int, name: str) -> View:
    snapshot = metadata.snapshots.get(number)
    if snapshot is None:
        raise InputError(f"{metadata.where}: {name} is not among the snapshots")
    return View(snapshot, metadata.schema(snapshot.schema_id), name)
