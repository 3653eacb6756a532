"""Rows of Spark and Velox."""

from __future__ import annotations

from typing import Any

from . import kernels, row_kernels


class RowsOut(kernels.Timed):
    """Columns to rows: 16 chunks of 4096 rows and 16 columns."""

    param_names = ("format",)
    params = (["unsaferow", "compactrow"],)
    kernel_type: Any = row_kernels.RowsOut
    time_rows = kernels.Timed.run


class RowsIn(RowsOut):
    """Rows to columns: 16 chunks of 4096 rows and 16 columns."""

    kernel_type = row_kernels.RowsIn
