"""What readers are timed at: pure scans of one table, and queries of a suite over all of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from seambase.errors import RefusedError, SeambenchError
from seambase.wording import counted
from seambench.bench.apart import Task
from seambench.bench.measure import (
    Competitor,
    MemoryRun,
    RepeatingClock,
    family_clock,
    growth_of,
)
from seambench.bench.memory import run_drain
from seambench.bench.readers import Reader, opened
from seambench.contracts import registry
from seambench.contracts.scan import Scan
from seambench.data import Dataset, State, answer, connect
from seambench.data.tpch import TABLES
from seambench.engines.digest import digest_reader, digest_table, rows_of
from seambench.engines.spark import running_cluster
from seambench.records.model import Skipped
from seambench.records.verdicts import Arrived, ExpectedAnswer, ExpectedRows, Finding

#: Pure scans: name and columns (None: all of them).
SCANS: Mapping[str, list[str] | None] = {
    "all": None,
    "q6": ["l_shipdate", "l_discount", "l_quantity", "l_extendedprice"],
    "count": [],
}
#: The table of pure scans.
SCANNED = "lineitem"


@dataclass
class LastRun:
    """What is known of a reader's last run."""

    paths: dict[str, int] = field(default_factory=dict)  # slices read by each path
    warnings: list[Skipped] = field(default_factory=list)  # damage that it skipped
    spent: dict[str, float] = field(default_factory=dict)  # seconds by what they were spent on
    cluster: str | None = None  # Spark's master, where tasks ran in processes of their own
    evicted: bool = False  # whether the files were given out of the page cache before its first run


class Case(Protocol):
    """One thing that readers are timed at."""

    @property
    def name(self) -> str:
        """In records, e.g. `scan/all`."""

    def task(self, reader: Reader) -> tuple[Task, str]:
        """What this reader has to do, and the digest of the oracle's rows."""


class ScanCase:
    """One of `SCANS`: a scan of some columns, kept as an Arrow table, maybe with its memory."""

    def __init__(self, scan: str, *, memory: bool) -> None:
        self.name = f"scan/{scan}"
        self._columns = SCANS[scan]
        self._schema = _schema_of(SCANNED, self._columns)
        self._memory = memory

    def task(self, reader: Reader) -> tuple[Task, str]:
        """See `Case`."""
        expected = self._expected(reader.dataset, reader.state)
        streamed = self._columns is None
        task = Task(_scanning, (reader, expected, streamed), memory=self._memory)
        return task, expected.digest

    def _expected(self, dataset: Dataset, state: State) -> ExpectedRows:
        """The oracle's rows; the digest of all columns is in the manifest already."""
        table = dataset.expected(state)[SCANNED]
        digest = table.digest
        if self._columns is not None:
            with connect(dataset, state) as con:
                if self._columns:
                    digest = digest_table(con, SCANNED, self._schema)
                else:
                    digest = digest_reader(pa.table({"none": pa.nulls(table.rows)}).select([]))
        return ExpectedRows(digest, self._schema, table.sql)


def _scanning(reader: Reader, expected: ExpectedRows, streamed: bool) -> Competitor:
    """In the process that scans."""
    scanner = registry.resolve("scan", reader.name)
    request = reader.request(SCANNED, expected.schema.names)
    scans: list[Scan] = []

    def run() -> pa.Table:
        scan = scanner.open(request)
        scans[:] = [scan]
        with scan.to_reader() as stream:
            return stream.read_all()

    memory = growth_of(run, expected.judge)
    if streamed:
        memory = _streamed(reader, memory, rows_of(expected.digest), expected.schema.names)
    return _of_tables(reader, run, expected.judge, memory, lambda: scans)


def _streamed(reader: Reader, growth: MemoryRun, wanted: int, columns: Sequence[str]) -> MemoryRun:
    """Growth by a run here, and the peak of a stream in a process of its own."""

    def run() -> tuple[Finding | Arrived, int | None, int | None]:
        finding, _, growth_bytes = growth()
        request = reader.request(SCANNED, columns)
        drained = run_drain(
            reader.name,
            {
                "table": request.table,
                "query": request.query,
                "columns": list(columns),
                "threads": request.threads,
            },
        )
        if finding.wrong is None and drained.rows != wanted:
            lost = f"streamed, {counted(drained.rows, 'row')} came; {wanted} are expected"
            finding = _with_difference(finding, lost)
        return finding, drained.peak_bytes, growth_bytes

    return run


def _of_tables(
    reader: Reader,
    run: Callable[[], Any],
    judge: Callable[[Any], Finding],
    memory: MemoryRun,
    scans: Callable[[], Sequence[Scan]],
) -> Competitor:
    """A competitor whose first run finds the data set's files outside of the page cache."""
    evicted: list[bool] = []
    clock = RepeatingClock(family_clock)

    def timed(run: Callable[[], Any]) -> Any:
        if not evicted:
            evicted.append(_evict(reader.dataset.path))
        return clock(run)

    return Competitor(run, judge, timed, memory, lambda: _last_run(scans(), evicted == [True]))


def _evict(folder: Path) -> bool:
    """Ask the operating system to give files out of its page cache; False where it cannot."""
    if not hasattr(os, "posix_fadvise"):
        return False
    os.sync()  # what is not written yet would stay
    for path in folder.rglob("*"):
        if path.is_file():
            file = os.open(path, os.O_RDONLY)
            try:
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(file)
    return True


def _last_run(scans: Sequence[Scan], evicted: bool) -> LastRun:
    """What the reports of scans say together."""
    run = LastRun(cluster=running_cluster(), evicted=evicted)
    for scan in scans:
        report = scan.report()
        for path, count in report.paths.items():
            run.paths[path] = run.paths.get(path, 0) + int(count)
        for what, seconds in report.seconds.items():
            run.spent[what] = run.spent.get(what, 0.0) + seconds
        run.warnings += [
            Skipped(file=w.file, offset=w.offset, reason=w.reason) for w in report.warnings
        ]
    return run


def _with_difference(finding: Finding | Arrived, difference: str) -> Finding:
    """The same finding with what else is wrong."""
    assert isinstance(finding, Finding)
    return Finding(finding.expected, finding.answer, difference, finding.rows, finding.bytes)


class QueryCase:
    """One query of the suite, with the oracle's answer for each state that is asked for."""

    def __init__(self, name: str, suite: Any, number: int, *, memory: bool) -> None:
        self.name = f"{name}/q{number:02d}"
        self._suite = suite
        self._number = number
        self._sql: str = suite.queries[number]
        self._memory = memory
        self._answers: dict[tuple[str, State], ExpectedAnswer] = {}

    def task(self, reader: Reader) -> tuple[Task, str]:
        """See `Case`."""
        expected = self._expect(reader.dataset, reader.state)
        task = Task(_querying, (reader, self._sql, expected), memory=self._memory)
        return task, expected.digest

    def _expect(self, dataset: Dataset, state: State) -> ExpectedAnswer:
        """The oracle's answer; at scale 1 without updates the published one, if there is one."""
        key = dataset.name, state
        if key not in self._answers:
            name = f"q{self._number:02d}"
            right = answer(dataset, name, self._sql, state)
            plain = dataset.expected("snapshot") == dataset.expected("base")
            if dataset.scale == 1 and plain and hasattr(self._suite, "published_answers"):
                problem = _published_problem(self._suite, self._number, right.rows)
                if problem is not None:
                    raise SeambenchError(
                        f"{name}: the oracle's answer is not the published one: {problem}"
                    )
            ordered = self._suite.ordered(self._number)
            self._answers[key] = ExpectedAnswer(right.digest, right.columns, right.rows, ordered)
        return self._answers[key]


def _querying(reader: Reader, sql: str, expected: ExpectedAnswer) -> Competitor:
    """In the process that answers."""
    tables = opened(reader)
    judge = partial(expected.judge, own_types=tables.answers_itself)

    def run() -> Sequence[tuple[Any, ...]]:
        return tables.answer(sql)

    return _of_tables(reader, run, judge, growth_of(run, judge), lambda: [*tables.scans.values()])


def _published_problem(suite: Any, number: int, rows: Sequence[Sequence[Any]]) -> str | None:
    """What tells rows from the published answer, by the rule that stands beside the suite.

    A suite that publishes answers has in its module `published_difference(answer, rows)`.
    """
    differ = getattr(sys.modules[type(suite).__module__], "published_difference", None)
    if differ is None:
        raise RefusedError(f"{type(suite).__module__} has no published_difference(answer, rows)")
    problem: str | None = differ(suite.published_answers(1)[number], rows)
    return problem


def _schema_of(table: str, columns: Sequence[str] | None) -> pa.Schema:
    """Names and types of a table's columns as they were written."""
    schema = TABLES[table].schema.append(pa.field("ts", pa.int64()))
    return schema if columns is None else pa.schema([schema.field(name) for name in columns])
