"""What commits say of themselves, held against their places, and which was the newest at a time.

All of what they say is optional in `commitInfo`, and only what cannot be otherwise is an error.

A commit's time is the modification time of its file, or, from the version on that the property
`delta.inCommitTimestampEnablementVersion` names, the one that the commit itself states. File times
that do not grow count as one millisecond after their forerunner's (Delta's `DeltaHistoryManager`).
"""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from seambase.errors import InputError, UsageError
from seambase.scan import ScanWarning
from seamkit.files.storage import Storage
from seamkit.tables.delta.log.actions import Protocol, parse_line, stated_millis
from seamkit.tables.delta.log.folder import LOG, LogFolder
from seamkit.tables.table import micros, too_early

_COMMIT = re.compile(r".*?(\d{20})\.(?:[0-9a-fA-F-]{36}\.)?json, line \d+")
#: Words for the files that an operation added: Spark's, and those of delta-rs.
_WRITTEN = (
    *("numFiles", "numAddedFiles", "numTargetFilesAdded", "numRestoredFiles"),
    *("numFilesAdded", "numRestoredFile"),
)
#: Words of delta-rs, of a delete or update and of a merge: files of changes are among these.
_WITH_CHANGES = ("num_added_files", "num_target_files_added")


@dataclass
class History:
    """The commits of a replay, from the newest to the oldest."""

    # where one says that it wrote files that it does not have, that it is another, or that it is
    # not later than the one before it
    warnings: list[ScanWarning] = field(default_factory=list)
    millis: int | None = None  # since 1970, the time that the newest commit with one states
    _transactions: dict[str, str] = field(default_factory=dict)
    _times: list[tuple[int, int, str]] = field(default_factory=list)

    def take(self, info: Mapping[str, Any], where: str, adds: int, changes: int) -> None:
        """Hold a commit, which adds so many files, and so many of changes, to its `commitInfo`."""
        match = _COMMIT.fullmatch(where)
        if match is None:
            return  # a log compaction has none that counts
        before = info.get("readVersion")
        # Of a table's first commit, before which nothing can be read, Trino says 0.
        if isinstance(before, int) and before >= max(int(match[1]), 1):
            raise InputError(
                f"{where}: the commit has read version {before}, so it is none of {int(match[1])}"
            )
        transaction = info.get("txnId")
        if isinstance(transaction, str) and transaction:
            if transaction in self._transactions:
                reason = f"the commit's txnId is that of {self._transactions[transaction]}"
                self.warnings.append(ScanWarning(where, -1, reason))
            self._transactions[transaction] = where
        millis = stated_millis(info, where)
        if millis is not None:
            self._take_time(int(match[1]), millis, where)
        metrics = info.get("operationMetrics")
        words = _WRITTEN if changes else (*_WRITTEN, *_WITH_CHANGES)
        given = [metrics.get(name) for name in words] if isinstance(metrics, dict) else []
        # Spark counts a file without rows, which it then leaves out.
        is_empty = isinstance(metrics, dict) and metrics.get("numOutputRows") == "0"
        if not adds and not is_empty and any(str(one).isdigit() and int(str(one)) for one in given):
            reason = "the commit says that it added data files, and adds none"
            self.warnings.append(ScanWarning(where, -1, reason))

    def take_earlier(self, version: int, millis: int | None, known: Sequence[ScanWarning]) -> None:
        """All that was found out about an earlier version, before which nothing comes."""
        self.warnings += known
        if millis is not None:
            self._take_time(version, millis, "")

    def _take_time(self, version: int, millis: int, where: str) -> None:
        self.millis = millis if self.millis is None else self.millis
        self._times.append((version, millis, where))

    def check_times(self, first: int | None) -> None:
        """Warn of commits, from the `first` that states its time, that are not later than another.

        The time must grow (PROTOCOL.md, "In-Commit Timestamps"), and `as_of` relies on it.
        """
        for (_, millis, where), (version, before, _) in itertools.pairwise(self._times):
            if first is not None and version >= first and millis <= before:
                reason = (
                    f"its inCommitTimestamp {millis} is not later than {before}, the one before"
                )
                self.warnings.append(ScanWarning(where, -1, reason))


def first_stated(protocol: Protocol, configuration: Mapping[str, str]) -> int | None:
    """The first version whose commit states its time; None if none does, be the property set."""
    is_on = configuration.get("delta.enableInCommitTimestamps", "false").lower() == "true"
    if not is_on or "inCommitTimestamp" not in protocol.writer_features:
        return None
    text = configuration.get("delta.inCommitTimestampEnablementVersion", "0")
    return int(text) if text.isdigit() else 0


@dataclass(frozen=True)
class CommitTimes:
    """When the versions of a log were committed."""

    folder: LogFolder
    # gives what `first_stated` says of the newest version: a log is replayed for it
    stated_from: Callable[[], int | None]

    def listed(self, last: int | None = None) -> Iterator[tuple[int, int]]:
        """Versions up to one and the milliseconds since 1970 of their commits, oldest first."""
        folder, stated_from = self.folder, self.stated_from()
        before = None
        for version in sorted(folder.commits):
            if last is not None and version > last:
                return
            path = folder.commits[version]
            if stated_from is not None and version >= stated_from:
                yield version, _stated(folder.storage, path)
                continue
            millis = folder.storage.modified_millis(path)
            before = millis if before is None else max(millis, before + 1)
            yield version, before

    def version(self, as_of: int | dt.datetime) -> int:
        """The version that is meant by its number or a time."""
        if isinstance(as_of, int):
            return as_of
        found = self._newest_at(as_of)
        if found is None:
            oldest = next(self.listed(), None)
            raise too_early(f"{self.folder.root}: no version that can be read", as_of, oldest)
        return found

    def window(self, begin: int | dt.datetime | None, end: int | dt.datetime | None) -> range:
        """The versions after one moment and up to another; see `version`.

        None is the table's beginning, or the newest version.
        """
        root, newest = self.folder.root, self.folder.newest
        before = self._newest_at(begin) if isinstance(begin, dt.datetime) else begin
        last = newest if end is None else self.version(end)
        for version in (before, last):
            if version is not None and not 0 <= version <= newest:
                raise UsageError(f"{root}: there is no version {version}; {newest} is newest")
        first = 0 if before is None else before + 1
        if last < first - 1:
            raise UsageError(f"{root}: the window ends at version {last}, before it begins")
        return range(first, last + 1)

    def _newest_at(self, moment: dt.datetime) -> int | None:
        """The newest version that is not younger than a moment; None if all are."""
        folder, latest, found = self.folder, micros(moment), None
        stated_from = self.stated_from()
        if stated_from is not None:
            # They grow. The newest is looked at first: where a table was replaced, Delta 3.3.2
            # forgets since when there are any, and older commits seem to state theirs, too.
            newest = sorted((v for v in folder.commits if v >= stated_from), reverse=True)
            times = ((v, _stated(folder.storage, folder.commits[v])) for v in newest)
            found = next((v for v, millis in times if millis * 1000 <= latest), None)
        if found is None:
            for version, millis in self.listed():
                found = version if millis * 1000 <= latest else found
        if found is not None and found < folder.newest and found + 1 not in folder.commits:
            raise InputError(
                f"{folder.root}/{LOG}: the commit of version {found + 1} is missing, so which "
                f"version was the newest at {moment} cannot be said"
            )
        return found


def _stated(storage: Storage, path: str) -> int:
    where = f"{storage.full(path)}, line 1"
    line = storage.read(path).partition(b"\n")[0]
    name, content = parse_line(line, where)
    time = stated_millis(content, where) if name == "commitInfo" else None
    if time is None:
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
