"""What the harness itself takes of a check, beside the implementation that is checked.

Usage: `python -m seambench_suites.conformance.overhead [--seam scan ...] [--checks]`. Every case of
a seam is put to our own implementation in this process, each of whose calls is timed: what is left
of the case is the harness's, its witnesses among it. DuckDB's queries over the dataset of a scan,
in which the implementation works too, stand apart, and so do cases of exchanges with receivers in
other processes, which start them. To that comes what a case costs on its way to
another process and back. With `--checks` the seams are then checked as
`seambench check` does, on all cores.

Times mean something on a quiet machine only; seconds of processor time of the harness's thread
stand beside them.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.dataset

from seambench.conformance.isolate import Isolated
from seambench.conformance.judge import verdict
from seambench.conformance.load import load_cases
from seambench.contracts import registry
from seambench.seams.exchange.cases import ExchangeCase
from seambench.seams.scan import check

#: By seam, our own implementation.
OWN = {"scan": "auto", "column": "offheap", "serde": "seambench", "exchange": "seambench"}
#: Most that the harness may take of a case, and the check of all seams on two cores.
BAR_MILLIS, BAR_SECONDS = 5.0, 90.0

_OURS = ("seamkit.", "seambench_impl.")
#: Cases that are sent to another process for the cost of the way.
_ON_THE_WAY = 50


class _Clock:
    """Time during which any thread is within the implementation."""

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0
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
            if threading.current_thread() is threading.main_thread():
                self.cpu += time.thread_time() - cpu
            with self._lock:
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
        found = clock.timed(getattr, self._inner, name)
        if not callable(found):
            return clock.watched(found)

        def call(*args: Any, **named: Any) -> Any:
            plain = [arg._inner if isinstance(arg, _Watched) else arg for arg in args]
            return clock.watched(clock.timed(found, *plain, **named))

        return call

    def __enter__(self) -> Any:
        self._clock.timed(self._inner.__enter__)
        return self

    def __exit__(self, *error: object) -> Any:
        return self._clock.timed(self._inner.__exit__, *error)


class _Found(NamedTuple):
    """Milliseconds of each case: the harness's, with the case's id; its processor's; DuckDB's.

    Those of cases that start processes stand apart.
    """

    wall: list[tuple[float, str]]
    processes: list[float]
    cpu: list[float]
    queries: list[float]
    wrong: list[str]


def _of_cases(seam: str, name: str) -> _Found:
    """Put all cases to the implementation in this process."""
    clock, engine = _Clock(), _Clock()
    watched = _Watched(clock, registry.resolve(seam, name))
    # Within DuckDB the dataset is the implementation's own, which no clock of ours can see.
    query = check.query_dataset

    def queried(scan: Any, *args: Any, **named: Any) -> Any:
        plain = scan._inner if isinstance(scan, _Watched) else scan
        return engine.timed(query, plain, *args, **named)

    check.query_dataset = queried
    wall, processes, cpu, queries, wrong = [], [], [], [], []
    for case in load_cases(seam):
        clock.wall = clock.cpu = engine.wall = engine.cpu = 0.0
        begin, begin_cpu = time.perf_counter(), time.thread_time()
        found = verdict(case, watched)
        took = time.perf_counter() - begin - clock.wall - engine.wall
        if isinstance(case, ExchangeCase) and case.shape.elsewhere:
            processes.append(took * 1e3)
        else:
            wall.append((took * 1e3, case.id))
            cpu.append((time.thread_time() - begin_cpu - clock.cpu - engine.cpu) * 1e3)
            queries.append(engine.wall * 1e3)
        if found.word not in ("pass", "not-offered"):
            wrong.append(f"{case.id}: {found.word}: {found.reason[:200]}")
    return _Found(wall, processes, cpu, queries, wrong)


def _on_the_way(seam: str, name: str) -> float:
    """Milliseconds that a case takes between two processes."""
    lost = []
    with Isolated(seam, name) as process:
        for case in load_cases(seam)[:_ON_THE_WAY]:
            request = {"do": "check", "case": case.id, "root": None, "golden": None}
            begin = time.perf_counter()
            answer = process.ask(request)
            lost.append((time.perf_counter() - begin - answer["seconds"]) * 1e3)
    return float(statistics.median(lost))


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _measure(seam: str) -> bool:
    """Print a seam's line; whether it keeps the bar."""
    name = OWN[seam]
    wall, processes, cpu, queries, wrong = _of_cases(seam, name)
    way = _on_the_way(seam, name)
    mean = statistics.fmean(millis for millis, _ in wall) + way
    _say(
        f"{seam}: {len(wall)} cases, harness {mean:.2f} ms a case on average "
        f"({statistics.median(millis for millis, _ in wall):.2f} median, "
        f"{statistics.fmean(cpu):.2f} processor), {way:.2f} of it on the way; "
        f"DuckDB {statistics.fmean(queries):.2f} ms"
    )
    if processes:
        _say(
            f"    {len(processes)} cases that start processes: {statistics.fmean(processes):.0f} ms"
        )
    for millis, case in sorted(wall, reverse=True)[:5]:
        _say(f"    {millis:8.1f} ms {case}")
    for line in wrong[:5]:
        _say(f"    wrong: {line}")
    return mean <= BAR_MILLIS and not wrong


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
