"""Paimon tables for the readers of the scan seam."""

from __future__ import annotations

from collections.abc import Iterator

from seambase.errors import UsageError
from seambase.walk import Met
from seambench.contracts.scan import Scan, ScanRequest
from seambench_impl.scan_requests import ReaderFormat, explain_parts, scan_arguments
from seamkit.tables.paimon.table import PaimonTable

__all__ = ["PAIMON"]

_CAPABILITIES = (
    "query.snapshot",
    "query.read-optimized",
    "query.incremental",
    "query.cdc",
    "as-of",
    "merge.aggregation",
    "merge.deduplicate",
    "merge.first-row",
    "merge.partial-update",
    "paimon.after-0.9",
    "paimon.avro",
    "paimon.evolution",
    "paimon.manifests-orc",
    "paimon.orc",
    "paimon.tags",
    "paimon.vectors",
    "partitioned",
    "pushdown",
    "strict",
    "warnings",
)


def _open(request: ScanRequest) -> Scan:
    """Plan a read of a Paimon table; see `seambench.contracts.scan.Scanner.open`.

    Raises:
        UsageError: what Paimon tables have no word for.
    """
    if request.changes_alone:
        raise UsageError("changes of a Paimon table are not merged without the rows they changed")
    table = PaimonTable(request.table, request.storage_options)
    return table.scan(begin=request.begin, end=request.end, **scan_arguments(request))


def _explain(path: str) -> Iterator[Met]:
    """What the metadata of a Paimon table says: its snapshot, options, columns and files."""
    table = PaimonTable(path)
    yield Met(0, 0, 0, "Paimon table", f"snapshot {table.snapshot_id}")
    for name, value in sorted(table.properties.items()):
        yield Met(0, 0, 1, name, value)
    for tag in table.tags:
        yield Met(0, 0, 1, "tag", tag)
    for field in table.schema:
        key = ", of the primary key" if field.name in table.primary_keys else ""
        yield Met(0, 0, 1, field.name, f"{field.type}{key}")
    yield from explain_parts(table.scan())


PAIMON = ReaderFormat("paimon", _CAPABILITIES, _open, _explain)
