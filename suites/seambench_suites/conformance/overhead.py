"""What the harness itself takes of a check, beside the implementation that is checked.

Usage: `python -m seambench_suites.conformance.overhead [--seam scan ...] [--checks]`. Every case of
a seam is put to our own implementation in this process, each of whose calls is timed: what is left
of the case is the harness's, its witnesses among it. Queries over a scan's dataset are asked of the
rows that the implementation gave, held in memory, and are the harness's, too. Cases of exchanges
with receivers in other processes, which start them, stand apart. To that comes what a case costs on
its way to another process and back. With `--checks` the seams are then checked as `seambench check`
does, on all cores.

Times mean something on a quiet machine only; seconds of processor time of the harness's threads
(the one that judges, and those that send and read in an exchange) stand beside them.

`seambench kernels seambench_suites.conformance.overhead` records the same of some cases of each
seam, without the way, for the bars.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

import pyarrow as pa
import pyarrow.dataset

from seambase.scan import ScanReport
from seambase.wording import counted
from seambench.bench.apart import Task
from seambench.bench.kernels import Kernel, Kernels
from seambench.bench.measure import Competitor
from seambench.conformance.isolate import Isolated
from seambench.conformance.judge import verdict
from seambench.conformance.load import load_cases
from seambench.contracts import registry
from seambench.contracts.seam import Case
from seambench.records.model import Moved, Rows
from seambench.records.verdicts import Arrived
from seambench.records.writer import Sample
from seambench.seams.exchange import check as exchange_check
from seambench.seams.exchange.cases import ExchangeCase
from seambench.seams.scan import check

#: By seam, our own implementation.
OWN = {"scan": "auto", "column": "offheap", "serde": "seambench", "exchange": "seambench"}
#: Most that the harness may take of a case, and the check of all seams on two cores.
BAR_MILLIS, BAR_SECONDS = {"scan": 3.0, "column": 3.0, "serde": 3.0, "exchange": 5.0}, 90.0

_OURS = ("seamkit.", "seambench_impl.")
#: Cases that are sent to another process for the cost of the way.
_ON_THE_WAY = 50


class _Clock:
    """Time during which any thread is within the implementation, and processor time of all there.

    `others` is the processor time of threads of the harness beside the one that judges. What a call
    costs because it is timed, `own` seconds of the processor, counts as the implementation's.
    """

    def __init__(self) -> None:
        self.wall = self.cpu = self.others = self.own = 0.0
        self._inside, self._begin = 0, 0.0
        self._lock = threading.Lock()

    def timed(self, call: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """Call something of the implementation."""
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._begin = time.perf_counter()
        cpu = time.thread_time()
        try:
            return call(*args, **named)
        finally:
            with self._lock:
                self.cpu += time.thread_time() - cpu + self.own
                self._inside -= 1
                if self._inside == 0:
                    self.wall += time.perf_counter() - self._begin

    def watched(self, value: Any) -> Any:
        """A value whose calls are timed, if it is the implementation's."""
        if isinstance(value, pa.RecordBatchReader):
            return pa.RecordBatchReader.from_batches(value.schema, self._batches(value))
        if isinstance(value, list | tuple) and type(value) in (list, tuple):
            return type(value)(map(self.watched, value))
        if isinstance(value, type | pa.dataset.Dataset) or callable(value):
            return value
        return _Watched(self, value) if type(value).__module__.startswith(_OURS) else value

    def _batches(self, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        while (batch := self.timed(next, reader, None)) is not None:
            yield batch


class _Watched:
    """An object of the implementation; it looks like that object."""

    def __init__(self, clock: _Clock, inner: Any) -> None:
        self._clock, self._inner = clock, inner

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self._inner)

    def __getattr__(self, name: str) -> Any:
        clock = self._clock
        attribute = clock.timed(getattr, self._inner, name)
        if not callable(attribute):
            return clock.watched(attribute)

        def call(*args: Any, **named: Any) -> Any:
            plain = [arg._inner if isinstance(arg, _Watched) else arg for arg in args]
            return clock.watched(clock.timed(attribute, *plain, **named))

        self.__dict__[name] = call  # asked for again and again, and no time of the judge's
        return call

    def __enter__(self) -> Any:
        self._clock.timed(self._inner.__enter__)
        return self

    def __exit__(self, *error: object) -> Any:
        return self._clock.timed(self._inner.__exit__, *error)


@cache
def _cost(calls: int = 20_000) -> float:
    """Processor seconds that a call costs because it is timed, beside what is noted of it."""
    clock, result = _Clock(), [pa.record_batch({"a": [1]})]
    plain = SimpleNamespace(call=lambda *_: result)
    took = []
    for one in (plain, _Watched(clock, plain)):
        begin = time.thread_time()
        for _ in range(calls):
            one.call(plain, b"")
        took.append(time.thread_time() - begin)
    return (took[1] - took[0] - clock.cpu) / calls


class _Held:
    """A scan whose rows are in memory."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self.schema = table.schema

    def to_reader(self) -> pa.RecordBatchReader:
        """See `seambench.contracts.scan.Scan`."""
        return self._table.to_reader()

    def report(self) -> ScanReport:
        """See `seambench.contracts.scan.Scan`."""
        return ScanReport(rows=self._table.num_rows)

    def dataset(self) -> pa.dataset.Dataset:
        """See `seambench.contracts.scan.Scan`."""
        return pa.dataset.dataset(self._table)

    def relation(self, engine: Any) -> Any:
        """See `seambench.contracts.scan.Related`."""
        return engine.from_arrow(self._table)


class _Threads:
    """The threads of a check, whose processor time is noted."""

    def __init__(self, clock: _Clock, pool: Any) -> None:
        self._clock, self._pool = clock, pool

    def submit(self, work: Callable[[], None]) -> Future[None]:
        """See `concurrent.futures.Executor`."""

        def timed() -> None:
            begin = time.thread_time()
            try:
                work()
            finally:
                with self._clock._lock:
                    self._clock.others += time.thread_time() - begin

        found: Future[None] = self._pool.submit(timed)
        return found


class _Judged(NamedTuple):
    """Milliseconds of each case: the harness's, with the case's id; its processor's.

    Those of cases that start processes stand apart.
    """

    wall: list[tuple[float, str]]
    processes: list[float]
    cpu: list[float]
    wrong: list[str]


@contextmanager
def _noted(clock: _Clock) -> Iterator[None]:
    """Have queries asked of rows in memory, and the threads of checks noted."""
    query, nans, pool = check.queried, check._check_nans, exchange_check._threads()

    def held(scan: Any) -> Any:
        plain = scan._inner if isinstance(scan, _Watched) else scan
        return _Held(clock.timed(lambda: plain.to_reader().read_all()))

    def asked(scanner: Any, *args: Any) -> None:
        nans(SimpleNamespace(open=lambda request: held(scanner.open(request))), *args)

    with (
        patch.object(
            check, "queried", lambda scan, *args, **named: query(held(scan), *args, **named)
        ),
        patch.object(check, "_check_nans", asked),
        patch.object(exchange_check, "_threads", lambda: _Threads(clock, pool)),
    ):
        yield


def _of_cases(seam: str, cases: Sequence[Case]) -> _Judged:
    """Put cases to our own implementation in this process."""
    clock = _Clock()
    clock.own = _cost()
    watched = _Watched(clock, registry.resolve(seam, OWN[seam]))
    wall, processes, cpu, wrong = [], [], [], []
    with _noted(clock):
        for case in cases:
            clock.wall = clock.cpu = clock.others = 0.0
            begin, begin_cpu = time.perf_counter(), time.thread_time()
            judged = verdict(case, watched)
            took = time.perf_counter() - begin - clock.wall
            if _starts_processes(case):
                processes.append(took * 1e3)
            else:
                wall.append((took * 1e3, case.id))
                cpu.append((time.thread_time() - begin_cpu + clock.others - clock.cpu) * 1e3)
            if judged.word not in ("pass", "not-offered"):
                wrong.append(f"{case.id}: {judged.word}: {judged.reason[:200]}")
    return _Judged(wall, processes, cpu, wrong)


def _starts_processes(case: Case) -> bool:
    return isinstance(case, ExchangeCase) and bool(case.shape.elsewhere)


def kernels(folder: Path, cases: int = 200) -> Kernels:  # noqa: ARG001 - every plan has a folder
    """What the harness takes of a case of each seam, whatever the implementation takes."""
    over = Rows(name=f"{counted(cases, 'case')}", scale=0)
    found = [Kernel(f"harness/{seam}", Task(_judging, (seam, cases)), over, "step") for seam in OWN]
    return Kernels("scan", OWN["scan"], found)


def _judging(seam: str, count: int) -> Competitor:
    """In a process of its own: the mean of some cases from all over a seam."""
    known = [case for case in load_cases(seam) if not _starts_processes(case)]
    judged = known[:: max(1, len(known) // count)][:count]
    gc.freeze()  # as where cases are judged

    def clock(run: Callable[[], _Judged]) -> tuple[_Judged, Sample]:
        judged_cases = run()
        wall = statistics.fmean(millis for millis, _ in judged_cases.wall)
        return judged_cases, Sample(wall / 1e3, statistics.fmean(judged_cases.cpu) / 1e3)

    def judge(judged_cases: _Judged) -> Arrived:
        right = len(judged) - len(judged_cases.wrong)
        return Arrived(Moved(unit="units", sent=len(judged), arrived=right))

    return Competitor(lambda: _of_cases(seam, judged), judge, clock)


def _on_the_way(seam: str, name: str) -> float:
    """Milliseconds that a case takes between two processes."""
    lost = []
    with Isolated(seam, name) as process:
        for case in load_cases(seam)[:_ON_THE_WAY]:
            where = {"root": None, "golden": None, "begins": [""]}
            request = {"do": "check", "case": case.id, **where}
            begin = time.perf_counter()
            answer = process.ask(request)
            lost.append((time.perf_counter() - begin - answer["seconds"]) * 1e3)
    return float(statistics.median(lost))


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _measure(seam: str) -> bool:
    """Print a seam's line; whether it keeps the bar."""
    wall, processes, cpu, wrong = _of_cases(seam, load_cases(seam))
    way = _on_the_way(seam, OWN[seam])
    mean = statistics.fmean(millis for millis, _ in wall) + way
    _say(
        f"{seam}: {counted(len(wall), 'case')}, harness {mean:.2f} ms a case on average "
        f"({statistics.median(millis for millis, _ in wall):.2f} median, "
        f"{statistics.fmean(cpu):.2f} processor), {way:.2f} of it on the way"
    )
    if processes:
        _say(
            f"    {counted(len(processes), 'case')} that start "
            f"processes: {statistics.fmean(processes):.0f} ms"
        )
    for millis, case in sorted(wall, reverse=True)[:5]:
        _say(f"    {millis:8.1f} ms {case}")
    for line in wrong[:5]:
        _say(f"    wrong: {line}")
    return mean <= BAR_MILLIS[seam] and not wrong


def _checks(seams: list[str]) -> bool:
    """Check the seams one after the other; whether all passed within the bar."""
    total, right = 0.0, True
    for seam in seams:
        begin = time.monotonic()
        command = [sys.executable, "-m", "seambench.cli", "check"]
        done = subprocess.run(
            [*command, "--seam", seam, "--impl", OWN[seam]], check=False, stdout=subprocess.DEVNULL
        )
        took = time.monotonic() - begin
        total, right = total + took, right and done.returncode == 0
        _say(f"{seam}: checked in {took:.0f} s, exit code {done.returncode}")
    _say(f"all: {total:.0f} s")
    return right and total <= BAR_SECONDS


def main() -> int:
    """Measure; 0 if every bar is kept."""
    parser = argparse.ArgumentParser(
        prog="overhead", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--seam", action="append", choices=list(OWN))
    parser.add_argument("--checks", action="store_true", help="then check the seams")
    args = parser.parse_args()
    seams = args.seam or list(OWN)
    kept = [_measure(seam) for seam in seams]
    if args.checks:
        kept.append(_checks(seams))
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
