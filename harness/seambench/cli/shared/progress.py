"""Progress of a comparison: which data set, case and reader runs, and at once what goes wrong."""

from __future__ import annotations

from rich.console import Console

from seambench.bench.listener import Listener
from seambench.contracts.outcomes import FAILING
from seambench.contracts.progress import Progress
from seambench.records.model import Timing


class Shown(Listener):
    """Shows a comparison; a context manager."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress("comparing", console=console)
        self._case = ""

    def __enter__(self) -> Shown:
        self._progress.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.__exit__()

    def plan(self, cases: int) -> None:
        """Number of cases to come."""
        self._progress.plan(cases)

    def case(self, dataset: str, case: str) -> None:
        """A case begins."""
        if self._case:
            self._progress.advance()
        self._case = f"{dataset} {case}"
        self._progress.now(self._case)

    def running(self, reader: str) -> None:
        """A run of a reader begins."""
        self._progress.now(f"{self._case}: {reader}")

    def done(self, timing: Timing, reader: str) -> None:
        """A reader is done with a case."""
        if timing.outcome in FAILING:
            self._progress.say(f"{timing.case}: {reader}: {timing.reason}")
