"""Scans of small Hudi tables."""

from __future__ import annotations

from . import kernels, scan_kernels


class HudiScan(kernels.Timed):
    """40,000 rows in 2 slices with logs, all columns, 5 scans by one thread."""

    version = "2"
    param_names = ("path",)
    params = (["native", "merge"],)
    kernel_type = scan_kernels.HudiScan
    time_scan = kernels.Timed.run


class RatioScan(kernels.Timed):
    """20,000 rows in 2 slices of which 5, 20 or 50 % are updated in logs, 2 scans by one thread."""

    param_names = ("ratio",)
    params = (["5", "20", "50"],)
    kernel_type = scan_kernels.RatioScan
    time_scan = kernels.Timed.run


class ConnectorScan(kernels.Timed):
    """Two columns of 20,000 rows in 2 slices with logs, one row at a time."""

    kernel_type = scan_kernels.ConnectorScan
    time_scan = kernels.Timed.run


class FormRead(kernels.Timed):
    """The same read with a way by an undocumented form of Arrow and without it, 5 times."""

    param_names = ("form", "used")
    params = (["conditions", "decimals", "pages"], ["with", "without"])
    kernel_type = scan_kernels.FormRead
    time_read = kernels.Timed.run
