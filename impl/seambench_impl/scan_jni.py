"""Readers that have slices read in a JVM, as engines with a JNI connector do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from seambench import __version__
from seambench.contracts.common import Kind
from seambench.contracts.scan import Scan, ScanRequest
from seambench_impl.connector.hudi_java import java_loader, read_unit_in_java
from seambench_impl.scan_hudi import hudi
from seambench_impl.scan_plans import WritesPlans
from seamkit.scan.unit_scan import UnitScan

__all__ = ["JniReader", "NativeJniReader"]

_CAPABILITIES = (
    "as-of",
    "blocks.avro",
    "blocks.delete",
    "blocks.parquet",
    "delete-marker",
    "formats.hudi",
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


class JniReader(WritesPlans):
    """Every slice by Hudi's own reader (1.2.0), behind a JNI connector.

    Planning is that of the merge path; what Java appends is filled into columns in C.

    Raises:
        UnavailableError: no JVM, or no jars of Hudi.
    """

    name = "jni"
    version = __version__
    kind: Kind = "variant"
    capabilities: Mapping[str, bool] = dict.fromkeys(_CAPABILITIES, True)
    _format: ClassVar = hudi("merge")
    _only_merged: ClassVar = False

    def __init__(self) -> None:
        java_loader()

    def open(self, request: ScanRequest) -> Scan:
        """Plan a read; see `seambench.contracts.scan.Scanner.open`."""
        scan = self._format.open(request)
        assert isinstance(scan, UnitScan)  # a snapshot
        return scan.read_by("jni", read_unit_in_java, only_merged=self._only_merged)


class NativeJniReader(JniReader):
    """Slices without logs natively, the others as `jni`: what engines do with a JNI connector."""

    name = "native+jni"
    _format: ClassVar = hudi("auto")
    _only_merged: ClassVar = True
