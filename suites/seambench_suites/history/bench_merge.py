"""Base rows meet folded log events."""

from __future__ import annotations

from . import kernels


class Merge:
    """524,288 base rows of 6 columns, 105,000 events: key index, probe, assembly."""

    version = "1"
    number = 1

    def setup(self) -> None:
        """Base rows and events anew: assembly works in place."""
        self.kernel = kernels.kernel(kernels.Merge)
        self.kernel.prepare()

    def time_merge(self) -> None:
        """Merge everything."""
        self.kernel.run()
