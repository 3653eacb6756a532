"""Tables as Spark reads them through us, by `seamkit.Scan.spark_frame`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from seambench.contracts.common import Kind
from seambench.contracts.scan import ScanRequest
from seambench.formats.hudi import bundle
from seambench_impl.peers.peer_scan import installed_version
from seambench_impl.peers.spark.frames import SparkScan, open_frame
from seambench_impl.scan import AutoReader
from seamkit.scan.scan import Scan


class SparkFrameReader(AutoReader):
    """As `auto`, but rows are those of a DataFrame, in the types that Spark has."""

    name = "spark-frame"
    kind: Kind = "variant"
    capabilities: Mapping[str, bool] = {
        **AutoReader.capabilities,
        "path-per-slice": False,
        "pushdown": False,
        "sql": True,
    }

    def __init__(self) -> None:
        super().__init__()
        installed_version("pyspark", self.name, "spark")

    def open(self, request: ScanRequest) -> SparkScan:
        """Start Spark if need be, and plan the read here."""
        # A frame without columns has no rows that Spark could write.
        scan = super().open(replace(request, columns=request.columns or None))
        assert isinstance(scan, Scan)

        def load(session: Any) -> Any:
            return scan.spark_frame(session)

        # One session serves this reader and Spark + Hudi: a process has one.
        return open_frame(self, request, bundle(), load, lambda: scan.report().warnings)
