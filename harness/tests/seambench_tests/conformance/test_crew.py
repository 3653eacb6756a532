"""Processes that share cases: each is asked by one at a time, and none outlives the question."""

import threading
import time
from typing import Any, cast

import pytest

from seambench.conformance import run as crews
from seambench.conformance.isolate import Limits
from seambench.conformance.run import Crew


class Member:
    """Stands for a process: it is interrupted and closed from outside."""

    def __init__(self, *_: object) -> None:
        self.said: list[str] = []
        self.interrupted = threading.Event()
        self.busy = threading.Lock()

    def start(self) -> None:
        """See `Isolated`."""
        self.said.append("start")

    def interrupt(self) -> None:
        """See `Isolated`."""
        self.interrupted.set()

    def close(self) -> None:
        """See `Isolated`."""
        self.said.append("close")


@pytest.fixture
def crew(monkeypatch: pytest.MonkeyPatch) -> Crew:
    """Two of them."""
    monkeypatch.setattr(crews, "Isolated", Member)
    return Crew("scan", "some", Limits(), 2)


def _members(crew: Crew) -> list[Member]:
    return cast("list[Member]", crew._members)


def test_answers_come_in_the_order_of_the_cases(crew: Crew) -> None:
    """Two cases at a time, each by a process of which nobody else asks anything."""
    at_once = threading.Barrier(2)

    def put(member: Any, case: Any) -> Any:
        assert member.busy.acquire(blocking=False)
        if case < 2:
            at_once.wait(30)
        time.sleep(0.002 * (case % 3))
        member.busy.release()
        return case

    with crew:
        found: list[Any] = list(crew.map(put, cast("Any", range(9))))
    assert found == list(range(9))
    assert [member.said for member in _members(crew)] == [["start", "close"], ["close"]]


def test_who_asks_no_more_waits_for_nobody(crew: Crew) -> None:
    """Cases that still run are interrupted, and those behind them are not begun."""
    begun: list[int] = []

    def put(member: Any, case: Any) -> Any:
        begun.append(case)
        assert case == 0 or member.interrupted.wait(30)
        return case

    answers: Any = crew.map(put, cast("Any", range(20)))
    assert next(answers) == 0
    begin = time.monotonic()
    answers.close()

    assert time.monotonic() - begin < 10
    assert all(member.interrupted.is_set() for member in _members(crew))
    assert len(begun) <= 4
