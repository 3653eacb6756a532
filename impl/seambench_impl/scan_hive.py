"""Hive's tables for the readers of the scan seam."""

from __future__ import annotations

from collections.abc import Iterator

from seambase.walk import Met
from seambench.contracts.scan import Scan, ScanRequest
from seambench_impl.scan_requests import ReaderFormat, explain_parts, refuse_window, scan_arguments
from seamkit.tables.hive.table import HiveTable

__all__ = ["HIVE"]

_CAPABILITIES = (
    "query.snapshot",
    "hive.text",
    "hive.csv",
    "hive.json",
    "hive.sequence",
    "hive.parquet",
    "hive.orc",
    "hive.avro",
    "partitioned",
    "pushdown",
    "strict",
    "warnings",
)


def _open(request: ScanRequest) -> Scan:
    """Plan a read of a Hive table; see `seambench.contracts.scan.Scanner.open`.

    Raises:
        UsageError: what Hive tables have no word for.
    """
    refuse_window(request, "Hive")
    return HiveTable(request.table, request.storage_options).scan(**scan_arguments(request))


def _explain(path: str) -> Iterator[Met]:
    """What the descriptor of a Hive table says: its format, properties, columns and files."""
    table = HiveTable(path)
    yield Met(0, 0, 0, "Hive table", table.file_format)
    for name, value in sorted(table.properties.items()):
        yield Met(0, 0, 1, name, repr(value))
    for field in table.schema:
        yield Met(0, 0, 1, field.name, str(field.type))
    yield from explain_parts(table.scan())


HIVE = ReaderFormat("hive", _CAPABILITIES, _open, _explain)
