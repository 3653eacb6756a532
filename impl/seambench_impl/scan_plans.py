"""Plans of our readers as data; see `seambench.contracts.scan.Planning`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from seambase.where import parse_filter
from seambench.contracts.scan import Scan, ScanRequest
from seamkit.ranges.plan_file import scan_from_json, scan_to_json
from seamkit.scan.scan import Scan as LibraryScan
from seamkit.scan.sql_scan import SqlScan

__all__ = ["WritesPlans"]


class WritesPlans:
    """The part of a reader that writes plans, and reads those of any reader here."""

    def open(self, request: ScanRequest) -> Scan:
        """Plan a read; the reader's own."""
        raise NotImplementedError

    def write_plan(self, request: ScanRequest) -> str:
        """Plan a read and write down the plan, with its filter in SQL where there is one."""
        plain = replace(request, where=None)
        if request.where is None:
            return scan_to_json(_own(self.open(plain)))
        whole = self.open(replace(plain, columns=None)).schema
        condition = parse_filter(request.where, whole)
        names = list(whole.names if request.columns is None else request.columns)
        more = [name for name in condition.columns if name not in names]
        scan = _own(self.open(replace(plain, columns=[*names, *more])))
        return scan_to_json(SqlScan(scan, names, condition))

    def read_plan(
        self,
        text: bytes,
        units: Sequence[int] | None,
        storage_options: Mapping[str, Any] | None,
        where: str,
    ) -> Scan:
        """A scan of what was planned, by the path that the plan says."""
        return scan_from_json(text, storage_options, units=units, where=where)


def _own(scan: Scan) -> LibraryScan:
    assert isinstance(scan, LibraryScan)
    return scan
