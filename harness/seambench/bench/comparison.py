"""The main job: readers times data sets times queries, each answer checked before its time counts.

Readers are known by name only. One that states `query.snapshot` is asked for the merged view and
judged by the oracle's snapshot; one that does not, but states `query.read-optimized`, is asked for
the base files alone and judged by the oracle's base state. The workload is derived from TPC-H and
not comparable with published TPC-H results.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from seambase.dataset import original_errors
from seambase.errors import RefusedError, SeambenchError, UnavailableError, UsageError
from seambase.scan import Query
from seambench.bench import compare, measure
from seambench.contracts import registry
from seambench.contracts.outcomes import FAILING
from seambench.contracts.scan import Scan, Scanner, ScanRequest
from seambench.data import Answer, Dataset, State, answer, connect
from seambench.data.tpch import TABLES
from seambench.engines.digest import digest_reader, digest_table, quote, rows_of
from seambench.engines.stream_dataset import StreamDataset
from seambench.records import record

__all__ = [
    "SCANS",
    "ComparisonOptions",
    "Listener",
    "compare_readers",
    "failures",
    "write_records",
]

#: Pure scans of lineitem: name and columns (None: all of them).
SCANS: Mapping[str, list[str] | None] = {
    "all": None,
    "q6": ["l_shipdate", "l_discount", "l_quantity", "l_extendedprice"],
    "count": [],
}
_SCANNED = "lineitem"


class Listener:
    """Told what happens; the command line shows it. This one keeps silent."""

    def plan(self, cases: int) -> None:
        """Number of cases (of all data sets together) to come."""

    def case(self, dataset: str, case: str) -> None:
        """A case begins."""

    def running(self, reader: str) -> None:
        """A run of a reader begins."""

    def done(self, timing: Mapping[str, Any], reader: str) -> None:
        """A reader is done with a case."""


@dataclass(frozen=True)
class ComparisonOptions:
    """What to compare.

    Attributes:
        readers: names in the registry.
        datasets: data sets that hold at least one Hudi table.
        queries: numbers of the suite's queries; none for scans only.
        scans: names from `SCANS`.
        scans_only: readers that take no part in the queries.
        suite: name of the suite of queries.
        samples: hot runs of each.
        threads: for readers and DuckDB; None for one per core.
        budget_seconds: see `seambench.bench.measure.interleave`.
        memory: whether to measure the peak memory of streamed scans of all columns, each in a
            process of its own.
        command: what was typed, for the record.
    """

    readers: Sequence[str]
    datasets: Sequence[Dataset]
    queries: Sequence[int] = tuple(range(1, 23))
    scans: Sequence[str] = tuple(SCANS)
    scans_only: Sequence[str] = ()
    suite: str = "tpch"
    samples: int = 5
    threads: int | None = None
    budget_seconds: float | None = 60.0
    memory: bool = True
    command: str = "seambench bench"


@dataclass
class _Reader:
    """A reader on one data set; `problem` says why it cannot take part."""

    name: str
    scanner: Scanner | None = None
    query: Query = "snapshot"
    state: State = "snapshot"
    problem: Exception | None = None
    scans: dict[str, Scan] = field(default_factory=dict)
    datasets: list[Any] = field(default_factory=list)
    con: duckdb.DuckDBPyConnection | None = None


def compare_readers(
    options: ComparisonOptions, listener: Listener | None = None
) -> list[dict[str, Any]]:
    """Run the comparison.

    Returns:
        One record per reader (see `seambench.records.record`), not yet written. A reader that is
        not there or answers wrongly has a record too, which says so.

    Raises:
        UsageError: unknown reader, suite, query or scan, or a data set without Hudi tables.
    """
    listener = listener or Listener()
    queries = _queries(options)
    unknown = [name for name in options.scans if name not in SCANS]
    if unknown:
        raise UsageError(f"unknown scan {unknown[0]!r}; the scans are {', '.join(SCANS)}")
    if not options.readers or not options.datasets:
        raise UsageError("a comparison needs at least one reader and one data set")
    scanners = {name: _scanner(name) for name in options.readers}
    run, machine = record.new_run(options.command, options.samples), record.machine_info()
    listener.plan(len(options.datasets) * (len(options.scans) + len(queries)))
    begin = time.monotonic()
    timings: dict[str, list[dict[str, Any]]] = {name: [] for name in options.readers}
    for dataset in options.datasets:
        bench = _DatasetBench(dataset, options, scanners, listener)
        try:
            bench.run(queries, timings)
        finally:
            bench.close()
    run["seconds"] = round(time.monotonic() - begin, 3)
    about = {name: record.implementation_info(name, scanners[name]) for name in options.readers}
    origin = _origin(options.datasets[0])
    return [
        record.assembled(run, machine, about[name], origin, timings[name])
        for name in options.readers
    ]


def _queries(options: ComparisonOptions) -> dict[int, str]:
    if not options.queries:
        return {}
    known = registry.resolve_suite(options.suite).queries
    for number in options.queries:
        if number not in known:
            raise UsageError(
                f"suite {options.suite} has no query {number}; it has {min(known)} to {max(known)}"
            )
    return {number: known[number] for number in options.queries}


def _scanner(name: str) -> Scanner | Exception:
    """The reader, or why this machine has none; only a wrong name ends the whole run."""
    try:
        scanner: Scanner = registry.resolve("scan", name)
    except UnavailableError as error:
        return error
    return scanner


def _origin(dataset: Dataset) -> dict[str, Any]:
    generator = dataset.manifest["knobs"].get("generator", "unknown")
    text = generator if isinstance(generator, str) else json.dumps(generator)
    rows = {name: table.rows for name, table in dataset.expected("base").items()}
    return {"name": "tpch-derived", "scale": dataset.scale, "generator": text, "rows": rows}


class _DatasetBench:
    """All cases over one data set."""

    def __init__(
        self,
        dataset: Dataset,
        options: ComparisonOptions,
        scanners: Mapping[str, Scanner | Exception],
        listener: Listener,
    ) -> None:
        self._dataset = dataset
        self._options = options
        self._listener = listener
        self._tables = dataset.tables
        self._hudi = [name for name, table in self._tables.items() if table.kind == "hudi"]
        if not self._hudi:
            raise UsageError(f"data set {dataset.name} holds no Hudi table, so nothing to compare")
        self._readers = [self._open(name, scanners[name]) for name in options.readers]

    def run(self, queries: Mapping[int, str], timings: dict[str, list[dict[str, Any]]]) -> None:
        """Run every case, appending one timing per reader and case."""
        suite = registry.resolve_suite(self._options.suite) if queries else None
        cases: list[tuple[str, Callable[[_Reader], _Work]]] = [
            (f"scan/{name}", lambda reader, name=name: self._scan_work(reader, name))  # type: ignore[misc]
            for name in self._options.scans
            if _SCANNED in self._hudi
        ]
        for number, sql in queries.items():
            judge = _Judge(self._dataset, suite, number, sql)
            cases.append(
                (f"tpch/q{number:02d}", lambda reader, judge=judge: judge.work(reader))  # type: ignore[misc]
            )
        for case, make_work in cases:
            self._listener.case(self._dataset.name, case)
            for name, timing in self._run_case(self._taking_part(case), case, make_work).items():
                timings[name].append(timing)
                self._listener.done(timing, name)

    def close(self) -> None:
        """Close the connections."""
        for reader in self._readers:
            if reader.con is not None:
                reader.con.close()

    def _open(self, name: str, scanner: Scanner | Exception) -> _Reader:
        """Register the reader's tables with DuckDB; no row is read yet."""
        reader = _Reader(name)
        if isinstance(scanner, Exception):
            reader.problem = scanner
            return reader
        reader.scanner = scanner
        try:
            reader.query, reader.state = _view_of(scanner)
            reader.con = self._connect()
            for table in self._hudi:
                scan = scanner.open(self._request(reader, table))
                reader.scans[table] = scan
                pushes = scanner.capabilities.get("pushdown")
                dataset = (
                    scan.dataset()
                    if pushes
                    else StreamDataset(scanner, self._request(reader, table), scan.schema)
                )
                reader.datasets.append(dataset)
                reader.con.register(table, dataset)
        except Exception as error:
            reader.problem = error
        return reader

    def _connect(self) -> duckdb.DuckDBPyConnection:
        con = duckdb.connect()
        con.execute("SET enable_progress_bar = false")
        if self._options.threads is not None:
            con.execute(f"SET threads = {int(self._options.threads)}")
        for name, table in self._tables.items():
            if table.kind == "parquet":
                files = str(table.path / "*.parquet").replace("'", "''")
                con.execute(f"CREATE VIEW {quote(name)} AS SELECT * FROM read_parquet('{files}')")  # noqa: S608 - our own path, quoted
        return con

    def _request(
        self, reader: _Reader, table: str, columns: Sequence[str] | None = None
    ) -> ScanRequest:
        return ScanRequest(
            table=str(self._tables[table].path),
            query=reader.query,
            columns=columns,
            threads=self._options.threads,
        )

    def _taking_part(self, case: str) -> list[_Reader]:
        if case.startswith("scan/"):
            return self._readers
        return [reader for reader in self._readers if reader.name not in self._options.scans_only]

    def _run_case(
        self, readers: Sequence[_Reader], case: str, make_work: Callable[[_Reader], _Work]
    ) -> dict[str, dict[str, Any]]:
        works: dict[str, _Work] = {}
        results: dict[str, measure.Measurement] = {}
        for reader in readers:
            works[reader.name] = _Work(reader.state)
            if reader.problem is not None:
                results[reader.name] = measure.Measurement(error=reader.problem)
            else:
                works[reader.name] = make_work(reader)
        competitors = {
            name: measure.Competitor(work.run, work.check)
            for name, work in works.items()
            if name not in results
        }
        results |= measure.interleave(
            competitors,
            self._options.samples,
            budget_seconds=self._options.budget_seconds,
            on_run=self._listener.running,
        )
        return {
            reader.name: self._timing(case, reader, works[reader.name], results[reader.name])
            for reader in readers
        }

    def _scan_work(self, reader: _Reader, name: str) -> _Work:
        """A pure scan: opened, read and kept as an Arrow table."""
        schema = _schema_of(_SCANNED, SCANS[name])
        expected = self._dataset.expected(reader.state)[_SCANNED]
        scanner = reader.scanner
        assert scanner is not None
        request = self._request(reader, _SCANNED, schema.names)
        work = _Work(reader.state, expected=self._scan_digest(reader.state, schema))

        def run() -> pa.Table:
            scan = scanner.open(request)
            work.scans = [scan]
            with scan.to_reader() as stream:
                return stream.read_all()

        def check(table: pa.Table) -> str | None:
            work.rows, work.bytes = table.num_rows, int(table.nbytes)
            problem = compare.schema_difference(schema, table.schema)
            if problem is not None:
                return problem
            work.answer = digest_reader(table, schema)
            if work.answer == work.expected:
                return None
            if not schema.names:
                return f"{rows_of(work.expected or '')} rows expected, {table.num_rows} found"
            with duckdb.connect() as con:
                con.execute("SET enable_progress_bar = false")
                con.register("answer", table)
                expectation = f"({expected.sql})"
                found = compare.relation_difference(con, expectation, "answer", schema.names)
            return found or f"digest {work.expected} expected, {work.answer} found"

        work.run, work.check = run, check
        return work

    def _scan_digest(self, state: State, schema: pa.Schema) -> str:
        """Digest of the oracle's rows of a pure scan; all columns are in the manifest already."""
        expected = self._dataset.expected(state)[_SCANNED]
        if schema.names == _schema_of(_SCANNED, None).names:
            return expected.digest
        with connect(self._dataset, state) as con:
            if schema.names:
                return digest_table(con, _SCANNED, schema)
            return digest_reader(pa.table({"none": pa.nulls(expected.rows)}).select([]))

    def _timing(
        self, case: str, reader: _Reader, work: _Work, result: measure.Measurement
    ) -> dict[str, Any]:
        """One timing as the record wants it."""
        error, outcome = measure.judged(result)
        warnings, paths = [], dict[str, int]()
        for scan in work.scans:
            report = scan.report()
            for path, count in report.paths.items():
                paths[path] = paths.get(path, 0) + int(count)
            warnings += [
                {"file": w.file, "offset": w.offset, "reason": w.reason} for w in report.warnings
            ]
        peak = None
        if outcome == "pass" and case == "scan/all" and self._options.memory:
            self._listener.running(f"{reader.name} (memory)")
            peak, error, outcome = self._peak(reader, work)
        kept = result if outcome == "pass" else measure.Measurement()
        return {
            "case": case,
            "unit": "s",
            "dataset": _dimensions(self._dataset, work.state),
            "query": reader.query,
            "outcome": outcome,
            "cold": [sample.wall for sample in kept.cold],
            "hot": [sample.wall for sample in kept.hot],
            "cpu": [sample.cpu for sample in kept.hot],
            "rows": work.rows,
            "bytes": work.bytes,
            "peak_bytes": peak,
            "growth_bytes": kept.growth_bytes,
            "answer": work.answer,
            "expected": work.expected,
            "paths": paths,
            "warnings": warnings,
            "error": error,
        }

    def _peak(self, reader: _Reader, work: _Work) -> tuple[int | None, str | None, str]:
        schema = _schema_of(_SCANNED, None)
        request = self._request(reader, _SCANNED, schema.names)
        asked = {
            "table": request.table,
            "query": request.query,
            "columns": schema.names,
            "threads": request.threads,
        }
        try:
            drained = measure.run_drain(reader.name, asked)
        except SeambenchError as error:
            return None, str(error), "error"
        if drained.rows != work.rows:
            return None, f"streamed, {drained.rows} rows came; read at once, {work.rows}", "fail"
        return drained.peak_bytes, None, "pass"


@dataclass
class _Work:
    """What a reader has to do for a case, and what came of it.

    `answer` is the digest of the last answer; where doubles lie within the tolerance of
    `seambench.bench.compare`, they count as the oracle's, and the digest is the oracle's too.
    """

    state: State
    expected: str | None = None
    answer: str | None = None
    rows: int | None = None
    bytes: int | None = None
    scans: Sequence[Scan] = ()
    run: Callable[[], Any] = lambda: None
    check: Callable[[Any], str | None] = lambda _: None


class _Judge:
    """One query of the suite, with the oracle's answer for each state that is asked for."""

    def __init__(self, dataset: Dataset, suite: Any, number: int, sql: str) -> None:
        self._dataset = dataset
        self._suite = suite
        self._number = number
        self._sql = sql
        self._answers: dict[State, Answer] = {}

    def work(self, reader: _Reader) -> _Work:
        """The query over a reader's tables."""
        expected = self._expect(reader.state)
        con = reader.con
        assert con is not None
        work = _Work(reader.state, expected=expected.digest)
        work.scans = list(reader.scans.values())
        names = [name for name, _ in expected.columns]

        def run() -> list[tuple[Any, ...]]:
            with original_errors(*reader.datasets):
                return list(con.execute(self._sql).fetchall())

        def check(rows: list[tuple[Any, ...]]) -> str | None:
            work.rows = len(rows)
            problem = compare.row_difference(
                expected.rows, rows, names, ordered=self._suite.ordered(self._number)
            )
            work.answer = expected.digest if problem is None else None
            return problem

        work.run, work.check = run, check
        return work

    def _expect(self, state: State) -> Answer:
        """The oracle's answer; at scale 1 without updates it must be the published one."""
        if state not in self._answers:
            name = f"q{self._number:02d}"
            found = answer(self._dataset, name, self._sql, state)
            plain = self._dataset.expected("snapshot") == self._dataset.expected("base")
            if self._dataset.scale == 1 and plain:
                problem = _published_problem(self._suite, self._number, found.rows)
                if problem is not None:
                    raise SeambenchError(
                        f"{name}: the oracle's answer is not the published one: {problem}"
                    )
            self._answers[state] = found
        return self._answers[state]


def _published_problem(suite: Any, number: int, rows: Sequence[Sequence[Any]]) -> str | None:
    """What tells rows from the published answer, by the rule that stands beside the suite.

    A suite that publishes answers has in its module `published_difference(answer, rows)`.
    """
    differ = getattr(sys.modules[type(suite).__module__], "published_difference", None)
    if differ is None:
        raise RefusedError(f"{type(suite).__module__} has no published_difference(answer, rows)")
    problem: str | None = differ(suite.published_answers(1)[number], rows)
    return problem


def _view_of(scanner: Scanner) -> tuple[Query, State]:
    if scanner.capabilities.get("query.snapshot"):
        return "snapshot", "snapshot"
    if scanner.capabilities.get("query.read-optimized"):
        return "read-optimized", "base"
    raise RefusedError(
        f"{scanner.name} states neither query.snapshot nor query.read-optimized, so it is not asked"
    )


def _schema_of(table: str, columns: Sequence[str] | None) -> pa.Schema:
    """Names and types of a Hudi table's columns as they were written."""
    schema = TABLES[table].schema.append(pa.field("ts", pa.int64()))
    return schema if columns is None else pa.schema([schema.field(name) for name in columns])


def _dimensions(dataset: Dataset, state: State) -> dict[str, Any]:
    knobs = dataset.manifest["knobs"]
    return {
        "name": dataset.layout,
        "scale": dataset.scale,
        "digest": dataset.digest,
        "state": state,
        "update_ratio": knobs.get("update_ratio"),
        "slice_share": knobs.get("slice_share"),
        "table_version": knobs.get("table_version"),
        "ordering": knobs.get("ordering"),
        "log_format": knobs.get("log_format"),
        "slices": knobs.get("slices"),
    }


def failures(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Timings that fail the run, one line each."""
    return [
        f"{one['implementation']['name']}: {timing['case']} on {timing['dataset']['name']}: "
        f"{timing['error']}"
        for one in records
        for timing in one["timings"]
        if timing["outcome"] in FAILING
    ]


def write_records(results: Path, records: Sequence[Mapping[str, Any]]) -> list[Path]:
    """Write all records of a run; see `seambench.records.record.write_record`."""
    return [record.write_record(results, one) for one in records]
