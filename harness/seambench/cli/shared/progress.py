"""Progress of a comparison: which data set, case and reader runs, and at once what goes wrong."""

from __future__ import annotations

from rich.console import Console

from seambench.bench.listener import Listener
from seambench.contracts.outcomes import FAILING
from seambench.contracts.progress import Progress
from seambench.records.model import Timing


class Shown(Progress, Listener):
    """Shows a comparison."""

    def __init__(self, console: Console) -> None:
        super().__init__("comparing", console=console)
        self._case = ""

    def case(self, dataset: str, case: str) -> None:
        """A case begins."""
        if self._case:
            self.advance()
        self._case = f"{dataset} {case}"
        self.now(self._case)

    def running(self, reader: str) -> None:
        """A run of a reader begins."""
        self.now(f"{self._case}: {reader}")

    def done(self, timing: Timing, reader: str) -> None:
        """A reader is done with a case."""
        if timing.outcome in FAILING:
            self.say(f"{timing.case}: {reader}: {timing.reason}")
