"""Readers of Iceberg tables on PyPI whose metadata pyiceberg reads: itself, polars and daft.

A folder without a catalog is opened as pyiceberg's users open it, by `StaticTable.from_metadata`;
polars and daft take such a table.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from seambench.contracts.scan import ScanRequest
from seambench_impl.peers.peer_scan import import_peer
from seambench_impl.peers.snapshot_reader import XFAILS, SnapshotReader, plain_table

__all__ = ["DaftReader", "PolarsReader", "PyicebergReader"]

Read = Callable[[list[str]], pa.Table]


def _static_table(reader: SnapshotReader, request: ScanRequest) -> Any:
    """The table of a folder, by its version hint, or of a metadata file."""
    tables = import_peer("pyiceberg.table", reader.name, "iceberg")
    return tables.StaticTable.from_metadata(request.table, dict(request.storage_options))


class PyicebergReader(SnapshotReader):
    """pyiceberg: `table.scan(...).to_arrow()`."""

    name = "pyiceberg"
    package = "pyiceberg"
    extra = "peers"
    #: What conformance is known to find in it.
    xfails = XFAILS / "pyiceberg.toml"

    def _table(
        self, module: Any, request: ScanRequest, snapshot: int | None
    ) -> tuple[pa.Schema, Read]:
        del module  # imported before its parts
        table = _static_table(self, request)

        def read(names: list[str]) -> pa.Table:
            found = table.scan(snapshot_id=snapshot, selected_fields=tuple(names)).to_arrow()
            return plain_table(found)

        columns = table.scan(snapshot_id=snapshot).projection().as_arrow()
        return plain_table(pa.Table.from_batches([], columns)).schema, read


class PolarsReader(SnapshotReader):
    """polars: `scan_iceberg`, which reads files by itself where it can."""

    name = "polars-iceberg"
    package = "polars"
    extra = "peers"
    #: What conformance is known to find in it.
    xfails = XFAILS / "polars-iceberg.toml"

    def _table(
        self, module: Any, request: ScanRequest, snapshot: int | None
    ) -> tuple[pa.Schema, Read]:
        # Golden tables lie at one place in turns, damaged or whole: files must not be remembered.
        os.environ.setdefault("POLARS_ICEBERG_METADATA_FILE_CACHE_MB", "0")
        frame = module.scan_iceberg(_static_table(self, request), snapshot_id=snapshot)

        def read(names: list[str]) -> pa.Table:
            return plain_table(frame.select(names).collect().to_arrow())

        return plain_table(frame.head(0).collect().to_arrow()).schema, read


class DaftReader(SnapshotReader):
    """daft: `read_iceberg`, which reads files by itself."""

    name = "daft-iceberg"
    package = "daft"
    extra = None
    #: What conformance is known to find in it.
    xfails = XFAILS / "daft-iceberg.toml"

    def _table(
        self, module: Any, request: ScanRequest, snapshot: int | None
    ) -> tuple[pa.Schema, Read]:
        frame = module.read_iceberg(_static_table(self, request), snapshot_id=snapshot)

        def read(names: list[str]) -> pa.Table:
            return plain_table(frame.select(*names).to_arrow())

        return plain_table(frame.limit(0).to_arrow()).schema, read
