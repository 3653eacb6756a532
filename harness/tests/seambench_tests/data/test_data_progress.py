"""Progress: a line per step, and no Ctrl-C lost."""

from __future__ import annotations

import io
import os
import signal

import pytest
from rich.console import Console

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
    assert list(steps.seconds) == ["first", "second"]


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
