"""Delta tables for the readers of the scan seam."""

from __future__ import annotations

from collections.abc import Iterator

from seambase.errors import UsageError
from seambase.walk import Met
from seambench.contracts.scan import Scan, ScanRequest
from seambench_impl.scan_requests import ReaderFormat, explain_parts, scan_arguments
from seamkit.tables.delta.table import DeltaTable

__all__ = ["DELTA"]

_CAPABILITIES = (
    "query.snapshot",
    "query.cdc",
    "as-of",
    "delta.checkpoint.v2",
    "delta.mapping.id",
    "delta.mapping.name",
    "delta.row-tracking",
    "delta.timestamp-ntz",
    "delta.variant",
    "delta.vectors",
    "delta.widening",
    "partitioned",
    "pushdown",
    "strict",
    "warnings",
)


def _open(request: ScanRequest) -> Scan:
    """Plan a read of a Delta table; see `seambench.contracts.scan.Scanner.open`.

    Raises:
        UsageError: what Delta tables have no word for.
    """
    if request.changes_alone:
        raise UsageError("changes-alone goes with incremental queries, which Delta tables have not")
    table = DeltaTable(request.table, request.storage_options)
    return table.scan(**scan_arguments(request), begin=request.begin, end=request.end)


def _explain(path: str) -> Iterator[Met]:
    """What the log of a Delta table says: its version, properties, columns and files."""
    table = DeltaTable(path)
    yield Met(0, 0, 0, "Delta table", f"version {table.version}")
    for name, value in sorted(table.properties.items()):
        yield Met(0, 0, 1, name, value)
    for field in table.schema:
        yield Met(0, 0, 1, field.name, f"{field.type}{'' if field.nullable else ' not null'}")
    yield from explain_parts(table.scan())


DELTA = ReaderFormat("delta", _CAPABILITIES, _open, _explain)
