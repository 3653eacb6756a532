"""Hudi tables for the readers of the scan seam, each of which reads them by another path."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from seambase.walk import Met
from seambench.contracts.scan import Scan, ScanRequest
from seambench_impl.scan_requests import ReaderFormat, scan_arguments
from seamkit.tables.hudi.explain import explain_log, explain_table
from seamkit.tables.hudi.listing.planning import ListingSource
from seamkit.tables.hudi.table import HudiTable
from seamkit.tables.hudi.units import Path

__all__ = ["hudi"]

_CAPABILITIES = (
    "query.snapshot",
    "query.read-optimized",
    "query.incremental",
    "query.cdc",
    "as-of",
    "merge.commit-time",
    "merge.event-time",
    "blocks.avro",
    "blocks.parquet",
    "blocks.delete",
    "merge.payloads",
    "delete-marker",
    "several-orderings",
    "partial-updates",
    "virtual-keys",
    "base-files.orc",
    "partitions.dropped",
    "table-version.5",
    "table-version.6",
    "table-version.8",
    "table-version.9",
    "partitioned",
    "pushdown",
    "replace-commit",
    "schema-evolution",
    "schema-on-read",
    "strict",
    "warnings",
)


def hudi(
    path: Path = "auto", *, listing: ListingSource = "auto", positions: bool = False
) -> ReaderFormat:
    """Hudi tables, read in one of several ways; see `seamkit.HudiTable`."""
    opened = partial(_open, path=path, listing=listing, positions=positions)
    return ReaderFormat("hudi", _CAPABILITIES, opened, _explain, explain_log)


def _open(request: ScanRequest, *, path: Path, listing: ListingSource, positions: bool) -> Scan:
    table = HudiTable(request.table, request.storage_options, listing=listing)
    return table.scan(
        begin=request.begin,
        end=request.end,
        changes_alone=request.changes_alone,
        path=path,
        positions=positions,
        **scan_arguments(request),
    )


def _explain(path: str) -> Iterator[Met]:
    return explain_table(HudiTable(path))
