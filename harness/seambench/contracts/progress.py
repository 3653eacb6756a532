"""Progress of long work on standard error: one display for every command.

On a terminal a line tells what runs now, how far the work has come and how long it will still
take. Elsewhere, as in a log, what is said comes (`Progress.say`), and of work that takes longer a
line each half minute, so that a reader of the log knows that it goes on.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import Progress as Bar
from rich.table import Column
from rich.text import Text

_LINE_SECONDS = 30.0
"""Off a terminal, between two lines that tell what runs."""
_WIDE = 120
"""Below this width the bar is short: what runs needs the place."""


class _TimeLeft(ProgressColumn):
    """How long the rest will take at the present speed; nothing while that is not known."""

    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        """See `ProgressColumn`."""
        seconds = task.time_remaining
        if seconds is None or task.finished:
            return Text(" ")  # one without any width takes the last letter of another column
        minutes, rest = divmod(int(seconds), 60)
        return Text(f"{minutes}:{rest:02d} left")


class Progress:
    """One line of progress, removed when the work is done.

    A context manager. `total` is the steps to come, once that is known; `quiet` shows and says
    nothing.
    """

    def __init__(
        self,
        what: str,
        total: int | None = None,
        *,
        quiet: bool = False,
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console or Console(stderr=True, quiet=quiet, highlight=False, emoji=False)
        self._bar = Bar(
            SpinnerColumn(),
            TextColumn(
                "{task.description}",
                markup=False,
                # What figures leave over: they are never cut.
                table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1),
            ),
            BarColumn(bar_width=24 if self._console.width >= _WIDE else 6),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            _TimeLeft(),
            expand=True,
            console=self._console,
            transient=True,
            get_time=clock,
            disable=quiet or not self._console.is_interactive,
        )
        self._lines = not quiet and not self._console.is_interactive
        self._clock = clock
        self._last_line = clock()
        self._task = self._bar.add_task(what, total=total)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def plan(self, total: int) -> None:
        """Tell how many steps there will be; none of them is done yet."""
        self._bar.reset(self._task, total=total)

    def now(self, what: str) -> None:
        """Tell what runs now."""
        self._bar.update(self._task, description=what)
        if self._lines and self._clock() - self._last_line >= _LINE_SECONDS:
            self._last_line = self._clock()
            task = self._bar.tasks[0]
            done = "" if task.total is None else f"{task.completed:g} of {task.total:g}: "
            self.say(f"{done}{what}")

    def advance(self) -> None:
        """A step is done."""
        self._bar.advance(self._task)

    def refresh(self) -> None:
        """Draw the line now, which otherwise happens ten times a second."""
        self._bar.refresh()

    def say(self, text: str) -> None:
        """Print a line above the display; off a terminal, too."""
        self._console.print(text, markup=False, highlight=False, emoji=False)

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Take the display away while something is printed elsewhere on the same terminal."""
        self._bar.stop()
        try:
            yield
        finally:
            self._bar.start()
