"""Rows of Spark and Velox."""

from __future__ import annotations

from . import kernels, row_kernels

_FORMATS = ["unsaferow", "compactrow"]

RowsOut = kernels.timed(row_kernels.RowsOut, "time_rows", format=_FORMATS)
RowsIn = kernels.timed(row_kernels.RowsIn, "time_rows", format=_FORMATS)
