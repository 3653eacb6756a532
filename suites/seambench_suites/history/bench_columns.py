"""Off-heap columns."""

from __future__ import annotations

from typing import Any

from . import column_kernels, kernels

OffHeapFill = kernels.timed(kernels.OffHeapFill, "time_fill")


class AppendColumns(kernels.Timed):
    """Arrow to off-heap tables, by whole columns: 50 chunks of 4096 rows."""

    param_names = ("columns",)
    params = (["all", "fixed"],)
    kernel_type: Any = column_kernels.AppendColumns
    time_stage = kernels.Timed.run

    def setup(self, *arguments: str) -> None:
        """The stage, and as many bytes to copy."""
        super().setup(*arguments)
        self.plain = self.kernel.copy()

    def time_memcpy(self, _columns: str) -> None:
        """As many bytes, copied."""
        self.plain.run()


class AppendRows(AppendColumns):
    """Python values to an off-heap table of 4096 rows, one at a time."""

    kernel_type = column_kernels.AppendRows


class EngineFill(AppendColumns):
    """Meta chain to engine columns: 50 chunks of 4096 rows."""

    kernel_type = column_kernels.EngineFill


class ArrowOut(AppendColumns):
    """Engine columns to Arrow: 2 chunks of 4096 rows."""

    kernel_type = column_kernels.ArrowOut
