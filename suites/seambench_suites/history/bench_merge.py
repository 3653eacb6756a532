"""Rows that meet what changes them: log events, newer runs, deletes by position."""

from __future__ import annotations

from . import kernels, run_kernels

Merge = kernels.timed(kernels.Merge, "time_merge")
SortedRuns = kernels.timed(run_kernels.SortedRuns, "time_merge")
DeletedRows = kernels.timed(run_kernels.DeletedRows, "time_merge")
