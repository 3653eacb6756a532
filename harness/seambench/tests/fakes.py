"""Scanners over tables in memory, to test the harness without any real implementation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.dataset as ds

from seambench.dataset_door import StreamDataset
from seambench.errors import UsageError
from seambench.seams import Kind, Scan, ScanReport, ScanRequest

__all__ = ["SUITE", "EmptyScanner", "MemoryScan", "MemoryScanner", "Suite"]


class MemoryScan:
    """One read of a table in memory."""

    def __init__(self, owner: MemoryScanner, request: ScanRequest) -> None:
        names = list(owner.table.schema.names if request.columns is None else request.columns)
        for name in names:
            if name not in owner.table.schema.names:
                raise UsageError(f"unknown column {name!r}")
        self._owner = owner
        self._request = request
        self._table = owner.table.select(names)
        self._report = ScanReport(paths={"memory": 1})

    @property
    def schema(self) -> pa.Schema:
        """Schema of the columns asked for."""
        return self._table.schema

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows, in batches."""

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in self._table.to_batches(max_chunksize=self._owner.batch_rows):
                self._report.rows += batch.num_rows
                yield batch
            if self._owner.fails_with is not None:
                raise self._owner.fails_with

        return pa.RecordBatchReader.from_batches(self._table.schema, batches())

    def dataset(self) -> ds.Dataset:
        """The harness's own dataset over this scanner."""
        return StreamDataset(self._owner, self._request)

    def report(self) -> ScanReport:
        """Rows handed out so far."""
        return self._report


class MemoryScanner:
    """A scanner that ignores the folder it is given.

    Attributes:
        opened: the requests seen so far.
        fails_with: raised after the last batch, if any.
    """

    name = "memory"
    version = "1"
    kind: Kind = "peer"
    capabilities: Mapping[str, bool] = {"query.snapshot": True}

    def __init__(self, table: pa.Table, batch_rows: int = 3) -> None:
        self.table = table
        self.batch_rows = batch_rows
        self.opened: list[ScanRequest] = []
        self.fails_with: Exception | None = None

    def open(self, request: ScanRequest) -> Scan:
        """Plan a read."""
        self.opened.append(request)
        return MemoryScan(self, request)


class EmptyScanner(MemoryScanner):
    """A scanner of a table without rows, made without arguments."""

    name = "empty"

    def __init__(self) -> None:
        super().__init__(pa.table({"a": pa.array([], pa.int64())}))


class Suite:
    """A suite of one query."""

    queries: Mapping[int, str] = {1: "SELECT 1 AS one"}

    def ordered(self, number: int) -> bool:
        """Whether the order of the rows is part of the answer."""
        return number == 1


SUITE = Suite()
