"""Rows of Spark and Velox."""

from __future__ import annotations

from typing import Any

from . import kernels, row_kernels


class RowsOut:
    """Columns to rows: 16 chunks of 4096 rows and 16 columns."""

    version = "1"
    number = 1
    param_names = ("format",)
    params = ("unsaferow", "compactrow")
    kernel_type: Any = staticmethod(row_kernels.RowsOut)

    def setup(self, format_: str) -> None:
        """Make the rows and compare what comes back, once a process."""
        self.kernel = kernels.kernel(self.kernel_type, format_)

    def time_rows(self, _format: str) -> None:
        """All chunks once."""
        self.kernel.run()


class RowsIn(RowsOut):
    """Rows to columns: 16 chunks of 4096 rows and 16 columns."""

    kernel_type = staticmethod(row_kernels.RowsIn)
