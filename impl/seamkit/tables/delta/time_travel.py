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
from seamkit.tables.delta.log.folder import LogFolder

__all__ = ["asked_version"]

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)


def asked_version(
    as_of: int | str | dt.datetime,
    storage: Storage,
    folder: LogFolder,
    configuration: Mapping[str, str],
) -> int:
    """The version that a user means.

    Args:
        as_of: a version (a number, or a text of digits), or a time: ISO 8601 in UTC unless it says
            otherwise.
        storage: the table's folder.
        folder: its log.
        configuration: properties of the newest version.

    Raises:
        UsageError: neither a version nor a time, or a time before the first version.
        InputError: a commit does not state its time.
    """
    if isinstance(as_of, int):
        return as_of
    if isinstance(as_of, str) and as_of.isascii() and as_of.isdigit():
        return int(as_of)
    micros = _micros(as_of)
    found = None
    for version, millis in _commit_times(storage, folder, configuration):
        if millis * 1000 <= micros:
            found = version
    if found is None:
        raise UsageError(f"{storage.root}: no version that can be read is as old as {as_of}")
    return found


def _micros(as_of: str | dt.datetime) -> int:
    try:
        moment = dt.datetime.fromisoformat(as_of) if isinstance(as_of, str) else as_of
    except ValueError as error:
        raise UsageError(
            f"as_of is {as_of!r}: a version (7) or a time (2024-12-31T23:59:59.999Z) is meant"
        ) from error
    moment = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    return (moment - _EPOCH) // _MICROSECOND


def _commit_times(
    storage: Storage, folder: LogFolder, configuration: Mapping[str, str]
) -> Iterator[tuple[int, int]]:
    """Versions and the milliseconds since 1970 at which they were committed, oldest first."""
    stated_from = _first_stated(configuration)
    last = None
    for version in sorted(folder.commits):
        path = folder.commits[version]
        if stated_from is not None and version >= stated_from:
            yield version, _stated(storage, path)
            continue
        millis = storage.modified_millis(path)
        last = millis if last is None else max(millis, last + 1)
        yield version, last


def _first_stated(configuration: Mapping[str, str]) -> int | None:
    """The first version whose commit states its time; None if none does."""
    if configuration.get("delta.enableInCommitTimestamps", "false").lower() != "true":
        return None
    text = configuration.get("delta.inCommitTimestampEnablementVersion", "0")
    return int(text) if text.isdigit() else 0


def _stated(storage: Storage, path: str) -> int:
    where = f"{storage.full(path)}, line 1"
    line = storage.read(path).partition(b"\n")[0]
    name, content = parse_line(line, where)
    time: Any = content.get("inCommitTimestamp") if name == "commitInfo" else None
    if not isinstance(time, int):
        raise InputError(f"{where}: the commit does not state its time, as the table says it does")
    return time
