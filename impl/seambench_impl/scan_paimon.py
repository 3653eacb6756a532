"""Paimon tables for the readers of the scan seam."""

from __future__ import annotations

from collections.abc import Iterator

from seambase.walk import Met
from seambench.contracts.scan import Scan, ScanRequest
from seambench_impl.scan_requests import explain_parts, refuse_window, scan_arguments
from seamkit.files.storage import Storage
from seamkit.tables.paimon.table import PaimonTable

__all__ = ["PAIMON_CAPABILITIES", "explain_paimon", "is_paimon", "open_paimon"]

PAIMON_CAPABILITIES = (
    "formats.paimon",
    "query.snapshot",
    "query.read-optimized",
    "as-of",
    "merge.aggregation",
    "merge.deduplicate",
    "merge.first-row",
    "merge.partial-update",
    "paimon.avro",
    "paimon.evolution",
    "paimon.orc",
    "paimon.tags",
    "paimon.vectors",
    "partitioned",
    "pushdown",
    "strict",
    "warnings",
)


def is_paimon(request: ScanRequest) -> bool:
    """Whether the request's table has the schemas of a Paimon table.

    Raises:
        UsageError: no address, or options that its storage does not know.
        InputError: there is no such folder.
    """
    return Storage(request.table, request.storage_options).exists("schema/schema-0")


def open_paimon(request: ScanRequest) -> Scan:
    """Plan a read of a Paimon table; see `seambench.contracts.scan.Scanner.open`.

    Raises:
        UsageError: what Paimon tables have no word for.
    """
    refuse_window(request, "Paimon")
    table = PaimonTable(request.table, request.storage_options)
    return table.scan(**scan_arguments(request))


def explain_paimon(table: PaimonTable) -> Iterator[Met]:
    """What the metadata of a Paimon table says: its snapshot, options, columns and files."""
    yield Met(0, 0, 0, "Paimon table", f"snapshot {table.snapshot_id}")
    for name, value in sorted(table.properties.items()):
        yield Met(0, 0, 1, name, value)
    for tag in table.tags:
        yield Met(0, 0, 1, "tag", tag)
    for field in table.schema:
        key = ", of the primary key" if field.name in table.primary_keys else ""
        yield Met(0, 0, 1, field.name, f"{field.type}{key}")
    yield from explain_parts(table.scan())
