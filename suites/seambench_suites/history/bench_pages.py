"""Presto pages, and Arrow's IPC beside them."""

from __future__ import annotations

from typing import Any

from . import kernels, page_kernels


class PagesOut(kernels.Timed):
    """65,536 rows of 16 columns to pages of 4096 rows or to one page."""

    param_names = ("variant", "rows")
    params = (["plain", "lz4+checksum"], ["4096", "65536"])
    kernel_type: Any = page_kernels.PagesOut
    time_pages = kernels.Timed.run


class PagesIn(PagesOut):
    """Pages to 65,536 rows of 16 columns."""

    kernel_type = page_kernels.PagesIn


class PageParts(kernels.Timed):
    """65,536 rows of 16 columns, interleaved, to 64 pages."""

    kernel_type: Any = page_kernels.PageParts
    time_run = kernels.Timed.run


class Checksum(PageParts):
    """The checksum of a page of 65,536 rows, 16 times."""

    kernel_type = page_kernels.Checksum


class IpcOut(kernels.Timed):
    """65,536 rows of 16 columns to Arrow streams."""

    param_names = ("rows",)
    params = (["4096", "65536"],)
    kernel_type: Any = page_kernels.IpcOut
    time_streams = kernels.Timed.run


class IpcIn(IpcOut):
    """Arrow streams to 65,536 rows of 16 columns, checked in full."""

    kernel_type = page_kernels.IpcIn
