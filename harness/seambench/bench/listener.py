"""What a measurement tells while it runs."""

from __future__ import annotations

from seambench.records.model import Timing


class Listener:
    """Called as things happen; the command line shows it. This one keeps silent."""

    def plan(self, total: int) -> None:
        """Number of cases (of all data sets together) to come."""

    def case(self, dataset: str, case: str) -> None:
        """A case begins."""

    def running(self, reader: str) -> None:
        """A run of a reader begins."""

    def done(self, timing: Timing, reader: str) -> None:
        """A reader is done with a case."""
