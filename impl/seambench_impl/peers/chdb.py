"""ClickHouse in this process (PyPI `chdb`): its table functions for tables on local disk."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambench.contracts.scan import ScanRequest
from seambench_impl.peers.peer_scan import Opened, SnapshotReader


class ChdbDeltaReader(SnapshotReader):
    """`SELECT ... FROM deltaLakeLocal(path)`."""

    name = "chdb-delta"
    package = "chdb"
    extra = None
    #: The table function, and what a query says of a snapshot where it can.
    function = "deltaLakeLocal"
    snapshot_setting = ""

    def _table(self, module: Any, request: ScanRequest, snapshot: int | None) -> Opened:
        path = request.table.replace("\\", "\\\\").replace("'", "\\'")
        source = f"{self.function}('{path}')"
        settings = "" if snapshot is None else self.snapshot_setting.format(snapshot)

        def query(columns: str, rest: str = "") -> pa.Table:
            # Names and path are quoted.
            text = f"SELECT {columns} FROM {source}{rest}{settings}"  # noqa: S608
            # It reads files below the working folder alone, and has no setting for another.
            with contextlib.chdir(Path(request.table).parent):
                answer = module.query(text, "ArrowStream").bytes()
            return pa.ipc.open_stream(answer).read_all()

        def read(names: list[str]) -> pa.Table:
            return query(", ".join("`" + name.replace("`", "\\`") + "`" for name in names))

        return query("*", " LIMIT 0").schema, read


class ChdbIcebergReader(ChdbDeltaReader):
    """`SELECT ... FROM icebergLocal(path)`."""

    name = "chdb-iceberg"
    function = "icebergLocal"
    snapshot_setting = " SETTINGS iceberg_snapshot_id = {}"
