"""Off-heap columns."""

from __future__ import annotations

from typing import Any

from . import column_kernels, kernels


class OffHeapFill:
    """100,000 rows of 6 columns, 5 times: append, chain, fill into engine columns."""

    version = "1"
    number = 1

    def setup(self) -> None:
        """Make the rows and compare a filled batch, once a process."""
        self.kernel = kernels.kernel(kernels.OffHeapFill)

    def time_fill(self) -> None:
        """Append and fill 5 times."""
        self.kernel.run()


class AppendColumns:
    """Arrow to off-heap tables, by whole columns: 50 chunks of 4096 rows."""

    version = "1"
    number = 1
    param_names = ("columns",)
    params = ("all", "fixed")
    kernel_type: Any = staticmethod(column_kernels.AppendColumns)

    def setup(self, columns: str) -> None:
        """Make the chunks and compare what comes out, once a process."""
        self.kernel = kernels.kernel(self.kernel_type, columns)
        self.plain = self.kernel.copy()
        self.kernel.prepare()

    def time_stage(self, _columns: str) -> None:
        """The stage, for each chunk."""
        self.kernel.run()

    def time_memcpy(self, _columns: str) -> None:
        """As many bytes, copied."""
        self.plain.run()


class AppendRows(AppendColumns):
    """Python values to an off-heap table of 4096 rows, one at a time."""

    kernel_type = staticmethod(column_kernels.AppendRows)


class EngineFill(AppendColumns):
    """Meta chain to engine columns: 50 chunks of 4096 rows."""

    kernel_type = staticmethod(column_kernels.EngineFill)


class ArrowOut(AppendColumns):
    """Engine columns to Arrow: 2 chunks of 4096 rows."""

    kernel_type = staticmethod(column_kernels.ArrowOut)
