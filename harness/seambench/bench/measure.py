"""Measuring: competitors take turns in shuffled order, every result is judged, samples are raw.

Each round runs every competitor once, so that a busy minute hurts all alike and the samples of a
round make pairs. Orders are shuffled, and each second round has the order before it turned round:
nobody always comes after the same. The first run of a competitor, in the order that was given, is
kept apart from the warm ones after it. Rounds in which others used the machine are done again,
whatever they say, as many at most as there are samples. Judging is not timed, memory is watched in
a run of its own, and a competitor with one wrong result keeps no time at all.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from seambase.errors import UsageError
from seambase.wording import counted
from seambench.bench.memory import MemorySampler
from seambench.bench.quiet import Watch, family_seconds
from seambench.records.verdicts import Arrived, Finding
from seambench.records.writer import Measurement, Sample

Run = Callable[[], Any]
Judge = Callable[[Any], Finding | Arrived]
Clock = Callable[[Run], tuple[Any, Sample]]
"""Runs something once; its result, and what that took."""

MemoryRun = Callable[[], tuple[Finding | Arrived, int | None, int | None]]
"""What was found in the result of one more run, most resident bytes, and growth of them."""

#: A sample lasts at least this long, by repeating what is short, so that the clock does not show.
_SAMPLE_SECONDS = 0.005
_CALLS_AT_MOST = 1000


def own_clock(run: Run) -> tuple[Any, Sample]:
    """Time a run by the clocks of this process."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = run()
    return result, Sample(time.perf_counter() - wall, time.process_time() - cpu)


def family_clock(run: Run) -> tuple[Any, Sample]:
    """Time a run whose work other processes may do: their processor time counts as well.

    An engine on a JVM and a reader that is a program are children of this process.
    """
    cpu, wall = family_seconds(), time.perf_counter()
    result = run()
    seconds = time.perf_counter() - wall
    return result, Sample(seconds, max(0.0, family_seconds() - cpu))


class RepeatingClock:
    """Seconds of one call, where a warm sample is so many calls that the clock does not show.

    The first run is timed alone; how many calls fit a sample is found out by the second. One call
    does `passes` times what is timed.
    """

    def __init__(self, clock: Clock = own_clock, passes: int = 1) -> None:
        self._clock = clock
        self._passes = passes
        self._calls: int | None = None

    def __call__(self, run: Run) -> tuple[Any, Sample]:
        """See `Clock`."""
        if self._calls is None:
            self._calls = 0
            return self._per_pass(run, 1)
        if self._calls == 0:
            result, once = self._clock(run)
            fitting = round(_SAMPLE_SECONDS / max(once.wall, 1e-9))
            self._calls = max(1, min(_CALLS_AT_MOST, fitting))
            if self._calls == 1:
                return result, Sample(once.wall / self._passes, once.cpu / self._passes)
        return self._per_pass(run, self._calls)

    def _per_pass(self, run: Run, calls: int) -> tuple[Any, Sample]:
        result, whole = self._clock(partial(_repeat, run, calls))
        passes = calls * self._passes
        return result, Sample(whole.wall / passes, whole.cpu / passes)


def _repeat(run: Run, calls: int) -> Any:
    result = None
    for _ in range(calls):
        result = None  # the one before goes first: nobody keeps two
        result = run()
    return result


@dataclass(frozen=True)
class Competitor:
    """Something to be timed."""

    run: Run  # does the work and returns its result
    judge: Judge  # what is found in a result (`seambench.records.verdicts`); not timed
    # times a run; another one where other processes work too, or a run is many calls
    clock: Clock = own_clock
    memory: MemoryRun | None = None  # measures memory in a run of its own; None: nobody asks
    about: Callable[[], Any] | None = None  # what is to be known of its last run; None: nothing


def growth_of(run: Run, judge: Judge) -> MemoryRun:
    """A run under a sampler of this process's memory."""

    def watched() -> tuple[Finding | Arrived, int | None, int | None]:
        with MemorySampler() as memory:
            result = run()
        return judge(result), None, memory.growth_bytes

    return watched


def timed(competitor: Competitor) -> tuple[Finding | Arrived, Sample]:
    """One timed run and what is found; garbage is collected before, not during."""
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        answer, sample = competitor.clock(competitor.run)
        return competitor.judge(answer), sample
    finally:
        if enabled:
            gc.enable()


def orders(names: Sequence[str], seed: int) -> Iterator[list[str]]:
    """The order of each round, without end: a shuffled one, the same turned round, and so on."""
    rng = random.Random(seed)
    while True:
        order = rng.sample(names, len(names))
        yield order
        yield order[::-1]


def take_turns(
    competitors: Mapping[str, Competitor],
    samples: int,
    *,
    budget_seconds: float | None = None,
    on_run: Callable[[str], None] | None = None,
    seed: int = 0,
    watch: Watch | None = None,
) -> dict[str, Measurement]:
    """Run competitors in turns: once for the first time, then warm, then once for memory.

    First runs are in the order given; those of each warm round are shuffled by the seed and stored.
    A competitor whose runs took longer than its budget altogether is not started again once it has
    one warm sample. One that raised or answered wrongly has no samples. Without `watch` no round is
    done again.
    """
    if samples < 1:
        raise UsageError(
            f"{counted(samples, 'sample', 'make')} no measurement; at least 1 is needed"
        )
    results = {name: Measurement() for name in competitors}
    say = on_run or (lambda _: None)
    gc.collect()
    # What lives now stays; the collections between runs need not look at it again.
    was_frozen = gc.get_freeze_count() > 0
    gc.freeze()
    try:
        for name in competitors:  # in this order: a floor copies what the first runs moved
            say(name)
            _run_once(competitors[name], results[name], None)
        _warm_rounds(competitors, results, samples, budget_seconds, say, seed, watch)
        for name, competitor in competitors.items():
            if competitor.memory is None or _is_over(results[name], budget_seconds):
                continue
            say(f"{name} (memory)")
            _watch_once(competitor.memory, results[name])
    finally:
        if not was_frozen:
            gc.unfreeze()
    return results


def _warm_rounds(
    competitors: Mapping[str, Competitor],
    results: Mapping[str, Measurement],
    samples: int,
    budget_seconds: float | None,
    say: Callable[[str], None],
    seed: int,
    watch: Watch | None,
) -> None:
    """Rounds until there are so many that count."""
    shuffled = orders(list(competitors), seed)
    left, spare, stretch = samples, samples, 0
    kept = dict.fromkeys(results, 0)
    if watch is not None:
        watch.begin()
    while left:
        order = [n for n in next(shuffled) if not _is_over(results[n], budget_seconds)]
        for place, name in enumerate(order):
            say(name)
            _run_once(competitors[name], results[name], place)
        left, stretch = left - 1, stretch + 1
        if watch is None:
            continue
        disturbed = watch.disturbed()
        if disturbed and stretch <= spare:
            say("once more: others used this machine")
            watch.drop(stretch)
            left, spare, stretch = left + stretch, spare - stretch, 0
            for name, result in results.items():
                del result.hot[kept[name] :], result.places[kept[name] :]
        elif disturbed is not None or not left:
            watch.keep()
            kept, stretch = {name: len(one.hot) for name, one in results.items()}, 0


def _is_over(result: Measurement, budget_seconds: float | None) -> bool:
    if result.failed:
        return True
    if budget_seconds is None or not result.hot:
        return False
    return sum(sample.wall for sample in (*result.cold, *result.hot)) > budget_seconds


def _run_once(competitor: Competitor, result: Measurement, place: int | None) -> None:
    try:
        result.finding, sample = timed(competitor)
    except Exception as error:
        result.error = error
    if result.failed:
        result.drop_times()
    elif place is None:
        result.cold.append(sample)
    else:
        result.hot.append(sample)
        result.places.append(place)


def _watch_once(memory: MemoryRun, result: Measurement) -> None:
    """The run for memory; a wrong answer in it counts like any other."""
    gc.collect()
    try:
        result.finding, result.peak_bytes, result.growth_bytes = memory()
    except Exception as error:
        result.error = error
    if result.failed:
        result.drop_times()
