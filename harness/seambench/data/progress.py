"""Progress on standard error: one line per step that is done, and a bar over all."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

__all__ = ["Steps"]


class Steps:
    """Shows which step runs; off a terminal it prints a line per finished step.

    Attributes:
        seconds: how long each finished step took, by its text, in order.
    """

    def __init__(self, *, quiet: bool = False, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, quiet=quiet)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=quiet,
        )
        self._task = self._progress.add_task("data", total=None)
        self.seconds: dict[str, float] = {}

    def __enter__(self) -> Steps:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def plan(self, steps: int) -> None:
        """Tell how many steps there will be."""
        self._progress.update(self._task, total=steps, completed=0)

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        self._console.print(text, highlight=False)

    @contextlib.contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Run one step; its text is shown meanwhile, its time after."""
        self._progress.update(self._task, description=what)
        begun = time.monotonic()
        yield
        self.seconds[what] = time.monotonic() - begun
        self._progress.advance(self._task)
        self.say(f"{self.seconds[what]:7.1f} s  {what}")
