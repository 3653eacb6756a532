"""The scanners that the package brings, one per path, as the registry names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from seambase.description import TableDescription
from seambase.errors import InputError, RefusedError, UsageError
from seambench import __version__
from seambench.contracts.common import Kind
from seambench.contracts.scan import Scan, ScanRequest
from seambench_impl.scan_formats import (
    DELTA,
    HIVE,
    HUDI,
    ICEBERG,
    PAIMON,
    ReaderFormat,
    is_name,
    named_table,
    open_request,
    request_of_named,
)
from seamkit.connector.change_rows import reader_of
from seamkit.scan.unit_scan import UnitScan
from seamkit.tables.opening import recognised_format

#: All formats, in the plainest way.
_FORMATS: Sequence[ReaderFormat] = (HUDI, DELTA, ICEBERG, PAIMON, HIVE)

#: Hudi's slices all by the merge, also those without logs.
_MERGED = replace(HUDI, scan={"path": "merge"})

#: Unions of bitmaps and sketches are a library's, so there is no second reading of them.
_PAIMON = replace(PAIMON, capabilities=[w for w in PAIMON.capabilities if w != "paimon.sets"])

_OF_MERGING = (
    "query.snapshot",
    "query.incremental",
    "query.cdc",
    "delete-marker",
    "several-orderings",
    "partial-updates",
)


def _stated(formats: Sequence[ReaderFormat], *more: str) -> Mapping[str, bool]:
    words = [w for one in formats for w in (f"formats.{one.name}", *one.capabilities)]
    return dict.fromkeys((*words, *more), True)


class _Reader:
    """What the readers share: they differ in the formats that they read, and by which path."""

    name: str
    version = __version__
    kind: Kind = "native"
    capabilities: Mapping[str, bool]
    formats: ClassVar[Sequence[ReaderFormat]]

    def open(self, request: ScanRequest) -> Scan:
        """Plan a read; see `seambench.contracts.scan.Scanner.open`."""
        if request.where is not None:
            raise UsageError("this scanner takes filters over its dataset, not as text")
        if not is_name(request.table):
            return self._format(request).open(request)
        table = named_table(request)
        if table.format not in [one.name for one in self.formats]:
            raise RefusedError(f"{request.table}: {self.name} reads no tables of {table.format}")
        return _among(self.formats, table.format).open(request_of_named(request, table))

    def describe(self, request: ScanRequest) -> TableDescription:
        """What a table is; see `seambench.contracts.scan.Describing`."""
        if is_name(request.table):
            return named_table(request).describe()
        found = self._format(request)
        try:
            opened = open_request(request, format=found.name)
            return opened.describe()
        except InputError as error:
            return TableDescription(request.table, found.name, "", "", (), (), broken=str(error))

    def _format(self, request: ScanRequest) -> ReaderFormat:
        names = [one.name for one in self.formats]
        own = recognised_format(request.table, request.storage_options, readable=names)
        if own.name not in names:
            raise RefusedError(f"{request.table}: {self.name} does not read {own.title} tables")
        return _among(self.formats, own.name)


def _among(formats: Sequence[ReaderFormat], name: str) -> ReaderFormat:
    return next(one for one in formats if one.name == name)


class AutoReader(_Reader):
    """Per slice: native where no log applies, merge otherwise."""

    name = "auto"
    formats = _FORMATS
    capabilities = _stated(formats, "path-per-slice")


class MetadataReader(_Reader):
    """As `auto`, but the files are those that the table's metadata table lists."""

    name = "metadata"
    kind: Kind = "variant"
    formats = (replace(HUDI, table={"listing": "metadata"}),)
    capabilities = _stated(formats, "path-per-slice")


class MergeReader(_Reader):
    """Vectorised merge-on-read for every slice."""

    name = "merge"
    formats = (_MERGED,)
    capabilities = _stated(formats)


class PositionsReader(_Reader):
    """As `merge`, but records are matched by position where all logs of a slice tell theirs."""

    name = "positions"
    kind: Kind = "variant"
    formats = (replace(HUDI, scan={"path": "merge", "positions": True}),)
    capabilities = _stated(formats)


class ConnectorReader(_Reader):
    """One row at a time through off-heap tables: the seam's executable description."""

    name = "connector"
    kind: Kind = "reference"
    formats = (_MERGED, _PAIMON, ICEBERG, DELTA)
    capabilities = _stated(formats)
    _only_merged: ClassVar = False

    def open(self, request: ScanRequest) -> Scan:
        """Plan a read; see `seambench.contracts.scan.Scanner.open`."""
        scan = super().open(request)
        assert isinstance(scan, UnitScan)
        merged = self._only_merged and scan.other_path is None
        return scan.read_by("connector", reader_of(scan), only_merged=merged)


class NativeConnectorReader(ConnectorReader):
    """What needs no merge natively, the rest as `connector`."""

    name = "native+connector"
    kind: Kind = "variant"
    formats = (HUDI, _PAIMON, ICEBERG, DELTA)
    capabilities = _stated(formats)
    _only_merged: ClassVar = True


class NativeReader(_Reader):
    """Base files alone: the read-optimised view."""

    name = "native"
    formats = (replace(HUDI, scan={"path": "native"}), DELTA, ICEBERG)
    capabilities: Mapping[str, bool] = {
        word: True
        for word in _stated(formats)
        if not word.startswith(("merge.", "blocks.")) and word not in _OF_MERGING
    }
