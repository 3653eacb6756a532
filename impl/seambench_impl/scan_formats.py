"""Table formats as the readers of the scan seam offer them: what each states and opens.

A format is data: its words, the arguments of its table and of its scan. Another path through the
same tables is `dataclasses.replace` of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from seambase.errors import UsageError
from seambench.contracts.scan import Scan, ScanRequest
from seamkit.catalogs.metastore import SCHEME
from seamkit.tables.catalog_table import CatalogTable
from seamkit.tables.opening import open_table
from seamkit.tables.table import Table

#: What most formats' tables offer, whoever reads them.
_ALL = ("query.snapshot", "partitioned", "pushdown", "strict")


@dataclass(frozen=True)
class ReaderFormat:
    """A table format as a reader offers it.

    Attributes:
        name: of the format, as in the library's list of formats.
        capabilities: what is stated for its tables besides `formats.NAME`.
        no_bounds: why there are no queries with a begin or an end; empty where there are.
        no_changes_alone: why changes are not merged without the rows they changed; empty where
            they are.
        table: arguments of the format's table class.
        scan: further arguments of its `scan`.
    """

    name: str
    capabilities: Sequence[str]
    no_bounds: str = ""
    no_changes_alone: str = ""
    table: Mapping[str, Any] = field(default_factory=dict)
    scan: Mapping[str, Any] = field(default_factory=dict)

    def opened(self, request: ScanRequest) -> Any:
        """The table of a folder, or of a name in a metastore, as an object of its own class."""
        if is_name(request.table):
            return named_table(request).own
        return open_request(request, format=self.name, **self.table)

    def open(self, request: ScanRequest) -> Scan:
        """Plan a read; see `seambench.contracts.scan.Scanner.open`."""
        has_bounds = request.begin is not None or request.end is not None
        if self.no_bounds and (has_bounds or request.changes_alone):
            raise UsageError(self.no_bounds)
        if self.no_changes_alone and request.changes_alone:
            raise UsageError(self.no_changes_alone)
        if request.row_kinds and "row-kinds" not in self.capabilities:
            raise UsageError(f"a {self.name} table tells no kinds of rows")
        arguments = {
            "columns": request.columns,
            "query": request.query,
            "as_of": request.as_of,
            "batch_rows": request.batch_rows,
            "threads": request.threads,
            "memory_limit_bytes": request.memory_limit_bytes,
            "strict": request.strict,
            **self.scan,
        }
        if not self.no_bounds:
            arguments |= {"begin": request.begin, "end": request.end}
        if not (self.no_bounds or self.no_changes_alone):
            arguments["changes_alone"] = request.changes_alone
        if request.row_kinds:
            arguments["row_kinds"] = True
        scan: Scan = self.opened(request).scan(**arguments)
        return scan


def is_name(table: str) -> bool:
    """Whether a table is named, and not a folder or its address."""
    return table.startswith(SCHEME)


def open_request(request: ScanRequest, **options: Any) -> Table:
    """The table of a request, with what it says of storages; see `seamkit.open_table`."""
    storage = request.storage_options or None
    return open_table(request.table, storage, allow=request.allow, **options)


def named_table(request: ScanRequest) -> CatalogTable:
    """The table that a request names."""
    table = open_request(request)
    assert isinstance(table, CatalogTable)
    return table


def request_of_named(request: ScanRequest, table: CatalogTable) -> ScanRequest:
    """The request of a table's folder, and of the view that its name stands for.

    One of Hive's own keeps its name: its columns and partitions are those of the metastore.
    """
    where = request.table if table.format == "hive" else table.location
    view = request.query
    if view == "snapshot" and table.query == "read-optimized":
        view = "read-optimized"
    return replace(request, table=where, query=view)


DELTA = ReaderFormat(
    "delta",
    (
        *_ALL,
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
        "warnings",
    ),
    no_changes_alone="changes-alone goes with incremental queries, which Delta tables have not",
)

HIVE = ReaderFormat(
    "hive",
    (
        *_ALL,
        "hive.text",
        "hive.csv",
        "hive.json",
        "hive.sequence",
        "hive.parquet",
        "hive.orc",
        "hive.avro",
        "hive.writer-zone",
        "warnings",
    ),
    no_bounds="a snapshot of a Hive table has neither begin nor end",
)

HUDI = ReaderFormat(
    "hudi",
    (
        *_ALL,
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
        "files.taken-up",
        "partitions.dropped",
        "table-version.5",
        "table-version.6",
        "table-version.8",
        "table-version.9",
        "replace-commit",
        "schema-evolution",
        "schema-on-read",
        "warnings",
    ),
)

ICEBERG = ReaderFormat(
    "iceberg",
    (
        *_ALL,
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
    ),
    no_changes_alone="Iceberg tables tell no changes of rows apart",
)

PAIMON = ReaderFormat(
    "paimon",
    (
        *_ALL,
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
        "paimon.before-0.9",
        "paimon.evolution",
        "paimon.manifests-orc",
        "paimon.orc",
        "paimon.sets",
        "paimon.tags",
        "paimon.vectors",
        "row-kinds",
        "warnings",
    ),
    no_changes_alone="changes of a Paimon table are not merged without the rows they changed",
)
