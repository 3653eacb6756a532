"""Scans of a small Hudi table."""

from __future__ import annotations

from . import kernels


class HudiScan:
    """40,000 rows in 2 slices with logs, all columns, 5 scans."""

    version = "1"
    param_names = ("path",)
    params = (["native", "merge"],)
    number = 1

    def setup(self, path: str) -> None:
        """Unpack, open and compare one scan, once a process."""
        self.kernel = kernels.kernel(kernels.HudiScan, path)

    def time_scan(self, _path: str) -> None:
        """Drain 5 scans."""
        self.kernel.run()
