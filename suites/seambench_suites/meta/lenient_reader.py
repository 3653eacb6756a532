"""A reader that takes whatever it can read for the table: mutations are worth finding it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from seambase.scan import ScanReport
from seambench.contracts.scan import ScanRequest


class _Everything:
    """A table in memory, as a scan."""

    def __init__(self, table: pa.Table) -> None:
        self.schema = table.schema
        self._table = table

    def to_reader(self) -> pa.RecordBatchReader:
        """Its rows."""
        return self._table.to_reader()

    def dataset(self) -> ds.Dataset:
        """Its rows."""
        return ds.dataset(self._table)

    def report(self) -> ScanReport:
        """Nothing to tell."""
        return ScanReport()


class _All(dict[str, bool]):
    def get(self, _word: str, _default: Any = None) -> bool:
        """Whatever is asked for."""
        return True


class ReadsOn:
    """Reads the Parquet files that are left, and passes over all others."""

    name = "reads-on"
    version = "0"
    kind = "ours"
    capabilities = _All()

    def open(self, request: ScanRequest) -> _Everything:
        """The rows of those files."""
        tables = []
        for path in sorted(Path(request.table.removeprefix("local://")).glob("*.parquet")):
            try:
                tables.append(pq.read_table(path))
            except (OSError, pa.ArrowException):
                continue
        return _Everything(pa.concat_tables(tables) if tables else pa.table({"k": []}))
