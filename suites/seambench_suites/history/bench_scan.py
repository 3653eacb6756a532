"""Scans of small tables."""

from __future__ import annotations

from . import kernels, scan_kernels

HudiScan = kernels.timed(scan_kernels.HudiScan, "time_scan", version="2", path=["native", "merge"])
RatioScan = kernels.timed(scan_kernels.RatioScan, "time_scan", ratio=["5", "20", "50"])
ConnectorScan = kernels.timed(scan_kernels.ConnectorScan, "time_scan")
FormRead = kernels.timed(
    scan_kernels.FormRead,
    "time_read",
    form=["conditions", "decimals", "pages"],
    used=["with", "without"],
)
