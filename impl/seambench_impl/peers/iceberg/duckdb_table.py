"""DuckDB's extension for Iceberg, as PyPI has it (`duckdb-extension-iceberg`).

The package has the extension for one version of DuckDB, which need not be the one that the harness
uses, so no extra brings it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from seambench.contracts.scan import ScanRequest
from seambench_impl.peers.peer_scan import import_peer
from seambench_impl.peers.snapshot_reader import XFAILS, SnapshotReader, plain_table


class DuckDBReader(SnapshotReader):
    """`SELECT ... FROM iceberg_scan(path)`."""

    name = "duckdb-iceberg"
    package = "duckdb_extension_iceberg"
    extra = None
    #: What conformance is known to find in it.
    xfails = XFAILS / "duckdb-iceberg.toml"

    def _table(
        self, module: Any, request: ScanRequest, snapshot: int | None
    ) -> tuple[pa.Schema, Callable[[list[str]], pa.Table]]:
        connection = duckdb.connect()
        for package in (import_peer("duckdb_extension_avro", self.name, self.extra), module):
            [file] = Path(package.__file__).parent.rglob("*.duckdb_extension")
            connection.load_extension(str(file))
        path = request.table.replace("'", "''")
        more = "" if snapshot is None else f", snapshot_from_id = {snapshot}::UBIGINT"
        source = f"iceberg_scan('{path}'{more})"

        def query(text: str) -> pa.Table:
            return plain_table(connection.sql(text).to_arrow_table())

        def read(names: list[str]) -> pa.Table:
            listed = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
            return query(f"SELECT {listed} FROM {source}")  # noqa: S608 - names are quoted

        return query(f"SELECT * FROM {source} LIMIT 0").schema, read  # noqa: S608
