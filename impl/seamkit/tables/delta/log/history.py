"""What commits say of themselves, held against their places: whether each stands where it belongs.

All of it is optional in `commitInfo`, and only what cannot be otherwise is an error.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from seambase.errors import InputError
from seambase.scan import ScanWarning

_COMMIT = re.compile(r".*?(\d{20})\.(?:[0-9a-fA-F-]{36}\.)?json, line \d+")
#: Spark's word for the files that an operation wrote, and that of delta-rs.
_WRITTEN = ("numFiles", "num_added_files")


@dataclass
class History:
    """The commits of a replay, from the newest to the oldest.

    Attributes:
        warnings: where one says that it wrote files that it does not have, that it is another, or
            that it is not later than the one before it.
        millis: since 1970, the time that the newest commit with one states.
    """

    warnings: list[ScanWarning] = field(default_factory=list)
    millis: int | None = None
    _transactions: dict[str, str] = field(default_factory=dict)
    _times: list[tuple[int, int, str]] = field(default_factory=list)

    def take(self, info: Mapping[str, Any], where: str, adds: int) -> None:
        """Hold a commit to its `commitInfo`.

        Args:
            info: the action.
            where: commit and line.
            adds: the files that the commit adds.
        """
        match = _COMMIT.fullmatch(where)
        if match is None:
            return  # a log compaction has none that counts
        before = info.get("readVersion")
        if isinstance(before, int) and before >= int(match[1]):
            raise InputError(
                f"{where}: the commit has read version {before}, so it is none of {int(match[1])}"
            )
        transaction = info.get("txnId")
        if isinstance(transaction, str) and transaction:
            if transaction in self._transactions:
                reason = f"the commit's txnId is that of {self._transactions[transaction]}"
                self.warnings.append(ScanWarning(where, -1, reason))
            self._transactions[transaction] = where
        millis = info.get("inCommitTimestamp")
        if isinstance(millis, int):
            self._take_time(int(match[1]), millis, where)
        metrics = info.get("operationMetrics")
        told = [metrics.get(name) for name in _WRITTEN] if isinstance(metrics, dict) else []
        # Spark counts a file without rows, which it then leaves out.
        is_empty = isinstance(metrics, dict) and metrics.get("numOutputRows") == "0"
        if not adds and not is_empty and any(str(one).isdigit() and int(str(one)) for one in told):
            reason = "the commit says that it wrote data files, and adds none"
            self.warnings.append(ScanWarning(where, -1, reason))

    def take_earlier(self, version: int, millis: int | None, told: Sequence[ScanWarning]) -> None:
        """All that was found out about an earlier version, before which nothing comes.

        Args:
            version: its number.
            millis: the time that it states, or the newest before it that does.
            told: its warnings.
        """
        self.warnings += told
        if millis is not None:
            self._take_time(version, millis, "")

    def _take_time(self, version: int, millis: int, where: str) -> None:
        self.millis = millis if self.millis is None else self.millis
        self._times.append((version, millis, where))

    def check_times(self, configuration: Mapping[str, str]) -> None:
        """Warn of commits whose time is not later than that of the commit before.

        The time must grow (PROTOCOL.md, "In-Commit Timestamps"), and `as_of` relies on it.

        Args:
            configuration: properties of the version that is read.
        """
        first = first_stated(configuration)
        for (_, millis, where), (version, before, _) in itertools.pairwise(self._times):
            if first is not None and version >= first and millis <= before:
                reason = (
                    f"its inCommitTimestamp {millis} is not later than {before}, the one before"
                )
                self.warnings.append(ScanWarning(where, -1, reason))


def first_stated(configuration: Mapping[str, str]) -> int | None:
    """The first version whose commit states its time; None if none does.

    Args:
        configuration: properties of a version of the table.
    """
    if configuration.get("delta.enableInCommitTimestamps", "false").lower() != "true":
        return None
    text = configuration.get("delta.inCommitTimestampEnablementVersion", "0")
    return int(text) if text.isdigit() else 0
