"""Plans over workers, each way of carrying rows in turns: checked against the oracle, recorded.

The oracle is the generator: digests of its tables, and what DuckDB answers over them in one piece.
"""

from __future__ import annotations

import base64
import itertools
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from seambase.errors import RefusedError, SeambenchError, UnavailableError
from seambench.bench.compare import row_difference, schema_difference
from seambench.bench.comparison import Listener
from seambench.bench.exchange.cluster import Cluster, Ran, Way
from seambench.bench.exchange.floor import copy_seconds
from seambench.bench.exchange.plans import Plan, plan_named, query
from seambench.contracts import registry
from seambench.data.tpch import generate_part, generator_version
from seambench.engines.digest import digest_reader, union
from seambench.records import record

__all__ = ["WITHIN", "ExchangeOptions", "Oracle", "Workers", "measure_exchanges", "write_tables"]

#: Transports by which rows never leave their process: all workers of a run are in one.
WITHIN = ("pass-through", "local")


@dataclass(frozen=True)
class ExchangeOptions:
    """What to run.

    Attributes:
        implementation: name in the registry.
        plans: names of plans.
        workers: numbers of workers.
        transports: of the exchange seam.
        formats: what rows become on network transports.
        chunk_rows: rows of a batch.
        scale: of TPC-H.
        samples: timed runs of each, after a cold one.
        timeout: seconds that a step of a run may take.
        command: what was typed, for the record.
    """

    implementation: str = "seambench"
    plans: Sequence[str] = ("shuffle", "broadcast", "random", "q01", "q03", "one-key", "zipf")
    workers: Sequence[int] = (2,)
    transports: Sequence[str] = (*WITHIN, "sockets", "grpc", "flight")
    formats: Sequence[str] = ("presto",)
    chunk_rows: Sequence[int] = (4096,)
    scale: float = 0.01
    samples: int = 3
    timeout: float = 300.0
    command: str = "seambench exchange"


def write_tables(folder: Path, plans: Sequence[Plan], scale: float) -> dict[str, int]:
    """Generate what plans need as `folder/TABLE.arrow`; the rows of each table."""
    rows = {}
    for name in dict.fromkeys(name for plan in plans for name in plan.tables):
        table = pa.Table.from_batches(generate_part(name, scale, 1, 1))
        with pa.ipc.new_file(folder / f"{name}.arrow", table.schema) as writer:
            writer.write_table(table)
        rows[name] = table.num_rows
    return rows


class Oracle:
    """What must come of a plan.

    Args:
        plan: the plan.
        folder: its tables; see `write_tables`.
    """

    def __init__(self, plan: Plan, folder: Path) -> None:
        self._plan = plan
        tables = {}
        for name in plan.tables:
            with pa.memory_map(str(folder / f"{name}.arrow")) as file:
                found = pa.ipc.open_file(file).read_all()
            tables[name] = plan.derive.get(name, lambda table: table)(found)
        if plan.number is None:
            self._digests = [digest_reader(table) for table in tables.values()]
            self._keys = {
                step.name: len(tables[step.name][step.keys[0]].unique())
                for step in plan.steps
                if step.keys
            }
        else:
            sql = registry.resolve_suite("tpch").queries[plan.number]
            self._answer = query(sql, **tables)
            self._digests = [digest_reader(self._answer)]

    def digest(self, workers: int) -> str:
        """Of all rows that so many workers must have together."""
        return union(self._digests * (workers if self._plan.copies else 1))

    def judge(self, told: Sequence[Mapping[str, Any]]) -> tuple[str, str | None]:
        """The digest of an outcome, and what is wrong with it.

        Doubles of a query's answer may differ by a rounding; its digest is then the oracle's.
        """
        if self._plan.number is not None:
            problem = self._answer_problem(told[0]["answer"])
            return self.digest(1), problem
        found = union(digest for one in told for digest in one["digests"])
        expected = self.digest(len(told))
        if found != expected:
            return found, f"rows {expected} were sent, {found} were received"
        if self._plan.copies and len({tuple(one["digests"]) for one in told}) > 1:
            return found, "workers that must have the same rows do not"
        for step, keys in self._keys.items():
            parts = [one["keys"][step] for one in told]
            if sum(parts) != keys:
                return found, f"{step} has {keys} keys; its workers have {parts}: some are at two"
        return found, None

    def _answer_problem(self, packed: str) -> str | None:
        found = pa.ipc.open_stream(base64.b64decode(packed)).read_all()
        difference = schema_difference(self._answer.schema, found.schema)
        return difference or row_difference(
            _rows(self._answer), _rows(found), found.schema.names, ordered=True
        )


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


class Workers(Protocol):
    """Where plans run."""

    def prepare(self, plan: str, workers: int, folder: Path) -> None:
        """Get so many workers ready, each with its part of a plan's tables in `folder`.

        Plans come in turns for one number of workers, so that these may be kept.
        """
        ...

    def run(self, way: Way) -> Ran:
        """Run the plan once.

        Raises:
            SeambenchError: a worker failed.
        """
        ...

    def close(self) -> None:
        """End all workers. Repeatable."""
        ...


class _Local:
    """Workers on this machine: threads of one process where rows stay in it, else processes."""

    def __init__(self, implementation: str, timeout: float) -> None:
        self._implementation = implementation
        self._timeout = timeout
        self._prepared: tuple[str, int, Path] | None = None
        self._clusters: dict[bool, Cluster] = {}

    def prepare(self, plan: str, workers: int, folder: Path) -> None:
        """See `Workers`; starting a process takes longer than most of what it is to do."""
        if self._prepared is not None and self._prepared[1] != workers:
            self.close()
        self._prepared = plan, workers, folder
        for cluster in self._clusters.values():
            cluster.prepare(plan, folder)

    def run(self, way: Way) -> Ran:
        """See `Workers`; a cluster in which something failed is of no more use."""
        assert self._prepared is not None
        plan, workers, folder = self._prepared
        together = way.transport in WITHIN
        try:
            if together not in self._clusters:
                hosts = [workers] if together else [1] * workers
                made = Cluster(self._implementation, hosts, timeout=self._timeout)
                self._clusters[together] = made
                made.prepare(plan, folder)
            return self._clusters[together].run(way)
        except SeambenchError:
            if together in self._clusters:
                self._clusters.pop(together).close()
            raise

    def close(self) -> None:
        """See `Workers`."""
        for cluster in self._clusters.values():
            cluster.close()
        self._clusters = {}


def measure_exchanges(
    options: ExchangeOptions,
    listener: Listener | None = None,
    workers: Workers | None = None,
    prefix: str = "exchange-workers",
) -> list[dict[str, Any]]:
    """Run every plan over every way, in turns, and judge each outcome.

    Args:
        options: what to run.
        listener: is told what happens.
        workers: where; None for this machine.
        prefix: first part of the cases' names.

    Returns:
        One record of the implementation (see `seambench.records.record`), not yet written. Cases
        are called `PREFIX/PLAN/TRANSPORT/FORMAT/WORKERS/CHUNK_ROWS`; the format of what stays in a
        process is `none`. On this machine `copy/unix` is the floor: the plan's bytes over a bare
        socket.

    Raises:
        UsageError: an unknown implementation or plan.
    """
    listener = listener or Listener()
    with_floor = workers is None
    workers = workers or _Local(options.implementation, options.timeout)
    implementation = registry.resolve("exchange", options.implementation)
    plans = [plan_named(name) for name in options.plans]
    run, machine = record.new_run(options.command, options.samples), record.machine_info()
    begin = time.monotonic()
    listener.plan(len(list(_ways(options))) * len(plans) * len(options.workers))
    timings: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="seambench-") as name:
        folder = Path(name)
        rows = write_tables(folder, plans, options.scale)
        try:
            oracles = {plan.name: Oracle(plan, folder) for plan in plans}
            for count, plan in itertools.product(options.workers, plans):
                workers.prepare(plan.name, count, folder)
                name = f"{prefix}/{plan.name}"
                oracle = oracles[plan.name]
                suite = _Suite(options, plan, oracle, workers, name, count, with_floor)
                timings += suite.measure(listener)
        finally:
            workers.close()
    run["seconds"] = round(time.monotonic() - begin, 3)
    dataset = {
        "name": "tpch-derived",
        "scale": options.scale,
        "generator": generator_version(),
        "rows": rows,
    }
    about = record.implementation_info(options.implementation, implementation)
    return [record.assembled(run, machine, about, dataset, timings)]


def _ways(options: ExchangeOptions) -> Iterator[tuple[str, Way]]:
    for transport in options.transports:
        formats = ("none",) if transport in WITHIN else options.formats
        for name in formats:
            for rows in options.chunk_rows:
                way = Way(transport, "arrow" if name == "none" else name, rows)
                yield f"{transport}/{name}", way


class _Competitor:
    """One way of carrying a plan's rows, and what it took so far; or a copy of what a run moved."""

    def __init__(self, name: str, way: Way, like: Ran | None = None) -> None:
        self.name = name
        self.way = way
        self.like = like
        self.runs: list[Ran] = []
        self.answer: str | None = None
        self.outcome = "pass"
        self.error: str | None = None

    def fail(self, outcome: str, error: str) -> None:
        """No time without a right answer: what was measured before goes too."""
        self.runs.clear()
        self.outcome, self.error = outcome, error


@dataclass(frozen=True)
class _Suite:
    """All ways for one plan and one number of workers."""

    options: ExchangeOptions
    plan: Plan
    oracle: Oracle
    workers: Workers
    prefix: str
    count: int
    with_floor: bool

    def measure(self, listener: Listener) -> list[dict[str, Any]]:
        """Rounds in which each way runs once."""
        competitors = [_Competitor(name, way) for name, way in _ways(self.options)]
        floors: list[_Competitor] = []
        for number in range(self.options.samples + 1):
            for one in competitors:
                if number == 0:
                    listener.case(f"{self.count} workers", self._case(one))
                if one.error is None:
                    self._run_once(one)
            if self.with_floor and number == 0:
                floors = self._floors(competitors)
            for floor in floors:
                self._copy_once(floor)
        timings = [self._timing(one) for one in (*competitors, *floors)]
        for timing in timings:
            listener.done(timing, self.options.implementation)
        return timings

    def _floors(self, competitors: Sequence[_Competitor]) -> list[_Competitor]:
        """A plain copy of what the plan moves, for each size of chunks at which it did."""
        found = {}
        for one in competitors:
            if one.runs and one.runs[0].bytes > 0:
                way = Way("copy", "unix", one.way.chunk_rows)
                found[way.chunk_rows] = _Competitor("copy/unix", way, like=one.runs[0])
        return list(found.values())

    def _copy_once(self, floor: _Competitor) -> None:
        """As many bytes as a run moved. No row is made or looked at: there is nothing to judge."""
        assert floor.like is not None
        cpu = time.process_time()
        seconds = copy_seconds(floor.like.bytes)
        cpu = time.process_time() - cpu
        floor.runs.append(replace(floor.like, seconds=seconds, cpu=cpu, told=()))
        floor.answer = self.oracle.digest(self.count)

    def _run_once(self, competitor: _Competitor) -> None:
        """One run and its verdict."""
        try:
            ran = self.workers.run(competitor.way)
        except SeambenchError as error:
            kinds = {UnavailableError: "unavailable", RefusedError: "not-offered"}
            competitor.fail(kinds.get(type(error), "error"), str(error))
            return
        competitor.answer, problem = self.oracle.judge(ran.told)
        if problem is not None:
            competitor.fail("fail", problem)
        else:
            competitor.runs.append(ran)

    def _case(self, competitor: _Competitor) -> str:
        rows = competitor.way.chunk_rows
        return f"{self.prefix}/{competitor.name}/{self.count}/{rows}"

    def _timing(self, competitor: _Competitor) -> dict[str, Any]:
        """One timing as the record wants it."""
        expected = self.oracle.digest(self.count)
        runs = competitor.runs
        return {
            "case": self._case(competitor),
            "unit": "s",
            "dataset": record.generated_rows(
                f"{self.plan.name} over {self.count} workers", self.options.scale, expected
            ),
            "query": None,
            "outcome": competitor.outcome,
            "cold": [one.seconds for one in runs[:1]],
            "hot": [one.seconds for one in runs[1:]],
            "cpu": [one.cpu for one in runs[1:]],
            "rows": runs[0].rows if runs else None,
            "bytes": runs[0].bytes if runs else None,
            "peak_bytes": max((one.peak_bytes for one in runs), default=None),
            "growth_bytes": max((one.growth_bytes for one in runs), default=None),
            "answer": competitor.answer,
            "expected": expected,
            "paths": {},
            "warnings": [],
            "error": competitor.error,
        }
