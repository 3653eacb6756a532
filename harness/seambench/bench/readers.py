"""A reader on one data set: what it is asked, and its tables where queries are answered.

That is DuckDB, for all but readers that come with an engine of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from seambase.dataset import original_errors
from seambase.errors import RefusedError, UnavailableError, UsageError
from seambase.scan import Query
from seambench.contracts import registry
from seambench.contracts.peers.catalogue import peer_of
from seambench.contracts.peers.environments import python_of
from seambench.contracts.scan import Answering, Related, Scan, Scanner, ScanRequest
from seambench.data import Dataset, State
from seambench.engines.digest import quote
from seambench.engines.stream_dataset import StreamDataset


def tables_to_read(dataset: Dataset) -> list[str]:
    """Names of the tables that lie in a table format; the others are plain Parquet."""
    found = [name for name, table in dataset.tables.items() if not table.is_plain]
    if not found:
        raise UsageError(
            f"data set {dataset.name} holds no table in a table format, so nothing to compare"
        )
    return found


@dataclass(frozen=True)
class Reader:
    """A reader of one data set, and what it is asked."""

    name: str
    dataset: Dataset
    threads: int | None  # for its scans; None for one per core
    query: Query = "snapshot"  # the view it is asked for
    state: State = "snapshot"  # which of the oracle's states that is
    problem: Exception | None = None

    def request(self, table: str, columns: Sequence[str] | None = None) -> ScanRequest:
        """What it is asked for a table."""
        return ScanRequest(
            table=str(self.dataset.tables[table].path),
            query=self.query,
            columns=columns,
            threads=self.threads,
        )


def reader_of(
    name: str, scanner: Scanner | Exception, dataset: Dataset, threads: int | None
) -> Reader:
    """What a reader can be asked of a data set; nothing is opened."""
    if isinstance(scanner, Exception):
        return Reader(name, dataset, threads, problem=scanner)
    try:
        query, state = _view_of(scanner)
        _require_formats(scanner, dataset)
        if versioned := peer_of("scan", name):
            python_of(*versioned)  # it is installed before, and not while it is timed
    except (RefusedError, UnavailableError) as error:
        return Reader(name, dataset, threads, problem=error)
    return Reader(name, dataset, threads, query, state)


class Opened:
    """All tables of a reader's data set, for queries in DuckDB or its own engine.

    Attributes:
        scans: of its tables in a table format.
    """

    def __init__(self, reader: Reader) -> None:
        self._dataset = reader.dataset
        scanner: Scanner = registry.resolve("scan", reader.name)
        self.answers_itself = bool(scanner.capabilities.get("sql"))
        self.scans: dict[str, Scan] = {}
        self._streams: list[Any] = []
        self._con = _connect(reader.dataset, reader.threads)
        for table in tables_to_read(reader.dataset):
            request = reader.request(table)
            scan = self.scans[table] = scanner.open(request)
            if self.answers_itself:
                continue
            if scanner.capabilities.get("relation"):
                assert isinstance(scan, Related)
                scan.relation(self._con).create_view(table)
                continue
            pushes = scanner.capabilities.get("pushdown")
            stream = scan.dataset() if pushes else StreamDataset(scanner, request, scan.schema)
            self._streams.append(stream)
            self._con.register(table, stream)

    def answer(self, sql: str) -> Sequence[tuple[Any, ...]]:
        """The rows of a query over all tables of the data set."""
        if self.answers_itself:
            first = next(iter(self.scans.values()))
            assert isinstance(first, Answering)
            plain = {name: t.path for name, t in self._dataset.tables.items() if t.is_plain}
            return first.answer(sql, {**plain, **self.scans})
        with original_errors(*self._streams):
            return list(self._con.execute(sql).fetchall())


#: What this process has opened, by reader, folder and threads: queries share it.
_opened: dict[tuple[str, Path, int | None], Opened] = {}


def opened(reader: Reader) -> Opened:
    """The tables of a reader, opened once in this process; no row is read yet."""
    key = reader.name, reader.dataset.path, reader.threads
    if key not in _opened:
        _opened[key] = Opened(reader)
    return _opened[key]


def close_opened() -> None:
    """Let go of what this process has opened."""
    _opened.clear()


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
