"""Which slices a read meets, and where the names of their files come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from seambase.errors import InputError, RefusedError
from seambase.scan import ScanWarning
from seamkit.files.storage import Storage
from seamkit.tables.hudi.listing.listing import Listing, list_files
from seamkit.tables.hudi.listing.metadata_table import (
    METADATA_FOLDER,
    has_file_list,
    list_from_metadata,
)
from seamkit.tables.hudi.listing.slices import FileSlice, list_slices, may_have_changed
from seamkit.tables.hudi.timeline.timeline import Timeline
from seamkit.tables.hudi.timeline.window import Window

__all__ = ["ListingSource", "Plan", "plan_slices"]

ListingSource = Literal["auto", "files", "metadata"]


@dataclass(frozen=True)
class Plan:
    """The slices of a read.

    Attributes:
        slices: in the order of partition and file id.
        source: where the names of files came from: `folders` or `the metadata table`.
        warnings: what went wrong on the way and was done otherwise.
        unchanged: how many slices were left out because no row of theirs changed in the window.
    """

    slices: list[FileSlice]
    source: str
    warnings: Sequence[ScanWarning] = ()
    unchanged: int = 0


def plan_slices(
    storage: Storage,
    timeline: Timeline,
    window: Window,
    listing: ListingSource,
    *,
    strict: bool = False,
) -> Plan:
    """The latest slices, as a window shows them.

    Args:
        storage: the table's folder.
        timeline: its instants.
        window: which instants are seen.
        listing: `files`, `metadata`, or `auto`: the metadata table where the table has one and is
            not local, and folders otherwise. A metadata table that turns out to be broken is then
            told in a warning, and folders are listed.
        strict: ask the archive for files that are missing or shorter than they were written, and
            refuse what is otherwise a warning: a write that says nothing, and a base file of
            another length.

    Raises:
        RefusedError: a file of a newer format, or no metadata table where one was asked for.
        InputError: a folder or file that belongs to the table is missing or broken.
    """
    if listing == "metadata" and not has_file_list(timeline):
        raise RefusedError(f"{storage.root}: the table has no metadata table that lists its files")
    trusted = listing == "metadata" or (
        listing == "auto" and not storage.is_local and has_file_list(timeline)
    )
    warnings = []
    if trusted:
        try:
            files = list_from_metadata(storage, timeline)
            return _plan(files, timeline, window, "the metadata table", strict=strict)
        except (InputError, RefusedError) as error:
            if listing == "metadata":
                raise
            reason = f"folders were listed instead of the metadata table ({error})"
            warnings.append(ScanWarning(storage.full(METADATA_FOLDER), -1, reason))
    return _plan(list_files(storage), timeline, window, "folders", warnings, strict=strict)


def _plan(
    files: Listing,
    timeline: Timeline,
    window: Window,
    source: str,
    warnings: Sequence[ScanWarning] = (),
    *,
    strict: bool,
) -> Plan:
    slices = list_slices(files, timeline, window, archived=strict)
    damage = [*_silent_writes(timeline), *_changed_bases(slices, timeline)]
    if strict and damage:
        raise InputError(f"{damage[0].file}: {damage[0].reason}")
    changed = [slice_ for slice_ in slices if may_have_changed(slice_, timeline, window)]
    return Plan(changed, source, [*warnings, *damage], len(slices) - len(changed))


def _changed_bases(slices: Sequence[FileSlice], timeline: Timeline) -> Iterator[ScanWarning]:
    """Base files that are not as long as they were written; nothing is ever added to one."""
    for base in (slice_.base for slice_ in slices):
        if base is not None and base.told_bytes is not None:
            reason = f"{base.size_bytes} bytes, but it was written with {base.told_bytes}"
            yield ScanWarning(timeline.storage.full(base.path), -1, reason)


def _silent_writes(timeline: Timeline) -> list[ScanWarning]:
    """Completed writes whose files are empty, so that files of theirs may be gone unnoticed.

    Hudi takes an empty file for a write that says nothing.
    """
    reason = "the file of a completed write is empty; nothing tells what it wrote, nor its schema"
    return [
        ScanWarning(timeline.storage.full(instant.path), -1, reason)
        for instant, body in timeline.told(archived=False)
        if not body
    ]
