"""Plans over workers, each way of carrying rows in turns: checked against the oracle, recorded.

The oracle is the generator: digests of its tables, and what DuckDB answers over them in one piece.

What carrying bytes costs at least: a bare Unix socket between two threads, warm blocks.
"""

from __future__ import annotations

import itertools
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from msgspec import structs

from seambase.errors import SeambenchError, UnavailableError
from seambench.bench.exchange.cluster import Cluster, Ran, Way
from seambench.bench.exchange.oracle import Oracle, write_tables
from seambench.bench.exchange.plans import PLANS, Plan, plan_named
from seambench.bench.listener import Listener
from seambench.bench.measure import Competitor, take_turns
from seambench.bench.quiet import Watch
from seambench.contracts import registry
from seambench.records.facts import implementation_info
from seambench.records.model import Floor, Moved, Origin, Record, Rows, Timing
from seambench.records.verdicts import Arrived, Finding
from seambench.records.writer import Measurement, Recording, Sample, answered, moved

#: Transports by which rows never leave their process: all workers of a run are in one.
WITHIN = ("pass-through", "local")


@dataclass(frozen=True)
class ExchangeOptions:
    """What to run."""

    implementation: str = "seambench"
    plans: Sequence[str] = tuple(PLANS)
    workers: Sequence[int] = (2,)
    # for transports over networks, numbers of workers that share a process; see `Way`
    near: Sequence[int] = (0,)
    drivers: Sequence[int] = (1,)
    transports: Sequence[str] = (*WITHIN, "sockets", "grpc", "flight")
    formats: Sequence[str] = ("presto",)  # what rows become on network transports
    chunk_rows: Sequence[int] = (4096,)
    scale: float = 0.01
    # folder of data sets, whose rows Spark made; the generator is asked for those of a scale that
    # is not there
    data: Path | None = None
    samples: int = 7  # timed runs of each, after a first one
    wait_seconds: float = 0.0  # how long to wait at most for a machine that does nothing else
    timeout: float = 300.0  # seconds that a step of a run may take
    command: str = "seambench exchange"


def hosts_of(workers: int, together: int) -> list[int]:
    """How many workers each process has, if so many share one."""
    full, rest = divmod(workers, together)
    return [together] * full + ([rest] if rest else [])


def local_share(workers: int, way: Way) -> float:
    """The share of a worker's destinations to whom it hands batches, the mean of all workers."""
    if way.transport in WITHIN:
        return 1.0
    if not way.near:
        return 0.0
    return sum(count**2 for count in hosts_of(workers, min(way.near, workers))) / workers**2


class Workers(Protocol):
    """Where plans run."""

    def prepare(self, plan: str, workers: int, folder: Path) -> None:
        """Get so many workers ready, each with its part of a plan's tables in `folder`.

        Plans come in turns for one number of workers, so that these may be kept.
        """

    def run(self, way: Way, *, memory: bool = False) -> Ran:
        """Run the plan once; with `memory` that is watched, and times are of no use."""

    def close(self) -> None:
        """End all workers. Repeatable."""


class _Local:
    """Workers on this machine: threads of one process where rows stay in it, else processes."""

    def __init__(self, implementation: str, timeout: float) -> None:
        self._implementation = implementation
        self._timeout = timeout
        self._prepared: tuple[str, int, Path] | None = None
        #: By how many workers share a process.
        self._clusters: dict[int, Cluster] = {}

    def prepare(self, plan: str, workers: int, folder: Path) -> None:
        """See `Workers`; starting a process takes longer than most of what it is to do."""
        if self._prepared is not None and self._prepared[1] != workers:
            self.close()
        self._prepared = plan, workers, folder
        for cluster in self._clusters.values():
            cluster.prepare(plan, folder)

    def run(self, way: Way, *, memory: bool = False) -> Ran:
        """See `Workers`; a cluster in which something failed is of no more use."""
        assert self._prepared is not None
        plan, workers, folder = self._prepared
        together = workers if way.transport in WITHIN else min(max(way.near, 1), workers)
        try:
            if together not in self._clusters:
                hosts = hosts_of(workers, together)
                made = Cluster(self._implementation, hosts, timeout=self._timeout)
                self._clusters[together] = made
                made.prepare(plan, folder)
            return self._clusters[together].run(way, memory=memory)
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
) -> list[Record]:
    """Run every plan over every way, in turns, and judge each outcome; one record, not yet written.

    Without `workers` it is this machine's. Cases are called
    `PREFIX/PLAN/TRANSPORT/FORMAT/WORKERS/CHUNK_ROWS`; the format of what stays in a process is
    `none`. On this machine `copy/unix` is the floor: the plan's bytes over a bare socket.
    """
    listener = listener or Listener()
    with_floor = workers is None
    workers = workers or _Local(options.implementation, options.timeout)
    implementation = registry.resolve("exchange", options.implementation)
    plans = [plan_named(name) for name in options.plans]
    watch = Watch(options.wait_seconds, listener.running)
    recording = Recording(options.command, options.samples, busy=watch.busy)
    listener.plan(len(list(_ways(options))) * len(plans) * len(options.workers))
    timings: list[Timing] = []
    with tempfile.TemporaryDirectory(prefix="seambench-") as name:
        folder = Path(name)
        made = write_tables(folder, plans, options.scale, options.data)
        try:
            oracles = {plan.name: Oracle(plan, folder) for plan in plans}
            for count, plan in itertools.product(options.workers, plans):
                workers.prepare(plan.name, count, folder)
                name = f"{prefix}/{plan.name}"
                oracle = oracles[plan.name]
                suite = _Suite(
                    options, plan, oracle, workers, name, count, with_floor, made.by, watch
                )
                timings += suite.measure(listener)
        finally:
            workers.close()
    dataset = Origin(
        name="tpch-derived", scale=options.scale, generator=made.generator, rows=made.rows
    )
    about = implementation_info(options.implementation, implementation)
    return [recording.record(about, timings, dataset=dataset)]


def _ways(options: ExchangeOptions) -> Iterator[tuple[str, Way]]:
    for transport in options.transports:
        within = transport in WITHIN
        formats, near = (("none",), (0,)) if within else (options.formats, options.near)
        settings = itertools.product(formats, options.chunk_rows, near, options.drivers)
        for name, rows, together, drivers in settings:
            format_ = "arrow" if name == "none" else name
            way = Way(transport, format_, rows, near=together, drivers=drivers)
            yield f"{way.label}/{name}", way


class _OneOf:
    """One way of carrying a plan's rows, or a copy of what its runs moved."""

    def __init__(self, suite: _Suite, way: Way) -> None:
        self._suite = suite
        self.way = way
        self.first: Ran | None = None
        self.last: Ran | None = None

    def competitor(self) -> Competitor:
        """Run and judged by what the workers say."""
        return Competitor(self._run, self._judge, _clock_of_workers, self._watched)

    def floor(self) -> Competitor:
        """As many bytes as a run moved. No row is made or looked at: there is nothing to judge."""
        return Competitor(self._copy, self._copied, _clock_of_copy)

    def _run(self, *, memory: bool = False) -> Ran:
        ran = self._suite.workers.run(self.way, memory=memory)
        self.first = self.first or ran
        if not memory:
            self.last = ran
        return ran

    def _judge(self, ran: Ran) -> Finding:
        return self._suite.oracle.judge(ran.outcomes, ran.rows, ran.bytes)

    def _watched(self) -> tuple[Finding | Arrived, int | None, int | None]:
        ran = self._run(memory=True)
        return self._judge(ran), ran.peak_bytes, ran.growth_bytes

    def _copy(self) -> Copied:
        if self.first is None:
            raise UnavailableError("no run moved anything that could be copied")
        return copy_bytes(self.first.bytes)

    def _copied(self, copied: Copied) -> Arrived:
        assert self.first is not None
        amount = Moved(unit="bytes", sent=self.first.bytes, arrived=copied.arrived)
        return Arrived(amount, self.first.rows, self.first.bytes)


def _clock_of_workers(run: Callable[[], Ran]) -> tuple[Ran, Sample]:
    """The workers have clocks of their own: opening and closing sides is not timed."""
    ran = run()
    return ran, Sample(ran.seconds, ran.cpu)


def _clock_of_copy(run: Callable[[], Copied]) -> tuple[Copied, Sample]:
    """Its threads are started, and its buffers made, before the clock."""
    copied = run()
    return copied, copied.took


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
    source: str
    watch: Watch

    def measure(self, listener: Listener) -> list[Timing]:
        """Rounds in which each way runs once, and each copy."""
        ways = {self._case(name, way): _OneOf(self, way) for name, way in _ways(self.options)}
        competitors = {case: one.competitor() for case, one in ways.items()}
        floors = self._floors(ways) if self.with_floor else {}
        for case in ways:
            listener.case(f"{self.count} workers", case)
        results = take_turns(
            {**competitors, **floors},
            self.options.samples,
            on_run=listener.running,
            watch=self.watch,
        )
        timings = [self._timing(case, result, ways.get(case)) for case, result in results.items()]
        for timing in timings:
            listener.done(timing, self.options.implementation)
        return timings

    def _floors(self, ways: Mapping[str, _OneOf]) -> dict[str, Competitor]:
        """A plain copy of what the plan moves, for each size of chunks."""
        found: dict[str, Competitor] = {}
        for one in ways.values():
            found.setdefault(self._case("copy/unix", one.way), one.floor())
        return found

    def _case(self, name: str, way: Way) -> str:
        return f"{self.prefix}/{name}/{self.count}/{way.chunk_rows}"

    def _timing(self, case: str, result: Measurement, one: _OneOf | None) -> Timing:
        over = Rows(
            name=f"{self.plan.name} over {self.count} workers",
            scale=self.options.scale,
            dimensions={"rows made by": self.source, "workers": self.count},
        )
        if one is None:
            return moved(Floor, case, over, result)
        share = {"local destinations": local_share(self.count, one.way)}
        over = structs.replace(
            over, dimensions={**over.dimensions, "drivers": one.way.drivers, **share}
        )
        spent = one.last.spent if one.last else {}
        return answered(case, over, result, expected=self.oracle.digest(self.count), spent=spent)


_PIECE_BYTES = 1 << 20


@dataclass(frozen=True)
class Copied:
    """How many bytes arrived, and what that took."""

    arrived: int
    took: Sample


def copy_bytes(size_bytes: int) -> Copied:
    """Send so many bytes through a Unix socket, neither made nor looked at."""
    sent, came = bytearray(_PIECE_BYTES), memoryview(bytearray(_PIECE_BYTES))
    left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    left.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _PIECE_BYTES)
    arrived = 0

    def receive() -> None:
        nonlocal arrived
        while (count := right.recv_into(came)) > 0:
            arrived += count

    with left, right:
        receiving = threading.Thread(target=receive, daemon=True)
        receiving.start()
        cpu, begin = time.process_time(), time.perf_counter()
        for at in range(0, size_bytes, _PIECE_BYTES):
            left.sendall(memoryview(sent)[: size_bytes - at])
        left.shutdown(socket.SHUT_WR)
        receiving.join()
        took = Sample(time.perf_counter() - begin, time.process_time() - cpu)
    return Copied(arrived, took)
