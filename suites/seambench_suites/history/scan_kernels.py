"""Scans of small Hudi tables, end to end; Spark and Hudi wrote them (`make_history_table.py`)."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .kernels import feature

__all__ = ["ConnectorScan", "HudiScan", "RatioScan", "unpacked"]

#: Of `hudi-ratios` by per cent: how many upserts count, and the remainders that they updated.
_UPDATED = {"5": (1, 1), "20": (2, 4), "50": (3, 10)}


class HudiScan:
    """A Hudi table of 40,000 rows in 2 slices with logs, written by Spark, read 5 times.

    `native` reads the base files alone, `merge` folds in the logs: 8,000 updates, 400 deletes.
    """

    loops = 5
    base_rows, deletes = 40_000, 400

    def __init__(self, path: str) -> None:
        hudi = feature("seamkit.tables.hudi.table", "HudiTable")
        query = "read-optimized" if path == "native" else "snapshot"
        table = hudi.HudiTable(str(unpacked("hudi-small")))
        # One thread: what a scan costs, whatever the machine does besides.
        self._open: Callable[[], Any] = lambda: table.scan(query=query, threads=1)
        self._expected_rows = self.base_rows - (self.deletes if path == "merge" else 0)
        amount = pc.sum(self._open().to_table().column("amount")).as_py()
        if round(amount * 100) != self._expected_cents(path):
            raise AssertionError(f"the amounts that the {path} path read add up to {amount}")

    def prepare(self) -> None:
        """Nothing is used up: every scan opens its own."""

    def run(self) -> None:
        """Drain all columns, `loops` times."""
        for _ in range(self.loops):
            rows = sum(batch.num_rows for batch in self._open().to_reader())
            if rows != self._expected_rows:
                raise AssertionError(f"{rows} rows read")

    def _expected_cents(self, path: str) -> int:
        """The sum by the table's own recipe (see `make_history_table.py` beside the archive)."""
        merged = path == "merge"
        return sum(
            _cents(k, updated=merged and k % 5 == 0)
            for k in range(self.base_rows)
            if not (merged and k % 100 == 1)
        )


class RatioScan:
    """A Hudi table of 20,000 rows in 2 slices, read twice as of its first, second or third upsert.

    As of these 5, 20 and 50 % of its rows are updated in logs.
    """

    loops, rows = 2, 20_000

    def __init__(self, ratio: str) -> None:
        hudi = feature("seamkit.tables.hudi.table", "HudiTable")
        folder = unpacked("hudi-ratios")
        upserts, _ = _UPDATED[ratio]
        requested = sorted(
            path.name.partition("_")[0]
            for path in (folder / ".hoodie" / "timeline").glob("*_*.deltacommit")
        )
        as_of, table = requested[upserts - 1], hudi.HudiTable(str(folder))
        self._open: Callable[[], Any] = lambda: table.scan(as_of=as_of, threads=1)
        amount = pc.sum(self._open().to_table().column("amount")).as_py()
        if round(amount * 100) != self.cents(ratio):
            raise AssertionError(f"the amounts as of the upsert {upserts} add up to {amount}")

    @classmethod
    def cents(cls, ratio: str) -> int:
        """The sum of all amounts, by the table's own recipe."""
        _, remainders = _UPDATED[ratio]
        return sum(_cents(k, updated=k % 20 < remainders) for k in range(cls.rows))

    def prepare(self) -> None:
        """Nothing is used up."""

    def run(self) -> None:
        """Drain all columns, `loops` times."""
        for _ in range(self.loops):
            rows = sum(batch.num_rows for batch in self._open().to_reader())
            if rows != self.rows:
                raise AssertionError(f"{rows} rows read")


class ConnectorScan:
    """Two columns of a merged Hudi table of 20,000 rows through the connector, row by row."""

    rows = 20_000

    def __init__(self) -> None:
        readers = feature("seambench_impl.scan", "ConnectorReader")
        requests = feature("seambench.contracts.scan", "ScanRequest")
        request = requests.ScanRequest(
            table=str(unpacked("hudi-ratios")), columns=("k", "amount"), threads=1
        )
        self._open: Callable[[], Any] = lambda: readers.ConnectorReader().open(request)
        table: pa.Table = pa.Table.from_batches(self._open().to_reader())
        if round(pc.sum(table.column("amount")).as_py() * 100) != RatioScan.cents("50"):
            raise AssertionError("the amounts that came through the connector are not the table's")

    def prepare(self) -> None:
        """Nothing is used up."""

    def run(self) -> None:
        """Drain both columns."""
        rows = sum(batch.num_rows for batch in self._open().to_reader())
        if rows != self.rows:
            raise AssertionError(f"{rows} rows read")


def _cents(key: int, *, updated: bool) -> int:
    """The amount of a row; an update adds one."""
    return key * 7919 % 100_000 + (100 if updated else 0)


@lru_cache
def unpacked(name: str) -> Path:
    """A table, unpacked for this process."""
    archive = Path(__file__).parents[1] / "golden" / name / "table.zip"
    folder = Path(tempfile.mkdtemp(prefix="seambench-history-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(folder)
    return folder
