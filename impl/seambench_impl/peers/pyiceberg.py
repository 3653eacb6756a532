"""pyiceberg, by which polars and daft read Iceberg's metadata, too.

A folder without a catalog is opened as pyiceberg's users open it, by `StaticTable.from_metadata`.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from seambench.contracts.scan import ScanRequest
from seambench_impl.peers.peer_scan import Opened, SnapshotReader, import_peer, opened


def static_table(reader: SnapshotReader, request: ScanRequest) -> Any:
    """The table of a folder, by its version hint, or of a metadata file."""
    tables = import_peer("pyiceberg.table", reader.name, "iceberg")
    return tables.StaticTable.from_metadata(request.table, dict(request.storage_options))


class PyicebergReader(SnapshotReader):
    """pyiceberg: `table.scan(...).to_arrow()`."""

    name = "pyiceberg"
    package = "pyiceberg"
    extra = "peers"

    def _table(self, module: Any, request: ScanRequest, snapshot: int | None) -> Opened:
        del module  # imported before its parts
        table = static_table(self, request)

        def read(names: list[str]) -> pa.Table:
            return table.scan(snapshot_id=snapshot, selected_fields=tuple(names)).to_arrow()

        columns = table.scan(snapshot_id=snapshot).projection().as_arrow()
        return opened(columns, read)
