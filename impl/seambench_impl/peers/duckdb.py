"""DuckDB over folders as Hive lays them out, its Parquet files, and its extension for Iceberg.

PyPI has the extension (`duckdb-extension-iceberg`) for one version of DuckDB, which need not be the
one that the harness uses, so no extra brings it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import duckdb
import pyarrow as pa

from seambench.contracts.scan import ScanRequest
from seambench_impl.peers.peer_scan import (
    Opened,
    SnapshotReader,
    by_queries,
    import_peer,
    opened,
    quoted,
)
from seambench_impl.peers.peer_writer import CODEC, GROUP_ROWS, FileWriter, literal
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
        return by_queries(
            lambda text: connection.sql(text).to_arrow_table(), f"iceberg_scan('{path}'{more})"
        )


class DuckDBFolders(SnapshotReader):
    """DuckDB: `read_parquet(files, hive_partitioning = true, union_by_name = true)`."""

    name = "duckdb-hive"
    package = "duckdb"

    def _table(self, module: Any, request: ScanRequest, snapshot: int | None) -> Opened:
        del snapshot
        described = described_folder(self.name, request, ["parquet"])
        paths = sorted(path for path in Path(request.table).rglob("*") if path.is_file())
        files = [str(path) for path in paths if not path.name.startswith(("_", "."))]
        relation = module.connect().read_parquet(
            files, hive_partitioning=bool(described.partitions), union_by_name=True
        )
        found, read = opened(
            relation.limit(0).to_arrow_table().schema,
            lambda names: relation.project(quoted(names)).to_arrow_table(),
        )
        return described.shown(found), read


class DuckDBFiles(FileWriter):
    """DuckDB: `COPY ... TO file (FORMAT parquet)`."""

    name = package = "duckdb"
    keywords: ClassVar = {CODEC: "COMPRESSION", GROUP_ROWS: "ROW_GROUP_SIZE"}

    def write(self, rows: pa.Table, file: Path, given: Mapping[str, Any]) -> None:
        """See `FileWriter`."""
        options = ["FORMAT parquet", *(f"{word} {literal(one)}" for word, one in given.items())]
        with duckdb.connect() as connection:
            connection.register("new_rows", rows)
            connection.execute(f"COPY new_rows TO {literal(str(file))} ({', '.join(options)})")
