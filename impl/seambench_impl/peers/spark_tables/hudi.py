"""Spark with Hudi's bundle: the reader that Hudi's own project ships."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seambench.contracts.common import Kind
from seambench.contracts.peers.catalogue import stated
from seambench.contracts.peers.environments import version_inside
from seambench.contracts.scan import ScanRequest
from seambench.formats.hudi import bundle
from seambench_impl.peers.peer_scan import check_hudi_request, installed_version
from seambench_impl.peers.snapshot_reader import XFAILS
from seambench_impl.peers.spark_tables.frames import SparkScan, open_frame

__all__ = ["SparkHudiReader"]

#: Of Hudi, unless a version is named.
_HUDI_VERSION = "1.2.0"


class SparkHudiReader:
    """Spark 3.5 with Hudi's bundle on `local[*]`; its version is the bundle's."""

    name = "spark-hudi"
    kind: Kind = "peer"
    #: What conformance is known to find in it.
    xfails = XFAILS / "spark-hudi.toml"

    def __init__(self) -> None:
        installed_version("pyspark", self.name, "spark")
        self.version = version_inside(self.name) or _HUDI_VERSION
        self.capabilities: Mapping[str, bool] = stated("scan", self.name, self.version)

    def open(self, request: ScanRequest) -> SparkScan:
        """Start Spark if need be, and let Hudi plan the read.

        Raises:
            UnavailableError: no pyspark, no Java, no jars.
            RefusedError: something this adapter has no word for.
            InputError: the folder is no table, or Hudi cannot read it.
            UsageError: an unknown column.
        """
        check_hudi_request(self, request)

        def load(session: Any) -> Any:
            kind = request.query.replace("-", "_")
            reader = session.read.format("hudi").option("hoodie.datasource.query.type", kind)
            return reader.options(**_window(request)).load(request.table)

        return open_frame(self, request, bundle(self.version), load)


def _window(request: ScanRequest) -> dict[str, str]:
    """Hudi's options for what a request sees of the timeline."""
    options = {
        "as.of.instant": request.as_of,
        "hoodie.datasource.read.begin.instanttime": request.begin,
        "hoodie.datasource.read.end.instanttime": request.end,
    }
    if request.query == "incremental" and request.begin is None:
        # Hudi's word for the table's beginning.
        options["hoodie.datasource.read.begin.instanttime"] = "000"
    return {option: value for option, value in options.items() if value is not None}
