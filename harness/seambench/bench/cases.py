"""What readers are timed at: pure scans of one table, and queries of a suite over all of them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import pyarrow as pa

from seambase.errors import RefusedError, SeambenchError
from seambench.bench.measure import Competitor, MemoryRun, family_clock, growth_of
from seambench.bench.memory import run_drain
from seambench.bench.readers import Reader
from seambench.contracts.scan import Scan
from seambench.data import Dataset, State, answer, connect
from seambench.data.tpch import TABLES
from seambench.engines.digest import digest_reader, digest_table, rows_of
from seambench.records.verdicts import Arrived, ExpectedAnswer, ExpectedRows, Finding

__all__ = ["SCANNED", "SCANS", "Case", "QueryCase", "ScanCase", "Work"]

#: Pure scans: name and columns (None: all of them).
SCANS: Mapping[str, list[str] | None] = {
    "all": None,
    "q6": ["l_shipdate", "l_discount", "l_quantity", "l_extendedprice"],
    "count": [],
}
#: The table of pure scans.
SCANNED = "lineitem"


@dataclass
class Work:
    """What a reader has to do for a case.

    Attributes:
        competitor: runs and judges it.
        expected: digest of the oracle's rows.
        scans: those whose reports tell of the last run.
    """

    competitor: Competitor
    expected: str
    scans: list[Scan] = field(default_factory=list)


class Case(Protocol):
    """One thing that readers are timed at."""

    @property
    def name(self) -> str:
        """In records, e.g. `scan/all`."""
        ...

    def work(self, reader: Reader) -> Work:
        """What this reader has to do."""
        ...


class ScanCase:
    """A scan of some columns, kept as an Arrow table.

    Args:
        dataset: whose table.
        scan: one of `SCANS`.
        memory: whether to measure memory: of all columns as a stream in a process of its own.
    """

    def __init__(self, dataset: Dataset, scan: str, *, memory: bool) -> None:
        self.name = f"scan/{scan}"
        self._dataset = dataset
        self._columns = SCANS[scan]
        self._schema = _schema_of(SCANNED, self._columns)
        self._memory = memory

    def work(self, reader: Reader) -> Work:
        """See `Case`."""
        scanner = reader.scanner
        assert scanner is not None
        expected = self._expected(reader.state)
        request = reader.request(SCANNED, self._schema.names)
        work = Work(Competitor(lambda: None, expected.judge), expected.digest)

        def run() -> pa.Table:
            scan = scanner.open(request)
            work.scans = [scan]
            with scan.to_reader() as stream:
                return stream.read_all()

        memory = self._memory_run(reader, run, expected) if self._memory else None
        work.competitor = Competitor(run, expected.judge, family_clock, memory)
        return work

    def _memory_run(self, reader: Reader, run: Any, expected: ExpectedRows) -> MemoryRun:
        growth = growth_of(run, expected.judge)
        if self._columns is not None:
            return growth

        def streamed() -> tuple[Finding | Arrived, int | None, int | None]:
            found, _, growth_bytes = growth()
            request = reader.request(SCANNED, self._schema.names)
            drained = run_drain(
                reader.name,
                {
                    "table": request.table,
                    "query": request.query,
                    "columns": self._schema.names,
                    "threads": request.threads,
                },
            )
            wanted = rows_of(expected.digest)
            if found.wrong is None and drained.rows != wanted:
                lost = f"streamed, {drained.rows} rows came; {wanted} are expected"
                found = _with_difference(found, lost)
            return found, drained.peak_bytes, growth_bytes

        return streamed

    def _expected(self, state: State) -> ExpectedRows:
        """The oracle's rows; the digest of all columns is in the manifest already."""
        table = self._dataset.expected(state)[SCANNED]
        digest = table.digest
        if self._columns is not None:
            with connect(self._dataset, state) as con:
                if self._columns:
                    digest = digest_table(con, SCANNED, self._schema)
                else:
                    digest = digest_reader(pa.table({"none": pa.nulls(table.rows)}).select([]))
        return ExpectedRows(digest, self._schema, table.sql)


def _with_difference(found: Finding | Arrived, difference: str) -> Finding:
    """The same finding with what else is wrong."""
    assert isinstance(found, Finding)
    return Finding(found.expected, found.answer, difference, found.rows, found.bytes)


class QueryCase:
    """One query of the suite, with the oracle's answer for each state that is asked for.

    Args:
        dataset: over which tables.
        suite: of queries.
        number: of the query.
        memory: whether to measure memory.
    """

    def __init__(self, dataset: Dataset, suite: Any, number: int, *, memory: bool) -> None:
        self.name = f"tpch/q{number:02d}"
        self._dataset = dataset
        self._suite = suite
        self._number = number
        self._sql: str = suite.queries[number]
        self._memory = memory
        self._answers: dict[State, ExpectedAnswer] = {}

    def work(self, reader: Reader) -> Work:
        """See `Case`."""
        expected = self._expect(reader.state)
        judge = partial(expected.judge, own_types=reader.answers_itself)

        def run() -> Sequence[tuple[Any, ...]]:
            return reader.answer(self._sql)

        memory = growth_of(run, judge) if self._memory else None
        competitor = Competitor(run, judge, family_clock, memory)
        return Work(competitor, expected.digest, list(reader.scans.values()))

    def _expect(self, state: State) -> ExpectedAnswer:
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
            ordered = self._suite.ordered(self._number)
            expected = ExpectedAnswer(found.digest, found.columns, found.rows, ordered)
            self._answers[state] = expected
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


def _schema_of(table: str, columns: Sequence[str] | None) -> pa.Schema:
    """Names and types of a table's columns as they were written."""
    schema = TABLES[table].schema.append(pa.field("ts", pa.int64()))
    return schema if columns is None else pa.schema([schema.field(name) for name in columns])
