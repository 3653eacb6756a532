"""Readers that are wrong on purpose: the suite is worth what it finds in them."""

import functools
import os
import sys
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from seambase.dataset import ScanDataset
from seambench.contracts.scan import ScanRequest
from seambench.formats.hudi.golden import TableSpec, WriteSpec
from seambench_suites.meta.simulated import Row, SimulatedReader, SimulatedScan, Simulation


class BaseRowsOnly(SimulatedReader):
    """Serves the base files as if they were the table."""

    def rows(self, spec: TableSpec, writes: list[WriteSpec], request: ScanRequest) -> list[Row]:
        """The read-optimised view, whatever was asked for."""
        return super().rows(spec, writes, replace(request, query="read-optimized"))


class Excused(BaseRowsOnly):
    """As above, and says itself which cases it is known to fail."""

    xfails = Path(__file__).with_name("excused.toml")


class ForgetsTheFirstLog(SimulatedReader):
    """Loses one log of every slice."""

    def rows(self, spec: TableSpec, writes: list[WriteSpec], request: ScanRequest) -> list[Row]:
        """All writes but the second."""
        return super().rows(spec, writes[:1] + writes[2:], request)


class IgnoresDeletes(SimulatedReader):
    """Reads data blocks only."""

    class _Kept(Simulation):
        def events(self, write: WriteSpec) -> list[tuple[tuple[Any, ...], Row]]:
            """No deletes."""
            return [event for event in super().events(write) if event[1]["#"] == "put"]

    simulation = _Kept


class LastLogWins(SimulatedReader):
    """Takes every table for one of commit-time ordering."""

    class _Last(Simulation):
        def merge(self, older: Row, newer: Row) -> Row:  # noqa: ARG002 - that is what is wrong
            """Always the newer."""
            return newer

    simulation = _Last


class KeepsTheOlderOfATie(SimulatedReader):
    """Lets equal ordering values lose."""

    class _Older(Simulation):
        def merge(self, older: Row, newer: Row) -> Row:
            """The older of two equals."""
            ordering = self.spec.ordering
            if ordering and older[ordering] == newer[ordering]:
                return older
            return super().merge(older, newer)

    simulation = _Older


class FiltersBelowTheMerge(SimulatedReader):
    """Applies a filter to base and logs before they are merged."""

    capabilities: Mapping[str, bool] = {**SimulatedReader.capabilities, "where": True}

    def rows(self, spec: TableSpec, writes: list[WriteSpec], request: ScanRequest) -> list[Row]:
        """Rows of every write that meet the filter, then merged."""
        if request.where is None:
            return super().rows(spec, writes, request)
        kept = [replace(write, rows=_filtered(write, request.where)) for write in writes]
        return super().rows(spec, kept, request)


def _filtered(write: WriteSpec, where: str) -> list[Row]:
    """Rows of a write that meet a condition."""
    table = pa.Table.from_pylist([dict(row) for row in write.rows])
    with duckdb.connect() as engine:
        engine.register("written", table)
        # The condition is a case file's.
        rows: list[Row] = engine.sql(f"FROM written WHERE {where}").to_arrow_table().to_pylist()
    return rows


class DeletesAlwaysWin(SimulatedReader):
    """Lets a delete win over a row that is newer."""

    class _Deleting(Simulation):
        def merge(self, older: Row, newer: Row) -> Row:
            """The delete, if either is one."""
            return newer if newer["#"] == "delete" else super().merge(older, newer)

    simulation = _Deleting


class TestsBaseRowsForDeletes(SimulatedReader):
    """Takes `_hoodie_is_deleted` for a delete in base files too."""

    def rows(self, spec: TableSpec, writes: list[WriteSpec], request: ScanRequest) -> list[Row]:
        """Rows that do not say that they are deleted."""
        return [
            row for row in super().rows(spec, writes, request) if not row.get("_hoodie_is_deleted")
        ]


class SeesWhatWasUndone(SimulatedReader):
    """Reads logs of writers that died and of writes that were rolled back."""

    def hidden(self, writes: Sequence[WriteSpec]) -> set[int]:  # noqa: ARG002 - that is what is wrong
        """None."""
        return set()


class ForgetsLaterRollbacks(SimulatedReader):
    """Looks for rollbacks no further than the instant asked for."""

    def open(self, request: ScanRequest) -> SimulatedScan:
        """Remember whether an instant was asked for."""
        self._as_of = request.as_of is not None
        return super().open(request)

    def hidden(self, writes: Sequence[WriteSpec]) -> set[int]:
        """None where the rollback may lie later."""
        return set() if self._as_of else super().hidden(writes)


class CountsTheBeginningIn(SimulatedReader):
    """Takes the window of an incremental read for closed at both ends."""

    def is_new(self, write: int, begin: int) -> bool:
        """Also what the bound itself wrote."""
        return write >= begin


class IgnoresTheWindow(SimulatedReader):
    """Answers an incremental read with all rows."""

    def is_new(self, write: int, begin: int) -> bool:  # noqa: ARG002 - that is what is wrong
        """Always."""
        return True


class LosesTheLastBatch(SimulatedReader):
    """Right in one batch, wrong in many."""

    def open(self, request: ScanRequest) -> SimulatedScan:
        """One row fewer where batches are small."""
        scan = super().open(request)
        if request.batch_rows == 1 and scan.table.num_rows:
            scan.table = scan.table.slice(0, scan.table.num_rows - 1)
        return scan


class LosesARowOfARange(SimulatedReader):
    """Right where equal values are asked for, wrong where a bound is: the last row is lost."""

    def open(self, request: ScanRequest) -> SimulatedScan:
        """A dataset that takes filters."""
        scan = super().open(request)
        dataset = ScanDataset(scan.schema, functools.partial(_by_bounds, scan.table))
        setattr(scan, "dataset", lambda: dataset)  # noqa: B010 - an instance's own, unknown to types
        return scan


def _by_bounds(
    table: pa.Table, columns: Sequence[str], condition: pc.Expression | None
) -> pa.RecordBatchReader:
    found = table if condition is None else table.filter(condition)
    if condition is not None and ">" in str(condition):
        found = found.slice(0, max(found.num_rows - 1, 0))
    return found.select(columns).to_reader()


class CountsOneFewer(SimulatedReader):
    """Right with columns, wrong in a count."""

    def rows(self, spec: TableSpec, writes: list[WriteSpec], request: ScanRequest) -> list[Row]:
        """One row fewer where no column is asked for."""
        rows = super().rows(spec, writes, request)
        return rows if request.columns is None or request.columns else rows[1:]


class Raising(SimulatedReader):
    """Fails with something that is no refusal, in colours."""

    def open(self, request: ScanRequest) -> SimulatedScan:
        """Fail."""
        raise ZeroDivisionError(f"\x1b[31;1m{request.table}\x1b[0m")


class Crashing(SimulatedReader):
    """Takes its process with it."""

    def open(self, request: ScanRequest) -> SimulatedScan:  # noqa: ARG002
        """Die, in colours."""
        sys.stderr.write("\x1b[31mthe end\x1b[0m\n")
        sys.stderr.flush()
        os.abort()


class Hanging(SimulatedReader):
    """Never answers."""

    def open(self, request: ScanRequest) -> SimulatedScan:
        """Wait."""
        time.sleep(3600)
        return super().open(request)


class Slow(SimulatedReader):
    """Right, after a while."""

    def open(self, request: ScanRequest) -> SimulatedScan:
        """Wait a little."""
        time.sleep(0.3)
        return super().open(request)


class CrashingEveryThird(SimulatedReader):
    """Takes its process with it in a third of all cases, always the same ones."""

    def open(self, request: ScanRequest) -> SimulatedScan:
        """Die, or answer."""
        asked = repr((Path(request.table).name, request.query, request.as_of, request.columns))
        if zlib.crc32(asked.encode()) % 3 == 0:
            os.abort()
        return super().open(request)


class Hungry(SimulatedReader):
    """Takes memory without end."""

    def open(self, request: ScanRequest) -> SimulatedScan:
        """Take, until somebody ends it."""
        held: list[bytes] = []
        while len(held) < 4096:
            held.append(b"x" * (16 << 20))
            time.sleep(0.005)
        return super().open(request)
