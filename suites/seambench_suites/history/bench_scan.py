"""Scans of small Hudi tables."""

from __future__ import annotations

from . import kernels, scan_kernels


class HudiScan:
    """40,000 rows in 2 slices with logs, all columns, 5 scans by one thread."""

    version = "2"
    param_names = ("path",)
    params = (["native", "merge"],)
    number = 1

    def setup(self, path: str) -> None:
        """Unpack, open and compare one scan, once a process."""
        self.kernel = kernels.kernel(scan_kernels.HudiScan, path)

    def time_scan(self, _path: str) -> None:
        """Drain 5 scans."""
        self.kernel.run()


class RatioScan:
    """20,000 rows in 2 slices of which 5, 20 or 50 % are updated in logs, 2 scans by one thread."""

    version = "1"
    param_names = ("ratio",)
    params = (["5", "20", "50"],)
    number = 1

    def setup(self, ratio: str) -> None:
        """Unpack, open and compare one scan, once a process."""
        self.kernel = kernels.kernel(scan_kernels.RatioScan, ratio)

    def time_scan(self, _ratio: str) -> None:
        """Drain 2 scans."""
        self.kernel.run()


class ConnectorScan:
    """Two columns of 20,000 rows in 2 slices with logs, one row at a time."""

    version = "1"
    number = 1

    def setup(self) -> None:
        """Unpack, open and compare one scan, once a process."""
        self.kernel = kernels.kernel(scan_kernels.ConnectorScan)

    def time_scan(self) -> None:
        """Drain a scan."""
        self.kernel.run()


class FormRead:
    """The same read with a way by an undocumented form of Arrow and without it, 5 times."""

    version = "1"
    param_names = ("form", "used")
    params = (["conditions", "decimals", "pages"], ["with", "without"])
    number = 1

    def setup(self, form: str, used: str) -> None:
        """Write the file or unpack the table, and read it once."""
        self.kernel = kernels.kernel(scan_kernels.FormRead, form, used)
        self.kernel.prepare()

    def time_read(self, _form: str, _used: str) -> None:
        """Drain 5 scans."""
        self.kernel.run()
