"""Competitors in processes of their own, and what the machine does beside them."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import psutil
import pytest

from seambase.errors import InputError, SeambenchError
from seambench.bench import quiet
from seambench.bench.apart import Apart, Here, Home, Task, competitor_at
from seambench.bench.measure import Competitor, take_turns
from seambench.bench.quiet import Watch
from seambench.records.model import Busy
from seambench.records.verdicts import Finding

RIGHT = "duckdb2:3:00000000000000aa:00000000000000bb"


def _right(_: object) -> Finding:
    return Finding(RIGHT, RIGHT)


def counting(first: int) -> Competitor:
    """Counts its runs; tells the process, and the number of the last run."""
    runs = [first]

    def run() -> None:
        runs[0] += 1

    return Competitor(run, _right, about=lambda: (os.getpid(), runs[0]))


def failing(how: str) -> Competitor:
    """Fails with a sentence, with an error that cannot be sent, or by the end of its process."""

    class HereOnlyError(Exception):
        pass

    def run() -> None:
        if how == "dies":
            os._exit(3)
        raise InputError("t: broken") if how == "says" else HereOnlyError("local")

    return Competitor(run, _right)


@pytest.mark.parametrize("home", [Here(), Apart("x")], ids=["here", "apart"])
def test_a_competitor_keeps_its_state_where_it_runs(home: Home) -> None:
    """It is made once and asked again and again; a process of its own is another than this one.

    Which ends at once when it is told so, and is not killed after a while.
    """
    try:
        tasks = {name: Task(counting, (at,)) for name, at in (("a", 0), ("b", 100))}
        both = {name: competitor_at(home, task) for name, task in tasks.items()}
        measured = take_turns(both, 3)
        told = [one.about() for one in both.values() if one.about is not None]
    finally:
        process, begin = psutil.Process(told[0][0]), time.monotonic()
        home.close()
        took = time.monotonic() - begin
    assert all(len(one.hot) == 3 and not one.failed for one in measured.values())
    assert [count for _, count in told] == [4, 104]
    assert len({pid for pid, _ in told}) == 1
    assert ({pid for pid, _ in told} == {os.getpid()}) == isinstance(home, Here)
    assert took < 8
    assert process.is_running() == isinstance(home, Here)


def test_what_fails_elsewhere_fails_here() -> None:
    """Its error comes back; a process that died is another one for the next task."""
    home, served = Apart("x"), []
    try:
        for how, error, says in (
            ("says", InputError, "^t: broken$"),
            ("local", SeambenchError, "^HereOnlyError: local$"),
            ("dies", SeambenchError, r"the process of x died \(exit code 3\)"),
        ):
            with pytest.raises(error, match=says):
                home.ask("time", Task(failing, (how,)))
            served.append(home.ask("about", Task(counting, (0,)))[0])
    finally:
        home.close()
    assert served[0] == served[1] != served[2]


def test_the_work_of_others_is_seen() -> None:
    """A process that is none of ours keeps a core busy: the run is not quiet, though ours may."""
    spin = "import os, sys\nif os.fork(): sys.exit()\nos.setsid()\nprint(os.getpid(), flush=True)\n"
    spin += "import time\nend = time.time() + 60\nwhile time.time() < end: pass"
    command = [sys.executable, "-c", spin]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as begun:
        assert begun.stdout is not None
        pid = int(begun.stdout.readline())
    waits: list[str] = []
    try:
        watch = Watch(wait_seconds=3.0, on_wait=waits.append)
        time.sleep(0.3)
        told = watch.busy()
    finally:
        os.kill(pid, 9)
    assert not told.is_quiet
    # A busy machine leaves it a part of a core.
    assert told.before > 5
    assert told.during > 5
    assert waits
    assert 0.5 <= told.waited < 10


def test_own_work_is_no_work_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all busy time of all cores what this process and its children spent is taken off."""
    monkeypatch.setattr(psutil, "cpu_count", lambda: 4)
    readings = iter([(0, 0, 0, 0), (10, 5, 1, 5), (0, 0, 0, 0), (10, 7, 0, 5)])
    monkeypatch.setattr(quiet, "_now", lambda: next(readings))
    told = Watch().busy()
    assert (told.before, told.stolen_before) == (0.0, 2.5)
    assert (told.during, told.stolen) == (5.0, 0.0)


@pytest.mark.parametrize(
    ("busy", "is_quiet"),
    [
        (Busy(waited=0, before=4, during=4, stolen=0.5), True),
        (Busy(waited=0, before=6), False),
        (Busy(waited=0, before=0, during=6), False),
        (Busy(waited=0, before=0, stolen_before=2), False),
        (Busy(waited=0, before=0, stolen=2), False),
    ],
)
def test_quiet_is_before_and_during(busy: Busy, is_quiet: bool) -> None:
    """Others may have 5 % of all cores and the host 1 %, before a run and in it."""
    assert busy.is_quiet == is_quiet
