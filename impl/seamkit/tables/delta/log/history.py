"""What commits say of themselves, held against their places: whether each stands where it belongs.

All of it is optional in `commitInfo`, and only what cannot be otherwise is an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from seambase.errors import InputError
from seambase.scan import ScanWarning

__all__ = ["History"]

_COMMIT = re.compile(r".*?(\d{20})\.(?:[0-9a-fA-F-]{36}\.)?json, line \d+")
#: Spark's word for the files that an operation wrote, and that of delta-rs.
_WRITTEN = ("numFiles", "num_added_files")


@dataclass
class History:
    """The commits of a replay, from the newest to the oldest.

    Attributes:
        warnings: where one says that it wrote files that it does not have, or that it is another.
    """

    warnings: list[ScanWarning] = field(default_factory=list)
    _transactions: dict[str, str] = field(default_factory=dict)

    def take(self, info: Mapping[str, Any], where: str, adds: int) -> None:
        """Hold a commit to its `commitInfo`.

        Args:
            info: the action.
            where: commit and line.
            adds: the files that the commit adds.

        Raises:
            InputError: it is the commit of another version.
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
        metrics = info.get("operationMetrics")
        told = [metrics.get(name) for name in _WRITTEN] if isinstance(metrics, dict) else []
        # Spark counts a file without rows, which it then leaves out.
        is_empty = isinstance(metrics, dict) and metrics.get("numOutputRows") == "0"
        if not adds and not is_empty and any(str(one).isdigit() and int(str(one)) for one in told):
            reason = "the commit says that it wrote data files, and adds none"
            self.warnings.append(ScanWarning(where, -1, reason))
