"""Rows that meet what changes them: log events, newer runs, deletes by position."""

from __future__ import annotations

from typing import Any

from . import kernels, run_kernels


class Merge(kernels.Timed):
    """524,288 base rows of 6 columns, 105,000 events: key index, probe, assembly."""

    kernel_type: Any = kernels.Merge
    time_merge = kernels.Timed.run


class SortedRuns(Merge):
    """The keys of a run of 200,000 rows and of three newer ones."""

    kernel_type = run_kernels.SortedRuns


class DeletedRows(Merge):
    """131,072 rows of 6 columns without those of a roaring bitmap."""

    kernel_type = run_kernels.DeletedRows
