"""What the readers of all table formats do alike with a request of the scan seam."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from seambase.errors import UsageError
from seambase.walk import Met
from seambench.contracts.scan import ScanRequest
from seamkit.scan.scan import Scan

__all__ = ["explain_parts", "refuse_window", "scan_arguments"]


def scan_arguments(request: ScanRequest) -> dict[str, Any]:
    """Arguments that the `scan` of every table has, as a request says them."""
    return {
        "columns": request.columns,
        "query": request.query,
        "as_of": request.as_of,
        "batch_rows": request.batch_rows,
        "threads": request.threads,
        "memory_limit_bytes": request.memory_limit_bytes,
        "strict": request.strict,
    }


def refuse_window(request: ScanRequest, title: str) -> None:
    """Refuse the bounds of a query of changes, where a format has snapshots alone.

    Raises:
        UsageError: there are such bounds.
    """
    if request.begin is not None or request.end is not None or request.changes_alone:
        raise UsageError(f"a snapshot of a {title} table has neither begin nor end")


def explain_parts(scan: Scan) -> Iterator[Met]:
    """The files of a scan and the way each is read, as lines of an explanation."""
    for line in scan.explain().splitlines()[1:]:
        path, _, file = line.strip().partition(" ")
        yield Met(0, 0, 1, path, file.strip())
