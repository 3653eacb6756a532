"""Competitors in processes of their own: what one leaves in memory and threads meets no other.

A competitor is given as a task, by a function of a module and its arguments, and is made where it
runs. A process serves the tasks that it is given one after the other, as long as it lives; one that
dies is an error of that run, and the next task has a new one.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import pickle
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any, Protocol

from seambase.errors import SeambenchError
from seambench.bench.measure import Competitor, timed

_SECONDS_TO_END = 10.0


@dataclass(frozen=True)
class Task:
    """How a competitor is made."""

    make: Callable[..., Competitor]  # a function of a module
    args: tuple[Any, ...]  # its arguments, which can be pickled
    memory: bool = False


class Home(Protocol):
    """Where competitors are made and run."""

    def ask(self, word: str, task: Task) -> Any:
        """Have a task's competitor `time` a run, measure `memory`, or tell `about` its last run."""

    def close(self) -> None:
        """End what it started."""


def competitor_at(home: Home, task: Task) -> Competitor:
    """A competitor that runs elsewhere: timed and judged there, by the clock there."""
    return Competitor(
        run=lambda: None,
        judge=lambda found: found,
        clock=lambda _: home.ask("time", task),
        memory=(lambda: home.ask("memory", task)) if task.memory else None,
        about=lambda: home.ask("about", task),
    )


def _memory(competitor: Competitor) -> Any:
    assert competitor.memory is not None
    return competitor.memory()


_WORDS: Mapping[str, Callable[[Competitor], Any]] = {
    "time": timed,
    "memory": _memory,
    "about": lambda competitor: competitor.about() if competitor.about else None,
}


class Here:
    """This process."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[Task, Competitor]] = {}

    def ask(self, word: str, task: Task) -> Any:
        """See `Home`."""
        if id(task) not in self._made:
            self._made[id(task)] = task, task.make(*task.args)
        return _WORDS[word](self._made[id(task)][1])

    def close(self) -> None:
        """See `Home`."""
        self._made.clear()


class Apart:
    """A process of its own, started when it is first asked."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None
        self._known: dict[int, Task] = {}

    def ask(self, word: str, task: Task) -> Any:
        """See `Home`."""
        pipe = self._pipe or self._start()
        known = id(task) in self._known
        try:
            pipe.send((word, id(task), None if known else task))
            self._known[id(task)] = task
            came, value = pipe.recv()
        except (EOFError, OSError) as error:
            code = self._end()
            raise SeambenchError(f"the process of {self._name} died ({code})") from error
        if came == "error":
            raise value
        return value

    def close(self) -> None:
        """See `Home`."""
        if self._pipe is not None:
            with contextlib.suppress(OSError):
                self._pipe.send(None)
        self._end()

    def _start(self) -> Connection:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,))
        self._process.start()
        theirs.close()
        return self._pipe

    def _end(self) -> str:
        """Have the process end; how it did."""
        code = "it was not running"
        if self._process is not None:
            self._process.join(_SECONDS_TO_END)
            if self._process.exitcode is None:
                self._process.kill()
                self._process.join()
            code = f"exit code {self._process.exitcode}"
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None
        self._known.clear()
        return code


def _serve(pipe: Connection) -> None:
    """The other process: answer until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who asks
    try:
        _answer(pipe)
    finally:
        gc.unfreeze()


def _answer(pipe: Connection) -> None:
    here, tasks = Here(), dict[int, Task]()
    while True:
        try:
            message = pipe.recv()
        except EOFError:
            return
        if message is None:
            return
        word, number, task = message
        if task is not None:
            tasks[number] = task
            gc.freeze()
        try:
            answer = "value", here.ask(word, tasks[number])
        except Exception as error:
            answer = "error", _sendable(error)
        pipe.send(answer)


def _sendable(error: Exception) -> Exception:
    """The error, or one with its words where it cannot be sent."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    except Exception:
        return SeambenchError(f"{type(error).__name__}: {error}")
    return error
