"""Which version of a table was the newest at a point in time.

A commit's time is the modification time of its file, or, from the version on that the property
`delta.inCommitTimestampEnablementVersion` names, the one that the commit itself states. File times
that do not grow count as one millisecond after their forerunner's (Delta's `DeltaHistoryManager`).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any

from seambase.errors import InputError, UsageError
from seamkit.files.storage import Storage
from seamkit.tables.delta.log.actions import parse_line
from seamkit.tables.delta.log.folder import LOG, LogFolder
from seamkit.tables.delta.log.history import first_stated
from seamkit.tables.folder_table import micros


def asked_version(
    as_of: int | dt.datetime, storage: Storage, folder: LogFolder, configuration: Mapping[str, str]
) -> int:
    """The version that is meant by its number or a time.

    Args:
        as_of: the number or the time.
        storage: the table's folder.
        folder: its log.
        configuration: properties of the newest version.
    """
    if isinstance(as_of, int):
        return as_of
    found = _newest_at(as_of, storage, folder, configuration)
    if found is None:
        raise UsageError(f"{storage.root}: no version that can be read is as old as {as_of}")
    return found


def asked_window(
    begin: int | dt.datetime | None,
    end: int | dt.datetime | None,
    storage: Storage,
    folder: LogFolder,
    configuration: Mapping[str, str],
) -> range:
    """The versions after one moment and up to another.

    Args:
        begin: a version or a time as for `asked_version`; None for the table's beginning.
        end: likewise; None for the newest version.
        storage: the table's folder.
        folder: its log.
        configuration: properties of the newest version.
    """
    before = begin
    if isinstance(before, dt.datetime):
        before = _newest_at(before, storage, folder, configuration)
    last = folder.newest if end is None else asked_version(end, storage, folder, configuration)
    for version in (before, last):
        if version is not None and not 0 <= version <= folder.newest:
            raise UsageError(
                f"{storage.root}: there is no version {version}; {folder.newest} is newest"
            )
    first = 0 if before is None else before + 1
    if last < first - 1:
        raise UsageError(f"{storage.root}: the window ends at version {last}, before it begins")
    return range(first, last + 1)


def _newest_at(
    moment: dt.datetime,
    storage: Storage,
    folder: LogFolder,
    configuration: Mapping[str, str],
) -> int | None:
    """The newest version that is not younger than a moment; None if all are."""
    latest, found = micros(moment), None
    for version, millis in commit_times(storage, folder, configuration):
        if millis * 1000 <= latest:
            found = version
    if found is not None and found < folder.newest and found + 1 not in folder.commits:
        raise InputError(
            f"{storage.root}/{LOG}: the commit of version {found + 1} is missing, so which version "
            f"was the newest at {moment} cannot be said"
        )
    return found


def commit_times(
    storage: Storage,
    folder: LogFolder,
    configuration: Mapping[str, str],
    last: int | None = None,
) -> Iterator[tuple[int, int]]:
    """Versions and the milliseconds since 1970 at which they were committed, oldest first.

    Args:
        storage: the table's folder.
        folder: its log.
        configuration: properties of the newest version.
        last: the last version of interest; None for the newest.
    """
    stated_from = first_stated(configuration)
    before = None
    for version in sorted(folder.commits):
        if last is not None and version > last:
            return
        path = folder.commits[version]
        if stated_from is not None and version >= stated_from:
            yield version, _stated(storage, path)
            continue
        millis = storage.modified_millis(path)
        before = millis if before is None else max(millis, before + 1)
        yield version, before


def _stated(storage: Storage, path: str) -> int:
    where = f"{storage.full(path)}, line 1"
    line = storage.read(path).partition(b"\n")[0]
    name, content = parse_line(line, where)
    time: Any = content.get("inCommitTimestamp") if name == "commitInfo" else None
    if not isinstance(time, int):
        raise InputError(f"{where}: the commit does not state its time, as the table says it does")
    return time


def stated_operation(storage: Storage, path: str) -> str:
    """What a commit says that it did, such as `MERGE`; empty where it does not say."""
    for number, line in enumerate(storage.read(path).split(b"\n"), 1):
        if b'"commitInfo"' in line:
            name, content = parse_line(line, f"{storage.full(path)}, line {number}")
            operation = content.get("operation") if name == "commitInfo" else None
            if isinstance(operation, str):
                return operation
    return ""
