"""Progress of a comparison on standard error: a bar, or off a terminal a line per case."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from seambench.bench.listener import Listener
from seambench.contracts.outcomes import FAILING
from seambench.records.model import Timing

__all__ = ["Shown"]


class Shown(Listener):
    """Shows which data set, case and reader runs; says at once what goes wrong."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task("comparing", total=None)
        self._case = ""

    def __enter__(self) -> Shown:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def plan(self, cases: int) -> None:
        """Number of cases to come."""
        self._bar.update(self._task, total=cases)

    def case(self, dataset: str, case: str) -> None:
        """A case begins."""
        if self._case:
            self._bar.advance(self._task)
        self._case = f"{dataset} {case}"
        if not self._console.is_terminal:
            self._console.print(self._case, markup=False)

    def running(self, reader: str) -> None:
        """A run of a reader begins."""
        self._bar.update(self._task, description=f"{self._case}: {reader}")

    def done(self, timing: Timing, reader: str) -> None:
        """A reader is done with a case."""
        if timing.outcome in FAILING:
            self._console.print(f"{timing.case}: {reader}: {timing.reason}", markup=False)
