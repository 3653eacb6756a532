"""Spark with Hudi's bundle: the reader that Hudi's own project ships."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seambench.contracts.common import Kind
from seambench.contracts.peers.catalogue import stated, within
from seambench.contracts.peers.environments import version_inside
from seambench.contracts.scan import ScanRequest
from seambench.formats.hudi import bundle
from seambench_impl.peers import XFAILS
from seambench_impl.peers.peer_scan import check_hudi_request, installed_version
from seambench_impl.peers.spark.frames import SparkScan, open_frame

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
        stated_words = stated("scan", self.name, self.version)
        # Only in this process: rows of other versions are handed over by a process of their own.
        self.capabilities: Mapping[str, bool] = {**stated_words, "sql": True}

    def open(self, request: ScanRequest) -> SparkScan:
        """Start Spark if need be, and let Hudi plan the read."""
        check_hudi_request(self, request)

        def load(session: Any) -> Any:
            kind = request.query.replace("-", "_")
            reader = session.read.format("hudi").option("hoodie.datasource.query.type", kind)
            return reader.options(**hudi_options(request, self.version)).load(request.table)

        return open_frame(self, request, bundle(self.version), load)


def hudi_options(request: ScanRequest, version: str) -> dict[str, str]:
    """Hudi's options for what a request sees of a table, in the words of a release of Hudi."""
    begin = request.begin
    if request.query == "incremental" and begin is None:
        # Hudi's word for the table's beginning.
        begin = "000"
    elif begin is not None and within(version, "1.0.0", "1.0.99") and _has_completions(request):
        # 1.0 reads what completed at the bound, too, as its option's text says.
        begin = _next_millisecond(begin)
    histories = (Path(request.table) / ".hoodie" / ".schema").glob("*.schemacommit")
    options = {
        "as.of.instant": request.as_of,
        "hoodie.datasource.read.begin.instanttime": begin,
        "hoodie.datasource.read.end.instanttime": request.end,
        # As Hudi's documents have one read a table that keeps a history of its schemas.
        "hoodie.schema.on.read.enable": "true" if any(histories) else None,
    }
    return {option: value for option, value in options.items() if value is not None}


def _has_completions(request: ScanRequest) -> bool:
    """Whether bounds are times of completion: from table version 8 on."""
    properties = Path(request.table) / ".hoodie" / "hoodie.properties"
    text = properties.read_text(encoding="utf-8") if properties.is_file() else ""
    stated = re.search(r"^hoodie\.table\.version=(\d+)$", text, re.MULTILINE)
    return stated is not None and int(stated[1]) >= 8


def _next_millisecond(instant: str) -> str:
    """The instant after one of the form yyyyMMddHHmmssSSS; other texts as they are."""
    if not re.fullmatch(r"\d{17}", instant):
        return instant
    after = dt.datetime.strptime(instant, "%Y%m%d%H%M%S%f") + dt.timedelta(milliseconds=1)
    return f"{after:%Y%m%d%H%M%S}{after.microsecond // 1000:03}"
