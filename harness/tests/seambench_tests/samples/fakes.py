"""Scanners over tables in memory, to test the harness without any real implementation."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from seambase.errors import InputError, UnavailableError, UsageError
from seambase.scan import ScanReport, ScanWarning
from seambench.contracts.common import Kind
from seambench.contracts.formats import resolve_format
from seambench.contracts.scan import Scan, ScanRequest
from seambench.engines.stream_dataset import StreamDataset


class _TableScan:
    """One read of some columns of a table in memory."""

    def __init__(self, owner: Any, request: ScanRequest, table: pa.Table) -> None:
        names = list(table.schema.names if request.columns is None else request.columns)
        for name in names:
            if name not in table.schema.names:
                raise UsageError(f"unknown column {name!r}")
        self._owner, self._request = owner, request
        self._table = table.select(names)
        self._report = ScanReport(paths={"memory": 1})

    @property
    def schema(self) -> pa.Schema:
        """Schema of the columns asked for."""
        return self._table.schema

    def dataset(self) -> ds.Dataset:
        """The harness's own dataset over this scanner."""
        return StreamDataset(self._owner, self._request)

    def report(self) -> ScanReport:
        """Rows handed out so far."""
        return self._report


class MemoryScan(_TableScan):
    """It counts its rows."""

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows, in batches."""

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in self._table.to_batches(max_chunksize=self._owner.batch_rows):
                self._report.rows += batch.num_rows
                yield batch
            if self._owner.fails_with is not None:
                raise self._owner.fails_with

        return pa.RecordBatchReader.from_batches(self._table.schema, batches())


class MemoryScanner:
    """A scanner that ignores the folder it is given.

    Attributes:
        opened: the requests seen so far.
        fails_with: raised after the last batch, if any.
    """

    name = "memory"
    version = "1"
    kind: Kind = "peer"
    capabilities: Mapping[str, bool] = {"formats.hudi": True, "query.snapshot": True}

    def __init__(self, table: pa.Table, batch_rows: int = 3) -> None:
        self.table = table
        self.batch_rows = batch_rows
        self.opened: list[ScanRequest] = []
        self.fails_with: Exception | None = None

    def open(self, request: ScanRequest) -> Scan:
        """Plan a read."""
        self.opened.append(request)
        return MemoryScan(self, request, self.table)


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


class FolderScan(_TableScan):
    """One read of the Parquet files of a folder, changed by its scanner."""

    def __init__(self, owner: FolderScanner, request: ScanRequest) -> None:
        whole = ds.dataset(request.table, format="parquet").to_table()
        own = resolve_format("hudi").shown(whole.schema.names)
        super().__init__(owner, request, owner.change(whole.select(own)))
        self._report = ScanReport(paths={"native": 1}, warnings=list(owner.warnings))

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows."""
        schema, size = self._table.schema, self._request.batch_rows
        batches = self._table.to_batches(max_chunksize=size)
        return pa.RecordBatchReader.from_batches(schema, self._owner.slowly(batches))


class FolderScanner:
    """A right reader of folders of Parquet files; its heirs get things wrong."""

    name = "folder"
    version = "1"
    kind: Kind = "peer"
    capabilities: Mapping[str, bool] = {
        "formats.hudi": True,
        "query.snapshot": True,
        "query.read-optimized": True,
    }
    warnings: tuple[ScanWarning, ...] = ()

    def open(self, request: ScanRequest) -> Scan:
        """Read the folder."""
        if not Path(request.table).is_dir():
            raise InputError(f"{request.table}: no such table")
        return FolderScan(self, request)

    def change(self, table: pa.Table) -> pa.Table:
        """What this reader makes of the rows."""
        return table

    def slowly(self, batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """How this reader hands out batches."""
        yield from batches


class AnsweringScan(FolderScan):
    """Answers queries by an engine of its own, which averages into decimals."""

    def answer(self, sql: str, tables: Mapping[str, Scan | Path]) -> list[tuple[Any, ...]]:
        """Doubles of the answer as decimals of 6 digits."""
        with duckdb.connect() as con:
            for name, table in tables.items():
                rows = (
                    ds.dataset(table, format="parquet").to_table()
                    if isinstance(table, Path)
                    else table.to_reader().read_all()
                )
                con.register(name, rows)
            found = con.execute(sql).fetchall()
        return [
            tuple(Decimal(f"{v:.6f}") if isinstance(v, float) else v for v in row) for row in found
        ]


class AnsweringScanner(FolderScanner):
    """A right reader with an engine of its own."""

    name = "answering"
    capabilities: Mapping[str, bool] = {**FolderScanner.capabilities, "sql": True}

    def open(self, request: ScanRequest) -> Scan:
        """Read the folder."""
        return AnsweringScan(self, request)


class LossyScanner(FolderScanner):
    """Loses the last row."""

    name = "lossy"

    def change(self, table: pa.Table) -> pa.Table:
        """All rows but one."""
        return table.slice(0, table.num_rows - 1)


class WrongTypeScanner(FolderScanner):
    """Hands out decimals as doubles."""

    name = "wrong-type"

    def change(self, table: pa.Table) -> pa.Table:
        """The same values in another type."""
        fields = [
            field.with_type(pa.float64()) if pa.types.is_decimal(field.type) else field
            for field in table.schema
        ]
        return table.cast(pa.schema(fields))


class BrokenScanner(FolderScanner):
    """Fails when it is read."""

    name = "broken"

    def open(self, request: ScanRequest) -> Any:
        """Remember where the table lies."""
        self._where = request.table
        return super().open(request)

    def slowly(self, batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Gives one batch, then fails."""
        yield batches[0].slice(0, 1)
        raise InputError(f"{self._where}/base.parquet: footer is cut off at byte 12")


class CrashingScanner(FolderScanner):
    """Raises what no reader should."""

    name = "crashing"

    def open(self, request: ScanRequest) -> Scan:  # noqa: ARG002 - the seam's signature
        """Never succeeds."""
        raise ZeroDivisionError("a fault\nwith a second line")


class DyingScanner(FolderScanner):
    """Ends the process that it runs in."""

    name = "dying"

    def open(self, request: ScanRequest) -> Scan:  # noqa: ARG002 - the seam's signature
        """Never returns."""
        os._exit(3)


class WarningScanner(FolderScanner):
    """Skips damage and says so."""

    name = "warning"
    warnings = tuple(ScanWarning(f"log.{i}", i, "block without footer") for i in range(12))


class AbsentScanner(FolderScanner):
    """Needs what this machine lacks."""

    name = "absent"

    def __init__(self) -> None:
        raise UnavailableError("absent needs the package 'nothing': pip install nothing")


class RefusingScanner(FolderScanner):
    """Offers no view of a table at all."""

    name = "refusing"
    capabilities: Mapping[str, bool] = {}


class FormatlessScanner(FolderScanner):
    """Offers a view, but of no table format that it names."""

    name = "formatless"
    capabilities: Mapping[str, bool] = {"query.snapshot": True}


class BoastingScanner(EmptyScanner):
    """Claims everything and reads nothing."""

    name = "boasting"
    capabilities: Mapping[str, bool] = dict.fromkeys(
        (
            "formats.hudi",
            "query.snapshot",
            "query.read-optimized",
            "as-of",
            "merge.commit-time",
            "blocks.avro",
            "blocks.delete",
            "table-version.6",
        ),
        True,
    )
