"""Measuring: competitors take turns, every result is judged, samples are kept raw.

Each round runs every competitor once, so that a busy minute hurts all alike. The first run of a
competitor is its cold sample (first in this process; the operating system may still hold the files)
and is kept apart. Judging is not timed, memory is watched in a run of its own, and a competitor
with one wrong result keeps no time at all.
"""

from __future__ import annotations

import contextlib
import gc
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import psutil

from seambase.errors import UsageError
from seambench.bench.memory import MemorySampler
from seambench.records.verdicts import Arrived, Finding
from seambench.records.writer import Measurement, Sample

__all__ = [
    "Clock",
    "Competitor",
    "MemoryRun",
    "family_clock",
    "growth_of",
    "interleave",
    "own_clock",
]

Run = Callable[[], Any]
Judge = Callable[[Any], Finding | Arrived]
Clock = Callable[[Run], tuple[Any, Sample]]
"""Runs something once; its result, and what that took."""

MemoryRun = Callable[[], tuple[Finding | Arrived, int | None, int | None]]
"""What was found in the result of one more run, most resident bytes, and growth of them."""


def own_clock(run: Run) -> tuple[Any, Sample]:
    """Time a run by the clocks of this process."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = run()
    return result, Sample(time.perf_counter() - wall, time.process_time() - cpu)


def family_clock(run: Run) -> tuple[Any, Sample]:
    """Time a run whose work other processes may do: their processor time counts as well.

    An engine on a JVM and a reader that is a program are children of this process.
    """
    cpu, wall = _family_seconds(), time.perf_counter()
    result = run()
    seconds = time.perf_counter() - wall
    return result, Sample(seconds, max(0.0, _family_seconds() - cpu))


def _family_seconds() -> float:
    """Processor seconds of this process, of what it started, and of what these started.

    Those of a process that has ended are with the one that waited for it.
    """
    own = os.times()
    total = time.process_time() + own.children_user + own.children_system
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            spent = child.cpu_times()
            total += spent.user + spent.system + spent.children_user + spent.children_system
    return total


@dataclass(frozen=True)
class Competitor:
    """Something to be timed.

    Attributes:
        run: does the work and returns its result.
        judge: what is found in a result (`seambench.records.verdicts`); not timed.
        clock: times a run; another one where other processes work too, or a run is many calls.
        memory: measures memory in a run of its own; None: nobody asks.
    """

    run: Run
    judge: Judge
    clock: Clock = own_clock
    memory: MemoryRun | None = None


def growth_of(run: Run, judge: Judge) -> MemoryRun:
    """A run under a sampler of this process's memory."""

    def watched() -> tuple[Finding | Arrived, int | None, int | None]:
        with MemorySampler() as memory:
            result = run()
        return judge(result), None, memory.growth_bytes

    return watched


def interleave(
    competitors: Mapping[str, Competitor],
    samples: int,
    *,
    budget_seconds: float | None = None,
    on_run: Callable[[str], None] | None = None,
) -> dict[str, Measurement]:
    """Run competitors in turns: once cold, then `samples` times hot, then once for memory.

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
        for turn in range(samples + 2):
            for name, competitor in competitors.items():
                result = results[name]
                for_memory = turn > samples
                if result.failed or (for_memory and competitor.memory is None):
                    continue
                if _spent(result, budget_seconds):
                    continue
                if on_run is not None:
                    on_run(f"{name} (memory)" if for_memory else name)
                if for_memory:
                    _watch_once(competitor, result)
                else:
                    _run_once(competitor, result, cold=turn == 0)
    finally:
        gc.unfreeze()
    return results


def _spent(result: Measurement, budget_seconds: float | None) -> bool:
    if budget_seconds is None or not result.hot:
        return False
    return sum(sample.wall for sample in (*result.cold, *result.hot)) > budget_seconds


def _run_once(competitor: Competitor, result: Measurement, *, cold: bool) -> None:
    """One timed run and what is found; garbage is collected before, not during."""
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        answer, sample = competitor.clock(competitor.run)
        result.found = competitor.judge(answer)
    except Exception as error:
        result.error = error
    finally:
        if enabled:
            gc.enable()
    if result.failed:
        result.drop_times()
    else:
        (result.cold if cold else result.hot).append(sample)


def _watch_once(competitor: Competitor, result: Measurement) -> None:
    """The run for memory; a wrong answer in it counts like any other."""
    assert competitor.memory is not None
    gc.collect()
    try:
        result.found, result.peak_bytes, result.growth_bytes = competitor.memory()
    except Exception as error:
        result.error = error
    if result.failed:
        result.drop_times()
