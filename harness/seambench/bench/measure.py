"""Measuring: competitors take turns, every answer is checked, samples are kept raw.

Each round runs every competitor once, so that a busy minute hurts all alike. The first run of a
competitor is its cold sample (first in this process; the operating system may still hold the files)
and is kept apart. The check of an answer is not timed, and a competitor with one wrong answer keeps
no time at all.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import psutil

from seambase.errors import RefusedError, SeambenchError, UnavailableError, UsageError

__all__ = [
    "Competitor",
    "Drained",
    "Measurement",
    "MemorySampler",
    "Sample",
    "interleave",
    "judged",
    "peak_of_own_process",
    "run_drain",
]

_SAMPLE_SECONDS = 0.01


@dataclass(frozen=True)
class Sample:
    """One run: seconds on the clock, and seconds of processor time of all threads."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Competitor:
    """Something to be timed.

    Attributes:
        run: does the work and returns its answer.
        check: says what is wrong with an answer, or None; not timed.
    """

    run: Callable[[], Any]
    check: Callable[[Any], str | None]


@dataclass
class Measurement:
    """What became of one competitor.

    Attributes:
        cold: the first run; empty if it failed.
        hot: the runs after it.
        growth_bytes: most resident bytes above those at the start, over the hot runs.
        error: the exception of a run that raised, after which it ran no more.
        wrong: what was wrong with an answer. With `error` or `wrong` there are no samples.
    """

    cold: list[Sample] = field(default_factory=list)
    hot: list[Sample] = field(default_factory=list)
    growth_bytes: int | None = None
    error: Exception | None = None
    wrong: str | None = None

    @property
    def failed(self) -> bool:
        """Whether it ran no further."""
        return self.error is not None or self.wrong is not None


class _Sampler:
    """Looks at something from a thread while a block runs, at its ends and every so often."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._look()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._look()

    def _watch(self) -> None:
        while not self._stop.wait(self._seconds):
            self._look()

    def _look(self) -> None:
        raise NotImplementedError


class MemorySampler(_Sampler):
    """Watches the resident bytes of this process from a thread while a block runs.

    Attributes:
        start_bytes: at the start of the block.
        peak_bytes: the most that was seen.
    """

    def __init__(self) -> None:
        super().__init__(_SAMPLE_SECONDS)
        self._process = psutil.Process()
        self.start_bytes = 0
        self.peak_bytes = 0

    def _look(self) -> None:
        resident = int(self._process.memory_info().rss)
        self.start_bytes = self.start_bytes or resident
        self.peak_bytes = max(self.peak_bytes, resident)


def interleave(
    competitors: Mapping[str, Competitor],
    samples: int,
    *,
    budget_seconds: float | None = None,
    on_run: Callable[[str], None] | None = None,
) -> dict[str, Measurement]:
    """Run competitors in turns: once cold, then `samples` times hot.

    Args:
        competitors: by name, in the order of their turns.
        samples: hot runs of each.
        budget_seconds: a competitor whose runs took longer than this altogether is not started
            again once it has one hot sample; None for no limit.
        on_run: told the name before each run.

    Returns:
        A measurement for each name. One that raised or answered wrongly has no samples.
    """
    if samples < 1:
        raise UsageError(f"{samples} samples make no measurement; at least 1 is needed")
    results = {name: Measurement() for name in competitors}
    gc.collect()
    # What lives now stays; the collections between runs need not look at it again.
    gc.freeze()
    try:
        for turn in range(samples + 1):
            for name, competitor in competitors.items():
                result = results[name]
                if result.failed or _spent(result, budget_seconds):
                    continue
                if on_run is not None:
                    on_run(name)
                _run_once(competitor, result, cold=turn == 0)
    finally:
        gc.unfreeze()
    return results


def judged(result: Measurement) -> tuple[str | None, str]:
    """What is wrong with a measurement, in a line or None, and the word for its outcome."""
    if result.wrong is not None:
        return result.wrong, "fail"
    if result.error is None:
        return None, "pass"
    text = str(result.error) or type(result.error).__name__
    if not isinstance(result.error, SeambenchError):
        text = f"{type(result.error).__name__}: {text}"
    text = text.strip().splitlines()[0][:1000]
    if isinstance(result.error, UnavailableError):
        return text, "unavailable"
    if isinstance(result.error, RefusedError):
        return text, "not-offered"
    return text, "error"


def _spent(result: Measurement, budget_seconds: float | None) -> bool:
    if budget_seconds is None or not result.hot:
        return False
    return sum(sample.wall for sample in (*result.cold, *result.hot)) > budget_seconds


def _run_once(competitor: Competitor, result: Measurement, *, cold: bool) -> None:
    """One timed run and the check of its answer; garbage is collected before, not during."""
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        with MemorySampler() as memory:
            cpu, wall = time.process_time(), time.perf_counter()
            answer = competitor.run()
            sample = Sample(time.perf_counter() - wall, time.process_time() - cpu)
        problem = competitor.check(answer)
    except Exception as error:
        _drop(result, error=error)
        return
    finally:
        if enabled:
            gc.enable()
    if problem is not None:
        _drop(result, wrong=problem)
    elif cold:
        result.cold.append(sample)
    else:
        result.hot.append(sample)
        growth = memory.peak_bytes - memory.start_bytes
        result.growth_bytes = max(result.growth_bytes or 0, growth)


def _drop(result: Measurement, *, error: Exception | None = None, wrong: str | None = None) -> None:
    """No time without a right answer: what was measured before goes too."""
    result.cold.clear()
    result.hot.clear()
    result.growth_bytes = None
    result.error, result.wrong = error, wrong


def peak_of_own_process() -> int:
    """Most resident bytes this process ever had.

    On Linux from VmHWM: what `getrusage` tells may stem from the process that started this one.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak) * (1 if sys.platform == "darwin" else 1024)


@dataclass(frozen=True)
class Drained:
    """What a streamed scan in a process of its own came to.

    Attributes:
        rows: rows of the stream.
        seconds: from opening to the end of the stream.
        peak_bytes: most resident bytes of that process and its children together.
        base_bytes: resident bytes before the scan: the interpreter and its libraries.
    """

    rows: int
    seconds: float
    peak_bytes: int
    base_bytes: int


def run_drain(reader: str, request: Mapping[str, Any], timeout: float = 600.0) -> Drained:
    """Stream a scan in a fresh process, dropping batches as they come, and tell its peak memory.

    Args:
        reader: name in the registry.
        request: members of `seambench.contracts.scan.ScanRequest`.
        timeout: seconds after which the process is killed.

    Raises:
        SeambenchError: the process failed; the message is its own.
    """
    asked = json.dumps({"reader": reader, "request": dict(request)})
    process = subprocess.Popen(
        [sys.executable, "-m", "seambench.bench.drain", asked],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    peak = _TreePeak(process.pid)
    try:
        with peak:
            said, problem = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired as error:
        raise SeambenchError(f"{reader}: a streamed scan took over {timeout:g} s") from error
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    if process.returncode != 0:
        last = problem.strip().splitlines()[-1:] or [f"exit code {process.returncode}"]
        raise SeambenchError(f"{reader}: a streamed scan failed: {last[0]}")
    told = json.loads(said.strip().splitlines()[-1])
    # Children (a command's process, Java) count too; the process itself knows its peak exactly.
    children = peak.peak_of_children
    return Drained(told["rows"], told["seconds"], told["peak_bytes"] + children, told["base_bytes"])


class _TreePeak(_Sampler):
    """Samples the resident bytes of the children of a process."""

    def __init__(self, pid: int) -> None:
        super().__init__(5 * _SAMPLE_SECONDS)
        self._pid = pid
        self.peak_of_children = 0

    def _look(self) -> None:
        try:
            children = psutil.Process(self._pid).children(recursive=True)
            total = sum(child.memory_info().rss for child in children)
        except psutil.Error:
            return  # one of them has just ended
        self.peak_of_children = max(self.peak_of_children, total)
