"""DuckDB over folders as Hive lays them out, and its extension for Iceberg.

PyPI has the extension (`duckdb-extension-iceberg`) for one version of DuckDB, which need not be the
one that the harness uses, so no extra brings it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from seambench.contracts.scan import ScanRequest
from seambench_impl.peers.peer_scan import Opened, SnapshotReader, import_peer, plain_table, quoted
from seambench_impl.peers.pyarrow import described_folder


class DuckDBIceberg(SnapshotReader):
    """`SELECT ... FROM iceberg_scan(path)`."""

    name = "duckdb-iceberg"
    package = "duckdb_extension_iceberg"
    extra = None

    def _table(self, module: Any, request: ScanRequest, snapshot: int | None) -> Opened:
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
            listed = quoted(names)
            return query(f"SELECT {listed} FROM {source}")  # noqa: S608 - names are quoted

        return query(f"SELECT * FROM {source} LIMIT 0").schema, read  # noqa: S608


class DuckDBFolders(SnapshotReader):
    """DuckDB: `read_parquet(files, hive_partitioning = true, union_by_name = true)`."""

    name = "duckdb-hive"
    package = "duckdb"

    def _table(self, module: Any, request: ScanRequest, snapshot: int | None) -> Opened:
        del snapshot
        told = described_folder(self.name, request, ["parquet"])
        found = sorted(path for path in Path(request.table).rglob("*") if path.is_file())
        files = [str(path) for path in found if not path.name.startswith(("_", "."))]
        relation = module.connect().read_parquet(
            files, hive_partitioning=bool(told.partitions), union_by_name=True
        )

        def read(names: list[str]) -> pa.Table:
            listed = quoted(names)
            return plain_table(relation.project(listed).to_arrow_table())

        return told.shown(plain_table(relation.limit(0).to_arrow_table()).schema), read
