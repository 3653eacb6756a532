"""Readers to be timed with: engines over base files by themselves, and ours through each outlet.

    seambench bench --reader engine --reader seambench_impl.measures.engines:DuckDBFiles

The first kind reads the base files of a Hudi table as an engine reads any Parquet: the stale answer
where logs lie beside them, which is held to the oracle's base state, and the least that a read can
cost in that engine. The others are our reader where a comparison has no other way to it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from seambench.bench import delayed_storage
from seambench.contracts.common import Kind
from seambench.contracts.scan import Scan, ScanRequest
from seambench.formats.hudi import bundle
from seambench_impl.peers.peer_scan import PeerScan, import_peer, plain_table
from seambench_impl.peers.pyarrow import OF_BASE_FILES, BaseFilesReader
from seambench_impl.peers.spark.frames import SparkScan, open_frame
from seambench_impl.scan import AutoReader
from seambench_impl.scan_engine import EngineReader
from seamkit import keep_at_most, keep_on_disk
from seamkit.scan.scan import Scan as LibraryScan

if TYPE_CHECKING:
    import duckdb

_BATCH_ROWS = 131_072
_KEPT_BYTES = 512 << 20
_FAR_SECONDS = 0.03


class DuckDBFiles(BaseFilesReader):
    """DuckDB: `read_parquet(files)`."""

    name = package = "duckdb"
    capabilities: Mapping[str, bool] = {**OF_BASE_FILES, "relation": True}

    def _scan(self, request: ScanRequest, files: list[str], schema: pa.Schema) -> Any:
        return _DuckDBScan(self, request, files, schema)


class _DuckDBScan(PeerScan):
    def __init__(
        self, reader: DuckDBFiles, request: ScanRequest, files: list[str], schema: pa.Schema
    ) -> None:
        super().__init__(reader, request, schema, self._read)
        self._files = files

    def relation(self, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
        """See `seambench.contracts.scan.Related`."""
        names = self.schema.names
        return connection.read_parquet(self._files).select(*(f'"{name}"' for name in names))

    def _read(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        connection = import_peer("duckdb", "duckdb", "peers").connect()
        with closing(connection):
            if self._request.threads is not None:
                connection.execute(f"SET threads = {int(self._request.threads)}")
            rows = connection.read_parquet(self._files)
            # DuckDB has no relation without columns.
            selected = rows.select(*(f'"{name}"' for name in names)) if names else rows.select("1")
            for batch in selected.to_arrow_reader(_BATCH_ROWS):
                yield batch if names else batch.select([])


class PolarsFiles(BaseFilesReader):
    """Polars: `scan_parquet(files)`; in queries its SQL."""

    name = package = "polars"
    capabilities: Mapping[str, bool] = {**OF_BASE_FILES, "sql": True}

    def _scan(self, request: ScanRequest, files: list[str], schema: pa.Schema) -> Any:
        polars = import_peer("polars", self.name, "peers")
        return _PolarsScan(self, request, polars.scan_parquet(files), schema)


class _PolarsScan(PeerScan):
    def __init__(self, reader: Any, request: ScanRequest, frame: Any, schema: pa.Schema) -> None:
        super().__init__(reader, request, schema, self._read)
        self._frame = frame.select(schema.names) if schema.names else frame

    def answer(self, sql: str, tables: Mapping[str, Scan | Path]) -> Sequence[tuple[Any, ...]]:
        """The rows of a query in Polars' SQL; see `seambench.contracts.scan.Answering`."""
        polars = import_peer("polars", "polars", "peers")
        frames = {
            name: table._frame
            if isinstance(table, _PolarsScan)
            else polars.scan_parquet(f"{table}/*.parquet")
            for name, table in tables.items()
        }
        rows: Sequence[tuple[Any, ...]] = polars.SQLContext(frames).execute(sql).collect().rows()
        return rows

    def _read(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        if names:
            rows = plain_table(self._frame.select(names).collect().to_arrow())
            yield from rows.cast(self.schema).to_batches()
            return
        polars = import_peer("polars", "polars", "peers")
        count = self._frame.select(polars.len()).collect().item()
        yield from pa.table({"none": pa.nulls(count)}).select([]).to_batches()


class PolarsFrame(AutoReader):
    """As `auto`, but queries are answered by Polars over `seamkit.Scan.lazy`."""

    name = "polars-frame"
    kind: Kind = "variant"
    capabilities: Mapping[str, bool] = {
        **AutoReader.capabilities,
        "path-per-slice": False,
        "pushdown": False,
        "sql": True,
    }

    def open(self, request: ScanRequest) -> Any:
        """Plan a read."""
        scan = super().open(request)
        assert isinstance(scan, LibraryScan)
        # A frame has at least one column.
        return _PolarsScan(self, request, scan.lazy(), scan.schema) if scan.schema.names else scan


class Arro3Files(BaseFilesReader):
    """arro3: `read_parquet(file)`, file by file."""

    name, package = "arro3", "arro3-io"

    def _scan(self, request: ScanRequest, files: list[str], schema: pa.Schema) -> Any:
        arro3 = import_peer("arro3.io", self.name, "peers")

        def read(names: list[str]) -> Iterator[pa.RecordBatch]:
            for path in files:
                stream = arro3.read_parquet(path, batch_size=_BATCH_ROWS)
                for batch in pa.RecordBatchReader.from_stream(stream):
                    if not names:
                        yield batch.select([])
                        continue
                    rows = pa.Table.from_batches([batch]).select(names)
                    yield from plain_table(rows).cast(schema).to_batches()

        return PeerScan(self, request, schema, read)


class SparkFiles(BaseFilesReader):
    """Spark: `read.parquet(files)`."""

    name, package = "spark", "pyspark"
    capabilities: Mapping[str, bool] = {**OF_BASE_FILES, "sql": True}

    def _scan(self, request: ScanRequest, files: list[str], schema: pa.Schema) -> SparkScan:
        named = replace(request, columns=schema.names)
        return open_frame(self, named, bundle(), lambda session: session.read.parquet(*files))


class EngineAnew(EngineReader):
    """As `engine`, but for each query the tables are opened anew and nothing is kept of before."""

    name = "engine-anew"
    capabilities: Mapping[str, bool] = {
        **EngineReader.capabilities,
        "relation": False,
        "pushdown": False,
        "sql": True,
    }

    def open(self, request: ScanRequest) -> Any:
        """Plan a read, which queries plan again."""
        return _AnewScan(self, request)


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """A folder that is there as long as the process."""
    return tempfile.TemporaryDirectory(prefix="seambench-")


class EngineFromDisk(EngineAnew):
    """As a later process does it: nothing is in memory, and a folder has what was kept before."""

    name = "engine-from-disk"

    def __init__(self) -> None:
        super().__init__()
        keep_on_disk(_folder().name)


class _AnewScan:
    def __init__(self, reader: EngineAnew, request: ScanRequest) -> None:
        self._request = request
        self._opened = EngineReader.open(reader, request)
        self.schema = self._opened.schema
        self.to_reader, self.dataset = self._opened.to_reader, self._opened.dataset
        self.report = self._opened.report

    def answer(self, sql: str, tables: Mapping[str, Any]) -> Sequence[tuple[Any, ...]]:
        """See `seambench.contracts.scan.Answering`."""
        import duckdb

        for most_bytes in (0, _KEPT_BYTES):
            keep_at_most(most_bytes)
        with duckdb.connect() as connection:
            if self._request.threads is not None:
                connection.execute(f"SET threads = {int(self._request.threads)}")
            for name, table in tables.items():
                if isinstance(table, _AnewScan):
                    again: Any = EngineReader().open(table._request)
                    again.relation(connection).create_view(name)
                else:
                    connection.read_parquet(f"{table}/*.parquet").create_view(name)
            return connection.execute(sql).fetchall()


class AutoFarAway(AutoReader):
    """As `auto`, from a storage where each request waits for 30 milliseconds."""

    name = "auto-far-away"
    kind: Kind = "variant"

    def __init__(self) -> None:
        super().__init__()
        # As long as the process lives, which is this reader's own.
        self._delay = delayed_storage.delay(_FAR_SECONDS)
        self._delay.__enter__()

    def open(self, request: ScanRequest) -> Scan:
        """Plan a read of the same table by its far address."""
        return super().open(replace(request, table=f"delayed://{Path(request.table).resolve()}"))
