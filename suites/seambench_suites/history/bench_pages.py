"""Presto pages, and Arrow's IPC beside them."""

from __future__ import annotations

from typing import Any

from . import kernels, page_kernels


class PagesOut:
    """65,536 rows of 16 columns to pages of 4096 rows or to one page."""

    version = "1"
    number = 1
    param_names = ("variant", "rows")
    params = (["plain", "lz4+checksum"], ["4096", "65536"])
    kernel_type: Any = staticmethod(page_kernels.PagesOut)

    def setup(self, variant: str, rows: str) -> None:
        """Make a page and compare what comes back, once a process."""
        self.kernel = kernels.kernel(self.kernel_type, variant, rows)

    def time_pages(self, _variant: str, _rows: str) -> None:
        """All rows once."""
        self.kernel.run()


class PagesIn(PagesOut):
    """Pages to 65,536 rows of 16 columns."""

    kernel_type = staticmethod(page_kernels.PagesIn)


class PageParts:
    """65,536 rows of 16 columns, interleaved, to 64 pages."""

    version = "1"
    number = 1
    kernel_type: Any = staticmethod(page_kernels.PageParts)

    def setup(self) -> None:
        """Make the batch and compare what comes out, once a process."""
        self.kernel = kernels.kernel(self.kernel_type)

    def time_run(self) -> None:
        """All of it once."""
        self.kernel.run()


class Checksum(PageParts):
    """The checksum of a page of 65,536 rows, 16 times."""

    kernel_type = staticmethod(page_kernels.Checksum)


class IpcOut:
    """65,536 rows of 16 columns to Arrow streams."""

    version = "1"
    number = 1
    param_names = ("rows",)
    params = (["4096", "65536"],)
    kernel_type: Any = staticmethod(page_kernels.IpcOut)

    def setup(self, rows: str) -> None:
        """Make a stream and compare what comes back, once a process."""
        self.kernel = kernels.kernel(self.kernel_type, rows)

    def time_streams(self, _rows: str) -> None:
        """All rows once."""
        self.kernel.run()


class IpcIn(IpcOut):
    """Arrow streams to 65,536 rows of 16 columns, checked in full."""

    kernel_type = staticmethod(page_kernels.IpcIn)
