"""Presto pages, and Arrow's IPC beside them: always 65,536 rows of 16 columns."""

from __future__ import annotations

from . import kernels, page_kernels

_ROWS = ["4096", "65536"]
_VARIANTS = ["plain", "lz4+checksum"]

PagesOut = kernels.timed(page_kernels.PagesOut, "time_pages", variant=_VARIANTS, rows=_ROWS)
PagesIn = kernels.timed(page_kernels.PagesIn, "time_pages", variant=_VARIANTS, rows=_ROWS)
PageParts = kernels.timed(page_kernels.PageParts, "time_run")
Checksum = kernels.timed(page_kernels.Checksum, "time_run")
IpcOut = kernels.timed(page_kernels.IpcOut, "time_streams", rows=_ROWS)
IpcIn = kernels.timed(page_kernels.IpcIn, "time_streams", rows=_ROWS)
