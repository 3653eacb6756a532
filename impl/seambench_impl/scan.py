"""The scanners that the package brings, one per path, as the registry names them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path as FilePath
from typing import ClassVar

from seambase.errors import RefusedError, UsageError
from seambase.walk import Met
from seambench import __version__
from seambench.contracts.common import Kind
from seambench.contracts.scan import Scan, ScanRequest
from seambench_impl.connector.slice_rows import read_unit
from seambench_impl.scan_delta import DELTA_CAPABILITIES, explain_delta, is_delta, open_delta
from seambench_impl.scan_iceberg import (
    ICEBERG_CAPABILITIES,
    explain_iceberg,
    is_iceberg,
    open_iceberg,
)
from seambench_impl.scan_paimon import (
    PAIMON_CAPABILITIES,
    explain_paimon,
    is_paimon,
    open_paimon,
)
from seambench_impl.scan_requests import scan_arguments
from seamkit.scan.unit_scan import UnitScan
from seamkit.tables.delta.table import DeltaTable
from seamkit.tables.hudi.change_scan import ChangeScan
from seamkit.tables.hudi.explain import explain_log, explain_table
from seamkit.tables.hudi.listing.planning import ListingSource
from seamkit.tables.hudi.table import HudiTable
from seamkit.tables.hudi.units import Path
from seamkit.tables.iceberg.table import IcebergTable
from seamkit.tables.paimon.table import PaimonTable

__all__ = [
    "AutoReader",
    "ConnectorReader",
    "MergeReader",
    "MetadataReader",
    "NativeReader",
    "PositionsReader",
]

_CAPABILITIES = (
    "formats.hudi",
    "query.snapshot",
    "query.read-optimized",
    "query.incremental",
    "query.cdc",
    "as-of",
    "merge.commit-time",
    "merge.event-time",
    "blocks.avro",
    "blocks.parquet",
    "blocks.delete",
    "merge.payloads",
    "delete-marker",
    "several-orderings",
    "partial-updates",
    "virtual-keys",
    "base-files.orc",
    "partitions.dropped",
    "table-version.5",
    "table-version.6",
    "table-version.8",
    "table-version.9",
    "partitioned",
    "pushdown",
    "replace-commit",
    "schema-evolution",
    "schema-on-read",
    "strict",
    "warnings",
)

_OF_MERGING = (
    "query.snapshot",
    "query.incremental",
    "query.cdc",
    "delete-marker",
    "several-orderings",
    "partial-updates",
)


class _HudiReader:
    """What the readers share: they differ in the path, or in where names and matches come from."""

    name: str
    version = __version__
    kind: Kind = "native"
    capabilities: Mapping[str, bool] = dict.fromkeys(_CAPABILITIES, True)
    path: ClassVar[Path]
    listing: ClassVar[ListingSource] = "auto"
    positions: ClassVar[bool] = False

    def open(self, request: ScanRequest) -> Scan:
        """Plan a read; see `seambench.contracts.scan.Scanner.open`."""
        if request.where is not None:
            raise UsageError("this scanner takes filters over its dataset, not as text")
        if "formats.iceberg" in self.capabilities and is_iceberg(request):
            return open_iceberg(request)
        if is_delta(request):
            if not self.capabilities.get("formats.delta"):
                raise RefusedError(f"{request.table}: {self.name} does not read Delta tables")
            return open_delta(request)
        if is_paimon(request):
            if not self.capabilities.get("formats.paimon"):
                raise RefusedError(f"{request.table}: {self.name} does not read Paimon tables")
            return open_paimon(request)
        table = HudiTable(request.table, request.storage_options, listing=self.listing)
        return table.scan(
            begin=request.begin,
            end=request.end,
            changes_alone=request.changes_alone,
            path=self.path,
            positions=self.positions,
            **scan_arguments(request),
        )

    def explain(self, path: FilePath) -> Iterator[Met]:
        """What a table's folder or a log file says; see `seambench.contracts.scan.Scanner`."""
        if path.is_dir() and is_delta(ScanRequest(str(path))):
            return explain_delta(DeltaTable(str(path)))
        if path.is_dir() and is_iceberg(ScanRequest(str(path))):
            return explain_iceberg(IcebergTable(str(path)))
        if path.is_dir() and is_paimon(ScanRequest(str(path))):
            return explain_paimon(PaimonTable(str(path)))
        return explain_table(HudiTable(str(path))) if path.is_dir() else explain_log(path)


class AutoReader(_HudiReader):
    """Per slice: native where no log applies, merge otherwise."""

    name = "auto"
    path = "auto"
    capabilities: Mapping[str, bool] = dict.fromkeys(
        (
            *_CAPABILITIES,
            *DELTA_CAPABILITIES,
            *ICEBERG_CAPABILITIES,
            *PAIMON_CAPABILITIES,
            "path-per-slice",
        ),
        True,
    )


class MetadataReader(AutoReader):
    """As `auto`, but the files are those that the table's metadata table lists."""

    name = "metadata"
    capabilities: Mapping[str, bool] = dict.fromkeys((*_CAPABILITIES, "path-per-slice"), True)
    kind: Kind = "variant"
    listing = "metadata"


class MergeReader(_HudiReader):
    """Vectorised merge-on-read for every slice."""

    name = "merge"
    path = "merge"


class PositionsReader(MergeReader):
    """As `merge`, but records are matched by position where all logs of a slice tell theirs."""

    name = "positions"
    kind: Kind = "variant"
    positions = True


class ConnectorReader(_HudiReader):
    """One row at a time through off-heap tables: the seam's executable description."""

    name = "connector"
    kind: Kind = "reference"
    path = "merge"

    def open(self, request: ScanRequest) -> Scan:
        """As planned for the merge path; rows come one at a time."""
        scan = super().open(request)
        assert isinstance(scan, UnitScan | ChangeScan)
        return scan.read_by(self.name, read_unit)


class NativeReader(_HudiReader):
    """Base files alone: the read-optimised view."""

    name = "native"
    path = "native"
    capabilities: Mapping[str, bool] = {
        word: True
        for word in (*_CAPABILITIES, *DELTA_CAPABILITIES, *ICEBERG_CAPABILITIES)
        if not word.startswith(("merge.", "blocks.")) and word not in _OF_MERGING
    }
