"""Rows to the parts of an exchange."""

from __future__ import annotations

from . import exchange_kernels, kernels


class Deal:
    """65,536 rows of 16 columns to 8 or 64 parts."""

    version = "1"
    number = 1
    param_names = ("parts",)
    params = (["8", "64"],)

    def setup(self, parts: str) -> None:
        """Make the rows and compare what is dealt, once a process."""
        self.kernel = kernels.kernel(exchange_kernels.Deal, parts)

    def time_deal(self, _parts: str) -> None:
        """Deal all rows, flush every part."""
        self.kernel.run()
