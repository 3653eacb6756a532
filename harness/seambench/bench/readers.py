"""A reader on one data set: what it is asked, and its tables where queries are answered.

That is DuckDB, for all but readers that come with an engine of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb

from seambase.dataset import original_errors
from seambase.errors import RefusedError, UsageError
from seambase.scan import Query
from seambench.contracts.scan import Answering, Related, Scan, Scanner, ScanRequest
from seambench.data import Dataset, State
from seambench.engines.digest import quote
from seambench.engines.stream_dataset import StreamDataset

__all__ = ["Reader", "open_reader", "tables_to_read"]


def tables_to_read(dataset: Dataset) -> list[str]:
    """Names of the tables that lie in a table format; the others are plain Parquet for everybody.

    Raises:
        UsageError: there are none.
    """
    found = [name for name, table in dataset.tables.items() if not table.is_plain]
    if not found:
        raise UsageError(
            f"data set {dataset.name} holds no table in a table format, so nothing to compare"
        )
    return found


@dataclass
class Reader:
    """A reader on one data set.

    Attributes:
        name: in the registry.
        dataset: whose tables it reads.
        threads: for its scans; None for one per core.
        query: the view it is asked for.
        state: which of the oracle's states that is.
        problem: why it cannot take part, or None.
        scans: of its tables, once opened.
        datasets: what DuckDB reads.
    """

    name: str
    dataset: Dataset
    threads: int | None
    scanner: Scanner | None = None
    query: Query = "snapshot"
    state: State = "snapshot"
    problem: Exception | None = None
    scans: dict[str, Scan] = field(default_factory=dict)
    datasets: list[Any] = field(default_factory=list)
    con: duckdb.DuckDBPyConnection | None = None

    def request(self, table: str, columns: Sequence[str] | None = None) -> ScanRequest:
        """What it is asked for a table."""
        return ScanRequest(
            table=str(self.dataset.tables[table].path),
            query=self.query,
            columns=columns,
            threads=self.threads,
        )

    @property
    def answers_itself(self) -> bool:
        """Whether the reader's own engine answers queries, in the types of its own SQL."""
        return self.scanner is not None and bool(self.scanner.capabilities.get("sql"))

    def answer(self, sql: str) -> Sequence[tuple[Any, ...]]:
        """The rows of a query over all tables of the data set."""
        if self.answers_itself:
            first = next(iter(self.scans.values()))
            assert isinstance(first, Answering)
            plain = {name: t.path for name, t in self.dataset.tables.items() if t.is_plain}
            return first.answer(sql, {**plain, **self.scans})
        assert self.con is not None
        with original_errors(*self.datasets):
            return list(self.con.execute(sql).fetchall())

    def close(self) -> None:
        """Close the connection."""
        if self.con is not None:
            self.con.close()


def open_reader(
    name: str, scanner: Scanner | Exception, dataset: Dataset, threads: int | None
) -> Reader:
    """Open a reader's tables, for queries in DuckDB or its own engine; no row is read yet."""
    reader = Reader(name, dataset, threads)
    if isinstance(scanner, Exception):
        reader.problem = scanner
        return reader
    reader.scanner = scanner
    try:
        reader.query, reader.state = _view_of(scanner)
        _require_formats(scanner, dataset)
        reader.con = _connect(dataset, threads)
        for table in tables_to_read(dataset):
            request = reader.request(table)
            scan = reader.scans[table] = scanner.open(request)
            if reader.answers_itself:
                continue
            if scanner.capabilities.get("relation"):
                assert isinstance(scan, Related)
                scan.relation(reader.con).create_view(table)
                continue
            pushes = scanner.capabilities.get("pushdown")
            found = scan.dataset() if pushes else StreamDataset(scanner, request, scan.schema)
            reader.datasets.append(found)
            reader.con.register(table, found)
    except Exception as error:
        reader.problem = error
    return reader


def _view_of(scanner: Scanner) -> tuple[Query, State]:
    """The merged view if it is offered, else the base files alone."""
    if scanner.capabilities.get("query.snapshot"):
        return "snapshot", "snapshot"
    if scanner.capabilities.get("query.read-optimized"):
        return "read-optimized", "base"
    raise RefusedError(
        f"{scanner.name} states neither query.snapshot nor query.read-optimized, so it is not asked"
    )


def _require_formats(scanner: Scanner, dataset: Dataset) -> None:
    """A reader is not asked for tables of a format that it does not state."""
    for name in dataset.formats:
        if not scanner.capabilities.get(f"formats.{name}"):
            raise RefusedError(f"{scanner.name} does not state formats.{name}, so it is not asked")


def _connect(dataset: Dataset, threads: int | None) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    con.execute("SET enable_progress_bar = false")
    if threads is not None:
        con.execute(f"SET threads = {int(threads)}")
    for name, table in dataset.tables.items():
        if table.is_plain:
            files = str(table.path / "*.parquet").replace("'", "''")
            con.execute(f"CREATE VIEW {quote(name)} AS SELECT * FROM read_parquet('{files}')")  # noqa: S608 - our own path, quoted
    return con
