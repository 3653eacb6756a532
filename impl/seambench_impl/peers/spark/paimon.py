"""Spark with Paimon's connector, as Paimon's documents read a table by its path."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seambase.errors import InputError
from seambench.contracts.common import Kind
from seambench.contracts.scan import ScanRequest
from seambench.formats.paimon import bundle
from seambench_impl.peers import XFAILS
from seambench_impl.peers.paimon_java import check_paimon_request, paimon_options
from seambench_impl.peers.peer_scan import installed_version
from seambench_impl.peers.spark.frames import SparkScan, open_frame

_PAIMON_VERSION = "0.9.0"
_WORDS = (
    *("formats.paimon", "query.snapshot", "query.incremental", "as-of", "partitioned"),
    *("merge.aggregation", "merge.deduplicate", "merge.first-row", "merge.partial-update"),
    *("paimon.avro", "paimon.evolution", "paimon.manifests-orc", "paimon.orc", "paimon.tags"),
    *("paimon.vectors", "sql"),
)


class SparkPaimonReader:
    """Spark 3.5 with Paimon's connector on `local[*]`; its version is the connector's."""

    name = "spark-paimon"
    kind: Kind = "peer"
    capabilities: Mapping[str, bool] = dict.fromkeys(_WORDS, True)
    #: What conformance is known to find in it.
    xfails = XFAILS / "spark-paimon.toml"

    def __init__(self) -> None:
        installed_version("pyspark", self.name, "spark")
        self.version = _PAIMON_VERSION

    def open(self, request: ScanRequest) -> SparkScan:
        """Start Spark if need be, and let Paimon plan the read."""
        check_paimon_request(self, request)
        options = paimon_options(request)
        if not (Path(request.table) / "schema").is_dir():
            raise InputError(f"{request.table} is no Paimon table: it has no folder schema")

        def load(session: Any) -> Any:
            return session.read.format("paimon").options(**options).load(request.table)

        return open_frame(self, request, bundle(self.version), load)
