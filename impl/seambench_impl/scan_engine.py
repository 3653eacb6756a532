"""Tables as DuckDB reads them through us: clean files by its own reader, the rest by ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from seambase.dataset import original_errors
from seambase.scan import ScanReport
from seambench.contracts.common import Kind
from seambench.contracts.scan import Scan, ScanRequest
from seambench_impl.scan import AutoReader
from seamkit.engines.in_duckdb import duckdb_relation
from seamkit.scan.scan import Scan as LibraryScan

if TYPE_CHECKING:
    import duckdb
    import pyarrow.dataset as ds

_BATCH_ROWS = 131_072


class EngineReader(AutoReader):
    """As `auto`, but files without changes are read by DuckDB's own reader of Parquet."""

    name = "engine"
    kind: Kind = "variant"
    capabilities: Mapping[str, bool] = {
        **AutoReader.capabilities,
        "relation": True,
        # `explain(engine=True)` shows who reads a part; the report counts paths of ours alone.
        "path-per-slice": False,
    }

    def open(self, request: ScanRequest) -> Scan:
        """Plan a read; see `seambench.contracts.scan.Scanner.open`."""
        scan = super().open(request)
        assert isinstance(scan, LibraryScan)
        return _EngineScan(scan, request)


class _EngineScan:
    """A scan whose rows come out of a relation of DuckDB."""

    def __init__(self, scan: LibraryScan, request: ScanRequest) -> None:
        self._scan = scan
        self._request = request
        self._rows: int | None = None

    @property
    def schema(self) -> pa.Schema:
        """Schema of the batches."""
        return self._scan.schema

    def to_reader(self) -> pa.RecordBatchReader:
        """A stream of what DuckDB reads."""
        if not self.schema.names:
            # DuckDB has no relations without columns.
            return self._scan.to_reader()
        return pa.RecordBatchReader.from_batches(self.schema, self._batches())

    def dataset(self) -> ds.Dataset:
        """A dataset over our own reader: DuckDB cannot hand a relation to others."""
        return self._scan.dataset()

    def relation(self, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
        """The rows in DuckDB; see `seamkit.Scan.relation`."""
        return self._scan.relation(connection)

    def report(self) -> ScanReport:
        """What our own reader did of it, and how many rows came in all."""
        report = self._scan.report()
        return report if self._rows is None else replace(report, rows=self._rows)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        import duckdb

        plan = self._scan.engine_plan(masks=True)
        rest = None if plan.rest is None else plan.rest.dataset()
        datasets = [rest, *(files.gone for files in plan.files)]
        watched = [dataset for dataset in datasets if dataset is not None]
        with duckdb.connect() as connection, original_errors(*watched):
            # None of a user's: no value may rest on the session's zone.
            connection.execute("SET TimeZone = 'Asia/Kathmandu'")
            # UUIDs leave as such, and not as text.
            connection.execute("SET arrow_lossless_conversion = true")
            if self._request.threads is not None:
                connection.execute(f"SET threads = {int(self._request.threads)}")
            with duckdb_relation(plan, rest, connection).to_arrow_reader(
                self._request.batch_rows or _BATCH_ROWS
            ) as stream:
                self._rows = 0
                for batch in stream:
                    self._rows += batch.num_rows
                    yield batch.cast(self.schema)
