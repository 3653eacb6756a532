"""Hive's tables for the readers of the scan seam."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from seambase.walk import Met
from seambench.contracts.scan import Scan, ScanRequest
from seambench_impl.scan_requests import (
    ReaderFormat,
    explain_parts,
    is_name,
    named_table,
    refuse_window,
    scan_arguments,
)
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
    return _table(request.table, request.storage_options).scan(**scan_arguments(request))


def _table(path: str, storage_options: Mapping[str, Any] | None = None) -> HiveTable:
    """The table of a folder, or of a name in a metastore."""
    if not is_name(path):
        return HiveTable(path, storage_options)
    own = named_table(path, storage_options).own
    assert isinstance(own, HiveTable)
    return own


def _explain(path: str) -> Iterator[Met]:
    """What the descriptor of a Hive table says: its format, properties, columns and files."""
    table = _table(path)
    yield Met(0, 0, 0, "Hive table", table.file_format)
    for name, value in sorted(table.properties.items()):
        yield Met(0, 0, 1, name, repr(value))
    for field in table.schema:
        yield Met(0, 0, 1, field.name, str(field.type))
    yield from explain_parts(table.scan())


HIVE = ReaderFormat("hive", _CAPABILITIES, _open, _explain)
