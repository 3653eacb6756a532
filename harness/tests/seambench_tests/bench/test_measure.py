"""Turns are fair, samples are raw, and a wrong answer leaves no time behind."""

from __future__ import annotations

import gc
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from seambase.errors import SeambenchError, UsageError
from seambench.bench import memory
from seambench.bench.measure import Competitor, family_clock, growth_of, own_clock, take_turns
from seambench.bench.memory import MemorySampler, peak_of_own_process, run_drain
from seambench.bench.quiet import Watch, family_seconds
from seambench.records.verdicts import Finding
from seambench.records.writer import Sample
from seambench_tests import SAMPLES

COMMAND = SAMPLES / "reader_command.py"


RIGHT = "duckdb2:3:00000000000000aa:00000000000000bb"
OTHER = "duckdb2:3:00000000000000aa:00000000000000bc"


def right(_: object) -> Finding:
    """Whatever came, it is what was expected."""
    return Finding(RIGHT, RIGHT)


def answers(*values: object) -> Callable[[], object]:
    """Work that gives these answers one after the other; exceptions are raised."""
    rest = list(values)

    def run() -> object:
        value = rest.pop(0)
        if isinstance(value, Exception):
            raise value
        return value

    return run


def test_what_whoever_calls_had_frozen_stays_so() -> None:
    """Only what turns keep from collections themselves is given back to them."""
    for before, stays in ((gc.unfreeze, False), (gc.freeze, True)):
        before()
        take_turns({"a": Competitor(lambda: None, right)}, 1)
        assert (gc.get_freeze_count() > 0) == stays


def test_competitors_take_turns() -> None:
    """Every round runs each competitor once, in orders that turn round; the first is kept apart.

    It has the order that was given, whatever the seed: a floor copies what runs before it moved.
    """
    turns: list[str] = []
    both = {name: Competitor(lambda: None, right) for name in "ab"}
    results = take_turns(both, 4, on_run=turns.append)
    rounds = ["".join(turns[at : at + 2]) for at in range(0, 10, 2)]
    assert [sorted(one) for one in rounds] == [["a", "b"]] * 5
    assert rounds[2::2] == [one[::-1] for one in rounds[1::2]]
    for seed in range(5):
        begun: list[str] = []
        take_turns(both, 1, on_run=begun.append, seed=seed)
        assert begun[:2] == ["a", "b"]
    for result in results.values():
        assert len(result.cold) == 1
        assert len(result.hot) == 4
        assert all(sample.wall > 0 for sample in result.hot)
        assert result.growth_bytes is None
    places = [result.places for result in results.values()]
    assert [rounds[at + 1][place] for at, place in enumerate(places[0])] == ["a"] * 4


class Looked(Watch):
    """A watch that was told what it sees after each round."""

    def __init__(self, *seen: bool | None) -> None:
        super().__init__()
        self._seen = iter(seen)

    def disturbed(self) -> bool | None:
        """See `Watch.disturbed`."""
        return next(self._seen)


@pytest.mark.parametrize(
    ("seen", "kept", "again"),
    [
        pytest.param([False, False, False], [1, 2, 3], 0, id="quiet"),
        pytest.param([False, True, False, False], [1, 3, 4], 1, id="one round"),
        pytest.param(
            [None, True, None, False, False], [3, 4, 5], 2, id="a stretch of short rounds"
        ),
        pytest.param([None, None, None], [1, 2, 3], 0, id="all too short to tell"),
        pytest.param([True] * 6, [4, 5, 6], 3, id="no more than there are samples"),
    ],
)
def test_disturbed_rounds_are_done_again(
    seen: list[bool | None], kept: list[int], again: int
) -> None:
    """Samples of rounds in which others used the machine go, and as many are taken anew."""
    runs = {"a": 0, "b": 0}

    def clock(name: str) -> Callable[[Callable[[], object]], tuple[object, Sample]]:
        def count(_: object) -> tuple[object, Sample]:
            runs[name] += 1
            return None, Sample(float(runs[name] - 1), 0.0)

        return count

    watch = Looked(*seen)
    both = {name: Competitor(lambda: None, right, clock(name)) for name in runs}
    for result in take_turns(both, 3, watch=watch).values():
        assert [sample.wall for sample in result.hot] == kept
        assert len(result.places) == 3
    assert runs == dict.fromkeys("ab", len(seen) + 1)
    assert watch.busy().again == again


def test_memory_is_watched_in_a_run_of_its_own() -> None:
    """After the timed rounds each competitor that wants it runs once more, and is judged again."""
    turns: list[str] = []
    given = iter([RIGHT, RIGHT, RIGHT, OTHER])

    def late(_: object) -> Finding:
        return Finding(RIGHT, next(given))

    def watched(judge: Callable[[object], Finding]) -> Competitor:
        return Competitor(lambda: None, judge, memory=growth_of(lambda: None, judge))

    competitors = {"a": watched(right), "b": watched(late), "c": Competitor(lambda: None, right)}
    results = take_turns(competitors, 2, on_run=turns.append)

    assert turns[-2:] == ["a (memory)", "b (memory)"]
    assert results["a"].growth_bytes is not None
    assert (results["b"].hot, results["b"].growth_bytes) == ([], None)


def test_a_competitor_may_bring_a_clock() -> None:
    """Work in other processes, or a run of many calls, is timed by who knows how."""
    one = Competitor(lambda: None, right, lambda run: (run(), Sample(7.0, 1.0)))
    assert take_turns({"a": one}, 1)["a"].hot == [Sample(7.0, 1.0)]


@pytest.mark.parametrize("wrong_at", [0, 1, 3])
def test_a_wrong_answer_leaves_no_time(wrong_at: int) -> None:
    """One wrong answer, even the last, drops every sample and says what was wrong."""
    given = [RIGHT] * 4
    given[wrong_at] = OTHER
    check = partial(Finding, RIGHT)
    results = take_turns(
        {"bad": Competitor(answers(*given), check), "good": Competitor(lambda: RIGHT, check)}, 3
    )
    assert (results["bad"].cold, results["bad"].hot) == ([], [])
    assert f"{OTHER} found" in str(getattr(results["bad"].finding, "wrong", None))
    assert len(results["good"].hot) == 3


def test_an_error_stops_only_its_own_competitor() -> None:
    """An exception is kept, its competitor runs no more, the others go on."""
    broken = ValueError("broken")
    results = take_turns(
        {"bad": Competitor(answers(1, broken), right), "good": Competitor(lambda: 1, right)}, 2
    )
    assert results["bad"].error is broken
    assert (results["bad"].cold, results["bad"].hot) == ([], [])
    assert len(results["good"].hot) == 2


def test_a_slow_competitor_gets_fewer_samples() -> None:
    """Over its budget a competitor keeps one hot sample and is not started again."""
    results = take_turns({"slow": Competitor(lambda: None, right)}, 5, budget_seconds=0)
    assert len(results["slow"].hot) == 1


def test_ctrl_c_is_not_swallowed() -> None:
    """An interrupt ends the measuring; it is no result of a competitor."""

    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        take_turns({"a": Competitor(interrupted, right)}, 1)


def test_no_samples_are_refused() -> None:
    """At least one hot sample is needed."""
    with pytest.raises(UsageError, match="0 samples"):
        take_turns({}, 0)


@pytest.mark.parametrize("waits", [True, False])
def test_processor_time_of_other_processes_counts(waits: bool) -> None:
    """What a program spends that a run started, ended or still there, is part of the sample."""
    work = "import time\nwhile time.process_time() < 0.3: pass\nprint(1, flush=True)\ninput()"

    def run() -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-c", work], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        process.stdout.readline()
        if waits:
            process.communicate(b"\n")
        return process

    process, family = family_clock(run)
    process.communicate(b"\n") if not waits else None
    process, own = own_clock(run)
    process.communicate(b"\n") if not waits else None

    assert family.cpu >= 0.25
    assert own.cpu < 0.2


def test_memory_is_seen_while_it_is_held() -> None:
    """The sampler's peak holds what was held only inside the block."""
    with MemorySampler() as memory:
        held = bytearray(b"x") * (64 << 20)
        time.sleep(0.2)
        del held
    assert memory.peak_bytes - memory.start_bytes > 32 << 20
    assert peak_of_own_process() >= memory.peak_bytes * 0.99


def test_a_scan_is_drained_in_its_own_process() -> None:
    """Rows and memory of a streamed scan are told by the process that ran it, children included."""
    reader = "cmd:" + shlex.join([sys.executable, str(COMMAND)])
    drained = run_drain(reader, {"table": "t", "columns": ["id"]})
    assert drained.rows == 10
    assert drained.peak_bytes > 1 << 20


def test_a_drain_that_fails_says_why() -> None:
    """The reader's own sentence comes back from the other process."""
    reader = "cmd:" + shlex.join([sys.executable, str(COMMAND)])
    with pytest.raises(SeambenchError, match="table version 3 is not supported"):
        run_drain(reader, {"table": "refuse properly"})


def test_a_drain_that_takes_too_long_is_ended() -> None:
    """It is an error that names the limit, and no process is left."""
    reader = "cmd:" + shlex.join([sys.executable, str(COMMAND)])
    before, begin = set(psutil.Process().children()), time.monotonic()
    with pytest.raises(SeambenchError, match=r"took over 0\.01 s"):
        run_drain(reader, {"table": "hang", "columns": ["id"]}, timeout=0.01)
    assert time.monotonic() - begin < 60, "it was waited for"
    assert set(psutil.Process().children()) <= before


def test_the_peak_of_a_process_is_told_without_proc_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Elsewhere `getrusage` tells it, in KiB, and on a Mac in bytes."""
    known = peak_of_own_process()
    monkeypatch.setattr(memory, "Path", lambda _: tmp_path / "none")
    # Never less than what Linux has, which begins anew with a program.
    assert known * 0.9 <= peak_of_own_process() <= known * 1024 / 2
    monkeypatch.setattr(sys, "platform", "darwin")
    assert known * 0.9 <= peak_of_own_process() * 1024 <= known * 1024 / 2


def test_seconds_of_a_family_are_all_that_is_told_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own, those of ended children, and of living ones, theirs and what these waited for."""

    def spent(*seconds: float) -> SimpleNamespace:
        names = ("user", "system", "children_user", "children_system")
        times = SimpleNamespace(**dict(zip(names, seconds, strict=True)))
        return SimpleNamespace(cpu_times=lambda: times)

    def gone() -> None:
        raise psutil.NoSuchProcess(1)

    family = [spent(4, 8, 16, 32), SimpleNamespace(cpu_times=gone), spent(64, 128, 256, 512)]

    def children(*, recursive: bool) -> list[SimpleNamespace]:
        return family if recursive else family[:1]

    own = SimpleNamespace(children_user=1024, children_system=2048)
    monkeypatch.setattr(os, "times", lambda: own)
    monkeypatch.setattr(time, "process_time", lambda: 1.0)
    monkeypatch.setattr(psutil, "Process", lambda: SimpleNamespace(children=children))

    assert family_seconds() == 4096 - 3
