"""Delta tables for the readers of the scan seam."""

from __future__ import annotations

from collections.abc import Iterator

from seambase.errors import UsageError
from seambase.walk import Met
from seambench.contracts.scan import Scan, ScanRequest
from seambench_impl.scan_requests import explain_parts, scan_arguments
from seamkit.files.storage import Storage
from seamkit.tables.delta.log.folder import LOG
from seamkit.tables.delta.table import DeltaTable

__all__ = ["DELTA_CAPABILITIES", "explain_delta", "is_delta", "open_delta"]

DELTA_CAPABILITIES = (
    "formats.delta",
    "query.snapshot",
    "query.cdc",
    "as-of",
    "delta.checkpoint.v2",
    "delta.mapping.id",
    "delta.mapping.name",
    "delta.row-tracking",
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
    if request.changes_alone:
        raise UsageError("changes-alone goes with incremental queries, which Delta tables have not")
    table = DeltaTable(request.table, request.storage_options)
    return table.scan(**scan_arguments(request), begin=request.begin, end=request.end)


def explain_delta(table: DeltaTable) -> Iterator[Met]:
    """What the log of a Delta table says: its version, properties, columns and files."""
    yield Met(0, 0, 0, "Delta table", f"version {table.version}")
    for name, value in sorted(table.properties.items()):
        yield Met(0, 0, 1, name, value)
    for field in table.schema:
        yield Met(0, 0, 1, field.name, f"{field.type}{'' if field.nullable else ' not null'}")
    yield from explain_parts(table.scan())
