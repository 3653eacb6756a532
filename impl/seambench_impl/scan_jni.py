"""Readers that have units read in a JVM, as engines with a JNI connector do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar

from seambase.errors import RefusedError
from seambench.contracts.common import Kind
from seambench.contracts.scan import Scan, ScanRequest
from seambench_impl.jni.hive import HiveFiles
from seambench_impl.jni.hudi import java_loader, read_slice, read_unit_in_java
from seambench_impl.jni.paimon import VERSIONS, PaimonSplits, paimon_loader
from seambench_impl.scan import AutoReader
from seambench_impl.scan_formats import HIVE, HUDI, PAIMON, ReaderFormat
from seamkit.offheap.jni.scanner import connector_classes
from seamkit.scan.unit_scan import UnitScan
from seamkit.scan.unit_tasks import ReadRows
from seamkit.tables.paimon.table import PaimonTable

_OF_HUDI = (
    "as-of",
    "blocks.avro",
    "blocks.delete",
    "blocks.parquet",
    "delete-marker",
    "merge.commit-time",
    "merge.event-time",
    "merge.payloads",
    "partitioned",
    "pushdown",
    "query.snapshot",
    "replace-commit",
    "schema-evolution",
    "table-version.6",
    "table-version.8",
    "table-version.9",
)
_XFAILS = Path(__file__).with_name("xfails")
#: A serde of JSON is not among pyspark's jars; what Hudi's own reader skips it tells nobody.
_NOT_OFFERED = (
    *("query.read-optimized", "query.incremental", "query.cdc"),
    *("hive.json", "strict", "warnings"),
)


def _formats(way: ReaderFormat) -> Sequence[ReaderFormat]:
    """Hudi, planned in one way, Paimon and Hive; of all three snapshots alone."""
    of_paimon = tuple(word for word in PAIMON.capabilities if word not in _NOT_OFFERED)
    of_hive = tuple(word for word in HIVE.capabilities if word not in _NOT_OFFERED)
    return (
        replace(way, capabilities=_OF_HUDI),
        replace(PAIMON, capabilities=of_paimon),
        replace(HIVE, capabilities=of_hive),
    )


class JniReader(AutoReader):
    """Units by the formats' own Java behind JNI: Hudi 1.2.0, Paimon's core 1.4.2, Hive 2.3.

    Planning is our own; what Java appends is filled into columns in C. The jars of a table's format
    are fetched when the first is opened.
    """

    name = "jni"
    xfails: Path | None = _XFAILS / "jni.toml"
    kind: Kind = "variant"
    formats = _formats(replace(HUDI, scan={"path": "merge"}))
    capabilities = dict.fromkeys(
        (word for one in formats for word in (f"formats.{one.name}", *one.capabilities)), True
    )
    _only_merged: ClassVar = False
    _paimon: ClassVar = VERSIONS[0]
    _more: ClassVar[Mapping[str, str]] = {}

    def __init__(self) -> None:
        connector_classes()

    def open(self, request: ScanRequest) -> Scan:
        """Plan a read; see `seambench.contracts.scan.Scanner.open`."""
        if request.query != "snapshot":
            raise RefusedError(f"{self.name} reads snapshots, no query {request.query!r}")
        scan = super().open(request)
        assert isinstance(scan, UnitScan)  # a snapshot
        read = self._reads(self._format(request).name, request)
        return scan.read_by("jni", read, only_merged=self._only_merged)

    def _reads(self, format_: str, request: ScanRequest) -> ReadRows:
        """What reads a table's units. What cannot be had raises here, not in the stream."""
        if format_ == "hive":
            return HiveFiles(local_folder(request), more=self._more).read
        if format_ == "paimon":
            paimon_loader(self._paimon)
            return _paimon_splits(request, self._paimon, self._more)
        java_loader()
        return partial(read_slice, self._more) if self._more else read_unit_in_java


def local_folder(request: ScanRequest) -> str:
    """The folder of a table on this machine, which is all that readers in Java are given."""
    if "://" in request.table or request.storage_options:
        raise RefusedError(f"{request.table}: readers in Java are given local folders here")
    return request.table


def _paimon_splits(request: ScanRequest, version: str, more: Mapping[str, str]) -> ReadRows:
    table = PaimonTable(local_folder(request))
    as_of = request.as_of
    point = ("scan.snapshot-id", str(table.snapshot_number(as_of)))
    if isinstance(as_of, str) and as_of in table.tags:
        point = ("scan.tag-name", as_of)  # its snapshot may have expired
    branch = "" if table.branch == "main" else table.branch
    travels = as_of is not None
    splits = PaimonSplits(table.folder, branch, point, travels=travels, version=version, more=more)
    return splits.read


class TextJniReader(JniReader):
    """As `jni`, with dates, datetimes and decimals as formatted texts across the border.

    StarRocks' connector had them so before 2024: what that costs is told beside `jni`.
    """

    name = "jni-text"
    xfails = _XFAILS / "jni-text.toml"
    _more: ClassVar[Mapping[str, str]] = {"value_form": "text"}


class NativeJniReader(JniReader):
    """What needs no merge natively, the rest as `jni`: what engines do with a JNI connector."""

    name = "native+jni"
    xfails = _XFAILS / "native+jni.toml"
    formats = _formats(HUDI)
    _only_merged: ClassVar = True


class Paimon09JniReader(JniReader):
    """As `jni`, by Paimon's core 0.9.0; a reader by its module and class."""

    name = "jni-paimon-0.9"
    xfails = None
    _paimon: ClassVar = "0.9.0"
