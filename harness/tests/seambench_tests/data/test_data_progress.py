"""Progress: a line per step, and no Ctrl-C lost."""

import io
import itertools
import os
import re
import signal

import pytest
from rich.console import Console

from seambench.contracts.progress import Progress
from seambench.data.progress import Steps


def _console() -> Console:
    return Console(file=io.StringIO(), width=80)


def test_finished_steps_are_lines() -> None:
    """Off a terminal each finished step is one line with its seconds, in order."""
    console = _console()
    with Steps(console=console) as steps:
        steps.plan(2)
        for what in ("first", "second"):
            with steps.step(what):
                pass
    assert isinstance(console.file, io.StringIO)
    lines = [line for line in console.file.getvalue().splitlines() if line.strip()]
    assert [line.split()[-1] for line in lines[:2]] == ["first", "second"]


def test_a_log_hears_of_long_work_each_half_minute() -> None:
    """Off a terminal a line tells what runs and how far the work is, at most one in 30 seconds."""
    console, now = _console(), [0.0]
    with Progress("comparing", 5, console=console, clock=lambda: now[0]) as progress:
        for seconds, what in ((1, "a"), (29, "b"), (31, "c"), (60, "d"), (61, "e")):
            now[0] = seconds
            progress.now(what)
            progress.advance()
    assert isinstance(console.file, io.StringIO)
    lines = [line.strip() for line in console.file.getvalue().splitlines() if line.strip()]
    assert lines == ["2 of 5: c", "4 of 5: e"]


def test_quiet_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Without progress nothing is written, to neither stream."""
    with Steps(quiet=True) as steps, steps.step("x"):
        steps.say("y")
    assert capsys.readouterr() == ("", "")


def test_swallowed_interrupt_ends_the_step() -> None:
    """Ctrl-C that other code swallows is raised again at the end of the step."""
    reached = []

    def run() -> None:
        with Steps(console=_console()) as steps:
            with steps.step("swallows"):
                try:
                    os.kill(os.getpid(), signal.SIGINT)
                except KeyboardInterrupt:
                    reached.append("swallowed")
            reached.append("next step")

    with pytest.raises(KeyboardInterrupt):
        run()
    assert reached == ["swallowed"]


def test_interrupt_that_became_an_error_is_one() -> None:
    """Ctrl-C that other code turned into an error still ends the run as an interruption."""

    def run() -> None:
        with Steps(console=_console()):
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt as error:
                raise ValueError from error

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        run()
    assert signal.getsignal(signal.SIGINT) is before


def test_a_terminal_shows_how_far_and_how_long() -> None:
    """What runs, steps done of all, and the time left stand on one line, which then goes away."""
    console = Console(file=io.StringIO(), width=120, force_terminal=True, force_interactive=True)
    clock = iter(range(0, 1000, 2))
    with Progress("working", console=console, clock=lambda: float(next(clock))) as progress:
        progress.plan(10)
        for _ in range(4):
            progress.now("a case")
            progress.advance()
        progress.refresh()
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "a case" in shown
    assert "4/10" in shown
    assert re.search(r"\d+:\d\d left", shown)


@pytest.mark.parametrize("left", [0, 4])
def test_a_narrow_terminal_cuts_what_runs_and_no_figure(left: int) -> None:
    """At 80 columns steps, seconds and the time left stand whole behind a name of any length."""
    console = Console(file=io.StringIO(), width=80, force_terminal=True, force_interactive=True)
    clock = itertools.count(0, 2)
    with Progress("working", console=console, clock=lambda: float(next(clock))) as progress:
        progress.plan(1200)
        for _ in range(1200 - left):
            progress.now("scan/hudi/scenarios/" + "long-" * 12)
            progress.advance()
        progress.refresh()
    assert isinstance(console.file, io.StringIO)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", console.file.getvalue())
    line = shown.replace("\r", "\n").strip().splitlines()[-1]
    assert len(line) <= 80
    assert "scan/hudi/scenarios/long" in line
    assert f"{1200 - left}/1200" in line
    assert re.search(r" \d+:\d\d:\d\d ", line + " ")
    assert bool(re.search(r"\d+:\d\d left", line)) == bool(left)


def test_off_a_terminal_only_what_is_said_is_shown() -> None:
    """A log gets no bars."""
    console = _console()
    with Progress("working", 3, console=console) as progress:
        progress.now("a case")
        progress.advance()
        with progress.aside():
            progress.say("a [line]")
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == "a [line]\n"
