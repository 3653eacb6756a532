"""Table formats as the readers of the scan seam offer them: what each states, opens and explains.

A format is data: its words, the arguments of its table and of its scan, and what is worth a line
of an explanation. Another path through the same tables is `dataclasses.replace` of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from seambase.errors import UsageError
from seambase.walk import Met
from seambench.contracts.scan import Scan, ScanRequest
from seamkit.catalogs.metastore import SCHEME
from seamkit.tables.catalog_table import CatalogTable
from seamkit.tables.hudi.explain import explain_log, explain_table
from seamkit.tables.opening import open_table
from seamkit.tables.table_format import Table

__all__ = [
    "DELTA",
    "HIVE",
    "HUDI",
    "ICEBERG",
    "PAIMON",
    "ReaderFormat",
    "is_name",
    "named_table",
    "open_request",
    "request_of_named",
]

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
        heading: what the first line of an explanation says.
        facts: its further lines, between the properties and the columns.
        explain_file: tells what a part of a table says, such as a log; None where nothing does.
        explain_whole: tells what a table says, in place of the lines that all formats share.
    """

    name: str
    capabilities: Sequence[str]
    no_bounds: str = ""
    no_changes_alone: str = ""
    table: Mapping[str, Any] = field(default_factory=dict)
    scan: Mapping[str, Any] = field(default_factory=dict)
    heading: Callable[[Any], str] = str
    facts: Callable[[Any], Iterator[tuple[str, str]]] = lambda _: iter(())
    explain_file: Callable[[Path], Iterator[Met]] | None = None
    explain_whole: Callable[[Any], Iterator[Met]] | None = None

    def opened(self, request: ScanRequest) -> Any:
        """The table of a folder, or of a name in a metastore, as an object of its own class."""
        if is_name(request.table):
            return named_table(request).own
        return open_request(request, format=self.name, **self.table)

    def open(self, request: ScanRequest) -> Scan:
        """Plan a read; see `seambench.contracts.scan.Scanner.open`.

        Raises:
            UsageError: what the format has no word for.
        """
        has_bounds = request.begin is not None or request.end is not None
        if self.no_bounds and (has_bounds or request.changes_alone):
            raise UsageError(self.no_bounds)
        if self.no_changes_alone and request.changes_alone:
            raise UsageError(self.no_changes_alone)
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
        scan: Scan = self.opened(request).scan(**arguments)
        return scan

    def explain(self, request: ScanRequest) -> Iterator[Met]:
        """What the metadata of a request's table says: its state, properties, columns and files."""
        table = self.opened(request)
        if self.explain_whole is not None:
            yield from self.explain_whole(table)
            return
        yield Met(0, 0, 0, f"{self.name.capitalize()} table", self.heading(table))
        for name, value in sorted(table.properties.items()):
            # A separator of Hive's may be a control character.
            yield Met(0, 0, 1, name, value if value.isprintable() else repr(value))
        for name, value in self.facts(table):
            yield Met(0, 0, 1, name, value)
        keys = getattr(table, "primary_keys", ())
        for column in table.schema:
            key = ", of the primary key" if column.name in keys else ""
            null = "" if column.nullable else " not null"
            yield Met(0, 0, 1, column.name, f"{column.type}{null}{key}")
        for line in table.scan().explain().splitlines()[1:]:
            path_, _, file = line.strip().partition(" ")
            yield Met(0, 0, 1, path_, file.strip())


def is_name(table: str) -> bool:
    """Whether a table is named, and not a folder or its address."""
    return table.startswith(SCHEME)


def open_request(request: ScanRequest, **options: Any) -> Table:
    """The table of a request, with what it says of storages; see `seamkit.open_table`."""
    storage = request.storage_options or None
    return open_table(request.table, storage, allow=request.allow, **options)


def named_table(request: ScanRequest) -> CatalogTable:
    """The table that a request names.

    Raises:
        UsageError: it is no name.
        InputError: there is no such table, or its folder is none.
        RefusedError: a view, or a format that is not supported.
        UnavailableError: the metastore does not answer.
    """
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
    heading=lambda table: f"version {table.version}",
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
        "warnings",
    ),
    no_bounds="a snapshot of a Hive table has neither begin nor end",
    heading=lambda table: str(table.file_format),
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
    explain_file=explain_log,
    explain_whole=explain_table,
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
    heading=lambda table: f"format version {table.format_version}, snapshot {table.snapshot_id}",
    facts=lambda table: (
        (f"{reference.kind} {name}", f"snapshot {reference.snapshot_id}")
        for name, reference in sorted(table.references.items())
    ),
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
        "paimon.evolution",
        "paimon.manifests-orc",
        "paimon.orc",
        "paimon.tags",
        "paimon.vectors",
        "warnings",
    ),
    no_changes_alone="changes of a Paimon table are not merged without the rows they changed",
    heading=lambda table: f"snapshot {table.snapshot_id}",
    facts=lambda table: (("tag", tag) for tag in table.tags),
)
