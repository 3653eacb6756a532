"""Spark with Paimon's connector, as Paimon's documents read a table by its path."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seambase.errors import InputError
from seambench.contracts.common import Kind
from seambench.contracts.peers.catalogue import known_peer, stated
from seambench.contracts.peers.environments import version_inside
from seambench.contracts.scan import ScanRequest
from seambench.formats.paimon import bundle
from seambench_impl.peers import XFAILS
from seambench_impl.peers.paimon_java import check_paimon_request, paimon_options
from seambench_impl.peers.peer_scan import installed_version
from seambench_impl.peers.spark.frames import SparkScan, open_frame


class SparkPaimonReader:
    """Spark 3.5 with Paimon's connector on `local[*]`; its version is the connector's."""

    name = "spark-paimon"
    kind: Kind = "peer"
    #: What conformance is known to find in it.
    xfails = XFAILS / "spark-paimon.toml"

    def __init__(self) -> None:
        installed_version("pyspark", self.name, "spark")
        self.version = version_inside(self.name) or known_peer("scan", self.name).versions[-1]
        # Only in this process: rows of other versions are handed over by a process of their own.
        self.capabilities: Mapping[str, bool] = {
            **stated("scan", self.name, self.version),
            "sql": True,
        }

    def open(self, request: ScanRequest) -> SparkScan:
        """Start Spark if need be, and let Paimon plan the read."""
        check_paimon_request(self, request)
        options = paimon_options(request)
        if not (Path(request.table) / "schema").is_dir():
            raise InputError(f"{request.table} is no Paimon table: it has no folder schema")

        def load(session: Any) -> Any:
            return session.read.format("paimon").options(**options).load(request.table)

        return open_frame(self, request, bundle(self.version), load)
