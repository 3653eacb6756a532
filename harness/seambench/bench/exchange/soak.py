"""Plans over workers for as long as one likes, while processes are paused and killed.

Each run draws plan, transport, format, chunk size and buffers from the seed. A run without a killed
process must give the oracle's rows; one with a killed process must fail in bounded time. Workers
that are never killed must not grow.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import statistics
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from seambase.errors import SeambenchError
from seambase.wording import counted
from seambench.bench.exchange.cluster import Cluster, Way
from seambench.bench.exchange.oracle import Oracle, write_tables
from seambench.bench.exchange.plans import PLANS

#: Growth of a worker that is taken for noise: caches and the interpreter's own memory.
_NOISE_BYTES = 48 << 20
_PLANS = ("shuffle", "broadcast", "random", "one-key", "zipf", "q03")


@dataclass(frozen=True)
class SoakOptions:
    """What to run."""

    implementation: str = "seambench"
    seconds: float = 60.0  # after which no further run begins
    seed: int = 0
    workers: int = 2
    transports: Sequence[str] = ("sockets", "grpc", "flight")  # to draw from
    # to draw from
    formats: Sequence[str] = ("arrow", "arrow-batch", "presto", "starrocks", "unsaferow")
    scale: float = 0.002
    timeout: float = 120.0  # seconds that a step may take


@dataclass
class SoakReport:
    """What came of it."""

    # number of runs by fault: `none`, `pause` or `kill`
    runs: Counter[str] = field(default_factory=Counter)
    rows: int = 0  # that were received in runs which were compared
    problems: list[str] = field(default_factory=list)  # what must not be, a sentence each
    # of the workers that are never killed, after each of their runs
    resident_bytes: list[int] = field(default_factory=list)

    @property
    def growth_bytes(self) -> int:
        """From the second quarter of the runs to the last one, by medians; the first warms up."""
        quarter = len(self.resident_bytes) // 4
        if quarter == 0:
            return 0
        early = statistics.median(self.resident_bytes[quarter : 2 * quarter])
        return round(statistics.median(self.resident_bytes[-quarter:]) - early)


def soak(options: SoakOptions, say: Callable[[str], None] = lambda _: None) -> SoakReport:
    """Run until time is up, or something is wrong."""
    draw, report = random.Random(options.seed), SoakReport()
    end = time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory(prefix="seambench-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        write_tables(folder, [PLANS[plan] for plan in _PLANS], options.scale)
        oracles = {plan: Oracle(PLANS[plan], folder) for plan in _PLANS}
        lasting = stack.enter_context(_cluster(options))
        while time.monotonic() < end and not report.problems:
            plan, way = draw.choice(_PLANS), _draw_way(options, draw)
            fault = draw.choices(("none", "pause", "kill"), (6, 3, 1))[0]
            report.runs[fault] += 1
            say(f"{sum(report.runs.values())}: {fault}, {plan}, {way}")
            if fault == "kill":
                _run_and_kill(options, plan, way, folder, draw, report)
                continue
            lasting.prepare(plan, folder)
            delay = draw.uniform(0.0, 0.2)
            with _paused(lasting, draw, delay) if fault == "pause" else contextlib.nullcontext():
                _run_and_judge(lasting, oracles[plan], way, f"{fault}, {plan}, {way}", report)
            report.resident_bytes.append(
                sum(psutil.Process(pid).memory_info().rss for pid in lasting.pids)
            )
    if report.growth_bytes > options.workers * _NOISE_BYTES:
        report.problems.append(f"the workers grew by {counted(report.growth_bytes, 'byte')}")
    return report


def _cluster(options: SoakOptions) -> Cluster:
    return Cluster(options.implementation, [1] * options.workers, timeout=options.timeout)


def _draw_way(options: SoakOptions, draw: random.Random) -> Way:
    return Way(
        draw.choice(options.transports),
        draw.choice(options.formats),
        draw.choice((64, 512, 4096)),
        buffer_bytes=draw.choice((0, 1 << 16, None)),
    )


def _run_and_judge(
    cluster: Cluster, oracle: Oracle, way: Way, label: str, report: SoakReport
) -> None:
    """A run that must be right."""
    try:
        ran = cluster.run(way)
    except SeambenchError as error:
        report.problems.append(f"{label}: {error}")
        return
    report.rows += ran.rows
    problem = oracle.judge(ran.outcomes).wrong
    if problem is not None:
        report.problems.append(f"{label}: {problem}")


def _run_and_kill(
    options: SoakOptions,
    plan: str,
    way: Way,
    folder: Path,
    draw: random.Random,
    report: SoakReport,
) -> None:
    """Runs of workers of which one dies: an error, before their time is up."""
    with _cluster(options) as cluster:
        cluster.prepare(plan, folder)
        victim = draw.choice(cluster.pids)
        killing = threading.Timer(draw.uniform(0.0, 0.3), os.kill, (victim, signal.SIGKILL))
        killing.start()
        begin = time.monotonic()
        try:
            while time.monotonic() - begin < options.timeout:
                cluster.run(way)
            report.problems.append(f"kill, {plan}, {way}: nobody noticed")
        except SeambenchError as error:
            if "did not answer" in str(error):
                report.problems.append(f"kill, {plan}, {way}: {error}")
        finally:
            killing.join()


@contextlib.contextmanager
def _paused(cluster: Cluster, draw: random.Random, delay: float) -> Iterator[None]:
    """One worker stands still for a while."""
    victim, pause = draw.choice(cluster.pids), draw.uniform(0.05, 0.5)

    def stand_still() -> None:
        time.sleep(delay)
        os.kill(victim, signal.SIGSTOP)
        time.sleep(pause)
        os.kill(victim, signal.SIGCONT)

    thread = threading.Thread(target=stand_still)
    thread.start()
    try:
        yield
    finally:
        thread.join()
