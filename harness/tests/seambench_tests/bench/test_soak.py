"""Runs for as long as one likes: they end in time, at the first problem, and tell what grew."""

import contextlib
import subprocess
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from seambase.errors import SeambenchError
from seambench.bench.exchange import soak as soaking
from seambench.bench.exchange.soak import SoakOptions, SoakReport, soak


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """What runs come to, one after the other, and rows that are right after these."""
    left: list[Any] = []
    with subprocess.Popen(["sleep", "60"]) as worker:

        def run(_: object) -> Any:
            time.sleep(0.001)
            came = left.pop(0) if left else "right"
            if came == "died":
                raise SeambenchError("it is gone")
            return SimpleNamespace(rows=3, outcomes=came)

        cluster = SimpleNamespace(pids=[worker.pid], prepare=lambda *_: None, run=run)
        monkeypatch.setattr(soaking, "_cluster", lambda _: contextlib.nullcontext(cluster))
        monkeypatch.setattr(soaking, "_run_and_kill", lambda *_: None)
        monkeypatch.setattr(soaking, "_paused", lambda *_: contextlib.nullcontext())
        monkeypatch.setattr(soaking, "write_tables", lambda *_: None)
        oracle = SimpleNamespace(
            judge=lambda came: SimpleNamespace(wrong=None if came == "right" else came)
        )
        monkeypatch.setattr(soaking, "Oracle", lambda *_: oracle)
        yield left
        worker.kill()


def test_it_ends_when_its_time_is_up(told: list[Any]) -> None:
    """Runs go on for the seconds that were asked for, and their rows are counted."""
    begin = time.monotonic()
    report = soak(SoakOptions(seconds=0.3))
    assert 0.3 <= time.monotonic() - begin < 10
    assert (told, report.problems) == ([], [])
    compared = report.runs["none"] + report.runs["pause"]
    assert report.runs["none"] > 0 < compared
    assert report.rows == 3 * compared
    assert len(report.resident_bytes) == compared


@pytest.mark.parametrize(("came", "says"), [("rows are lost", "rows are lost"), ("died", "gone")])
def test_it_ends_at_the_first_problem(told: list[Any], came: str, says: str) -> None:
    """A wrong answer and an error end it, and are told with what was run."""
    told += ["right", came]
    report = soak(SoakOptions(seconds=60, seed=1))
    [problem] = report.problems
    assert says in problem
    assert any(plan in problem for plan in soaking._PLANS)
    assert len(report.resident_bytes) == 2


def test_growth_is_from_the_second_quarter_to_the_last() -> None:
    """What the first runs take is no growth, nor is what one run takes."""
    warm = [1, 50, 100, 100, 900, 100, 100, 100]
    assert SoakReport(resident_bytes=[*warm[:4], 100, 100, 100, 100]).growth_bytes == 0
    assert SoakReport(resident_bytes=[*warm[:6], 700, 700]).growth_bytes == 600
    assert SoakReport(resident_bytes=[1, 2, 3]).growth_bytes == 0


def test_workers_that_grow_are_a_problem(told: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """More than what is taken for noise, of all workers together."""
    monkeypatch.setattr(SoakReport, "growth_bytes", 2 * soaking._NOISE_BYTES)
    assert soak(SoakOptions(seconds=0.01, workers=2)).problems == []
    monkeypatch.setattr(SoakReport, "growth_bytes", 2 * soaking._NOISE_BYTES + 1)
    [problem] = soak(SoakOptions(seconds=0.01, workers=2)).problems
    assert (told, problem.split(" by ")[0]) == ([], "the workers grew")
