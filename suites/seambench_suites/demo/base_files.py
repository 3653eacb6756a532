"""A reader that is broken in the way that real ones are: it serves stale rows without a word."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from seambase.errors import RefusedError, UsageError
from seambase.scan import ScanReport
from seambench.contracts.common import Kind
from seambench.contracts.formats import resolve_format
from seambench.contracts.scan import Scan, ScanRequest

#: File id, write token, instant.
_NAME = re.compile(r"(.+)_\d+-\d+-\d+_(\d+)\.parquet")


class BaseFilesAlone:
    """Claims to read merge-on-read tables, and reads the newest data file of each slice."""

    name = "base-files-alone"
    version = "1"
    kind: Kind = "variant"
    capabilities: Mapping[str, bool] = dict.fromkeys(
        (
            *("formats.hudi", "query.snapshot", "query.read-optimized", "table-version.9"),
            *("merge.event-time", "blocks.avro", "blocks.delete", "as-of"),
        ),
        True,
    )

    def open(self, request: ScanRequest) -> Scan:
        """Read what lies in the folder, but for logs and for who wrote when."""
        if request.query not in ("snapshot", "read-optimized"):
            raise RefusedError(f"{self.name} has no {request.query} query")
        newest: dict[str, tuple[str, Path]] = {}
        for file in Path(request.table).rglob("*.parquet"):
            if match := _NAME.fullmatch(file.name):
                slice_, instant = match.groups()
                newest[slice_] = max(newest.get(slice_, ("", file)), (instant, file))
        table = pa.concat_tables(pq.ParquetFile(file).read() for _, file in newest.values())
        shown = request.columns
        if shown is None:
            shown = resolve_format("hudi").shown(table.schema.names)
        if unknown := sorted(set(shown) - set(table.schema.names)):
            raise UsageError(f"unknown column {unknown[0]!r}")
        return _Read(table.select(list(shown)), request.batch_rows)


class _Read:
    def __init__(self, table: pa.Table, batch_rows: int | None) -> None:
        self._table, self._batch_rows = table, batch_rows
        self.schema: pa.Schema = table.schema

    def to_reader(self) -> pa.RecordBatchReader:
        batches = self._table.to_batches(self._batch_rows)
        return pa.RecordBatchReader.from_batches(self.schema, batches)

    def dataset(self) -> ds.Dataset:
        return ds.InMemoryDataset(self._table)

    def report(self) -> ScanReport:
        return ScanReport(rows=self._table.num_rows)
