"""Off-heap columns."""

from __future__ import annotations

from . import kernels


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
