"""Delta tables for the readers of the scan seam."""

from __future__ import annotations

from seambase.errors import UsageError
from seambench.contracts.scan import Scan, ScanRequest
from seamkit.files.storage import Storage
from seamkit.tables.delta.log.folder import LOG
from seamkit.tables.delta.table import DeltaTable

__all__ = ["DELTA_CAPABILITIES", "is_delta", "open_delta"]

DELTA_CAPABILITIES = (
    "formats.delta",
    "query.snapshot",
    "as-of",
    "delta.checkpoint.v2",
    "delta.mapping.id",
    "delta.mapping.name",
    "delta.timestamp-ntz",
    "delta.vectors",
    "delta.widening",
    "partitioned",
    "pushdown",
    "strict",
    "warnings",
)


def is_delta(request: ScanRequest) -> bool:
    """Whether the request's table has the log of a Delta table.

    Raises:
        UsageError: no address, or options that its storage does not know.
        InputError: there is no such folder.
    """
    return Storage(request.table, request.storage_options).exists(LOG)


def open_delta(request: ScanRequest) -> Scan:
    """Plan a read of a Delta table; see `seambench.contracts.scan.Scanner.open`.

    Raises:
        UsageError: what Delta tables have no word for.
    """
    if request.begin is not None or request.end is not None or request.changes_alone:
        raise UsageError("a snapshot of a Delta table has neither begin nor end")
    return DeltaTable(request.table, request.storage_options).scan(
        request.columns,
        query=request.query,
        as_of=request.as_of,
        batch_rows=request.batch_rows,
        threads=request.threads,
        memory_limit_bytes=request.memory_limit_bytes,
        strict=request.strict,
    )
