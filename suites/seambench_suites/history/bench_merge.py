"""Rows that meet what changes them: log events, newer runs, deletes by position."""

from __future__ import annotations

from typing import Any

from . import kernels, run_kernels


class Merge:
    """524,288 base rows of 6 columns, 105,000 events: key index, probe, assembly."""

    version = "1"
    number = 1
    kernel_type: Any = staticmethod(kernels.Merge)

    def setup(self) -> None:
        """What a run uses up, anew: assembly works in place."""
        self.kernel = kernels.kernel(self.kernel_type)
        self.kernel.prepare()

    def time_merge(self) -> None:
        """Merge everything."""
        self.kernel.run()


class SortedRuns(Merge):
    """The keys of a run of 200,000 rows and of three newer ones."""

    kernel_type = staticmethod(run_kernels.SortedRuns)


class DeletedRows(Merge):
    """131,072 rows of 6 columns without those of a roaring bitmap."""

    kernel_type = staticmethod(run_kernels.DeletedRows)
