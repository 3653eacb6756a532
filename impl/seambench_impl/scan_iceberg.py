"""Iceberg tables for the readers of the scan seam."""

from __future__ import annotations

from collections.abc import Iterator

from seambase.errors import UsageError
from seambase.walk import Met
from seambench.contracts.scan import Scan, ScanRequest
from seambench_impl.scan_requests import ReaderFormat, explain_parts, scan_arguments
from seamkit.tables.iceberg.table import IcebergTable

__all__ = ["ICEBERG"]

_CAPABILITIES = (
    "query.snapshot",
    "query.incremental",
    "query.cdc",
    "as-of",
    "iceberg.v1",
    "iceberg.v2",
    "iceberg.v3",
    "iceberg.position-deletes",
    "iceberg.vectors",
    "iceberg.equality-deletes",
    "iceberg.name-mapping",
    "iceberg.defaults",
    "iceberg.avro",
    "iceberg.orc",
    "partitioned",
    "pushdown",
    "strict",
)


def _open(request: ScanRequest) -> Scan:
    """Plan a read of an Iceberg table; see `seambench.contracts.scan.Scanner.open`.

    Raises:
        UsageError: what Iceberg tables have no word for.
    """
    if request.changes_alone:
        raise UsageError("Iceberg tables tell no changes of rows apart")
    table = IcebergTable(request.table, request.storage_options)
    return table.scan(begin=request.begin, end=request.end, **scan_arguments(request))


def _explain(path: str) -> Iterator[Met]:
    """What the metadata of an Iceberg table says: version, references, columns and files."""
    table = IcebergTable(path)
    shown = f"format version {table.format_version}, snapshot {table.snapshot_id}"
    yield Met(0, 0, 0, "Iceberg table", shown)
    for name, reference in sorted(table.references.items()):
        yield Met(0, 0, 1, f"{reference.kind} {name}", f"snapshot {reference.snapshot_id}")
    for name, value in sorted(table.properties.items()):
        yield Met(0, 0, 1, name, value)
    for field in table.schema:
        yield Met(0, 0, 1, field.name, str(field.type))
    yield from explain_parts(table.scan())


ICEBERG = ReaderFormat("iceberg", _CAPABILITIES, _open, _explain)
