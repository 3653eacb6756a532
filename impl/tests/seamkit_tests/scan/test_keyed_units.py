"""Events by key under the contract of read units, by a format that keeps them in memory."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from seambase.errors import InputError
from seamkit.core.border import ExportedBatch
from seamkit.core.memory import TrackedAllocator
from seamkit.files.parquet import ParquetReader
from seamkit.files.reader import FileReader
from seamkit.files.roaring import Positions
from seamkit.scan.arguments import ScanOptions
from seamkit.scan.core_merges import LogIndex, RowNumbers, assemble
from seamkit.scan.unit_scan import UnitScan
from seamkit.scan.units import DataFile, LoadedEvents, ReadContext, ReadUnit
from seamkit_tests.samples.calls import calls_of
from seamkit_tests.scan.units import open_file, plan, positions, write_unit

_ROWS = 1000
_BASE = pa.table(
    {
        "id": pa.array([i // 2 for i in range(_ROWS)], pa.int64()),  # each key twice
        "v": pa.array(range(_ROWS), pa.int64()),
        "s": pa.array([f"s{i}" for i in range(_ROWS)]),
    }
)


@dataclass
class FoldedEvents:
    """Events of the tiny format, as the core folds them."""

    data: pa.RecordBatch
    index: LogIndex
    fills: bool = False
    whole: bool = True

    def columns(self, reader: FileReader) -> Sequence[str]:
        """The key."""
        del reader
        return ["id"]

    def meet(
        self, batch: pa.RecordBatch, first_row: int, source: str, losers: RowNumbers | None
    ) -> RowNumbers:
        """By the key alone."""
        del first_row, source
        return self.index.probe(batch.select(["id"]), None, losers)

    def put_together(
        self,
        batch: pa.RecordBatch,
        sources: RowNumbers,
        losers: RowNumbers | None,
        allocator: TrackedAllocator,
    ) -> pa.RecordBatch:
        """Whole rows."""
        del losers
        return assemble(batch, self.data, ExportedBatch(self.data), sources, allocator)

    def rest(self) -> RowNumbers:
        """New rows."""
        return self.index.rest()

    def over(self, data: pa.RecordBatch) -> FoldedEvents:
        """Other columns."""
        return replace(self, data=data)

    def fork(self, names: Sequence[str], allocator: TrackedAllocator) -> FoldedEvents:
        """For another read."""
        return FoldedEvents(self.data.select(list(names)), self.index.fork(allocator))


@dataclass
class KeyedRows:
    """Rows that replace those of the same key, and keys that are gone."""

    rows: pa.RecordBatch
    gone: Sequence[int]
    every: bool = False
    key_columns: frozenset[str] = frozenset({"id"})

    def identity(self) -> None:
        """Nobody can tell whether they are the same later."""

    error: InputError | None = None

    def load(self, names: Sequence[str], context: ReadContext) -> LoadedEvents | Positions:
        """Fold them."""
        if self.error is not None:
            raise self.error
        ids = pa.array([*self.rows["id"].to_pylist(), *self.gone], pa.int64())
        rows = np.array([*range(self.rows.num_rows), *([-1] * len(self.gone))], np.int32)
        keys = pa.RecordBatch.from_arrays([ids], names=["id"])
        index = LogIndex(keys, rows, None, None, context.allocator, meets_every_row=self.every)
        return FoldedEvents(self.rows.select(list(names)), index)

    def further(self, names: Sequence[str], context: ReadContext) -> pa.RecordBatch:
        """More columns."""
        del context
        return self.rows.select(list(names))


@dataclass
class RowsByPosition:
    """Events of which nothing is left but positions that are gone."""

    gone: Sequence[int]
    key_columns: frozenset[str] = frozenset()

    def identity(self) -> None:
        """Nobody can tell whether they are the same later."""

    def load(self, names: Sequence[str], context: ReadContext) -> LoadedEvents | Positions:
        """The positions."""
        del names, context
        return positions(self.gone)

    def further(self, names: Sequence[str], context: ReadContext) -> pa.RecordBatch:
        """Positions have no columns."""
        raise AssertionError(names, context)


def _changed(ids: Sequence[int]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {"id": ids, "v": [-i for i in ids], "s": [f"new{i}" for i in ids]}
    )


def _expected(
    changed: Sequence[int], gone: Sequence[int], *, every: bool
) -> list[tuple[int, int, str]]:
    """The merged rows by a dictionary, in the order of the file; new rows last."""
    waiting: dict[int, tuple[int, int, str] | None] = {i: (i, -i, f"new{i}") for i in changed}
    waiting |= dict.fromkeys(gone)
    met = set()
    rows = []
    for row in _BASE.to_pylist():
        key = row["id"]
        if key in waiting and (every or key not in met):
            met.add(key)
            if (new := waiting[key]) is not None:
                rows.append(new)
        else:
            rows.append((key, row["v"], row["s"]))
    return rows + [row for key, row in waiting.items() if key not in met and row is not None]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the files lie."""
    return tmp_path_factory.mktemp("keyed")


def _unit(folder: Path, changes: Any) -> ReadUnit:
    return replace(write_unit(folder, "base", _BASE, group_rows=90), changes=changes)


CHANGED, GONE = [3, 7, 250, 499, 700, 801], [0, 7_000, 100, 101, 102, 499_000]


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize(("batch_rows", "threads"), [(7, 4), (64, 1), (5000, 4)])
def test_events_meet_the_first_row_of_a_key_or_every_row(
    folder: Path, every: bool, batch_rows: int, threads: int
) -> None:
    """Rows are replaced, removed and added as a dictionary would do it, by one thread or more."""
    changes = KeyedRows(_changed(CHANGED), GONE, every)
    options = ScanOptions(batch_rows, threads)
    scan = UnitScan(plan(_BASE.schema, _unit(folder, changes)), ["id", "v", "s"], None, options)
    found = scan.to_table()
    rows = [tuple(row.values()) for row in found.to_pylist()]
    assert rows == _expected(CHANGED, GONE, every=every)
    assert scan.report().paths == {"merge": 1}
    only = UnitScan(plan(_BASE.schema, _unit(folder, changes)), ["s"], None, options).to_table()
    assert only["s"].to_pylist() == [row[2] for row in rows]


def test_a_filter_on_keys_leaves_row_groups_unread(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Statistics of keys count below a merge; those of values that events change do not."""
    read = calls_of(monkeypatch, ParquetReader, "batches")
    unit = _unit(folder, KeyedRows(_changed(CHANGED), GONE))

    def ids(condition: pc.Expression) -> set[int]:
        read.clear()
        found = UnitScan(plan(_BASE.schema, unit), ["id"], condition, ScanOptions(threads=1))
        return set(found.to_table()["id"].to_pylist())

    assert ids(pc.field("id") == 250) == {250}
    assert {group for call in read for group in call.named["row_groups"]} == {5}
    assert ids(pc.field("v") == -250) == {250}
    assert {group for call in read for group in call.named["row_groups"]} == set(range(12))
    assert ids(pc.field("v") == -801) == {801}  # only the events have it


@pytest.mark.parametrize(("rows", "threads"), [(1, 4), (2, 1), (3, 4), (7, 1)])
def test_row_groups_that_are_no_neighbours_are_met_by_their_own_rows(
    folder: Path, rows: int, threads: int
) -> None:
    """A filter on keys leaves out those between: what is gone in one is not gone in another."""
    file = write_unit(folder, "groups", _BASE.slice(0, 60), group_rows=rows)
    changes = KeyedRows(_changed([2, 20]), [3, 21])
    whole = [row for row in _expected([2, 20], [3, 21], every=False) if row[0] < 30]
    unit = replace(file, changes=changes)
    pairs = itertools.combinations([0, 2, 3, 4, 19, 20, 21, 29], 2)
    for keys, batch_rows in zip(pairs, itertools.cycle([1, 2, 3, 100]), strict=False):
        condition, options = pc.field("id").isin(keys), ScanOptions(batch_rows, threads)
        scan = UnitScan(plan(_BASE.schema, unit), ["id", "v", "s"], condition, options)
        found = [tuple(row.values()) for row in scan.to_table().to_pylist()]
        assert sorted(found) == sorted(row for row in whole if row[0] in keys), keys


@pytest.mark.parametrize("threads", [1, 4])
def test_positions_are_a_mask(folder: Path, threads: int) -> None:
    """Changes that come to positions alone take rows out, over all row groups."""
    gone = [0, 5, *range(90, 180), 999]
    scan = UnitScan(
        plan(_BASE.schema, _unit(folder, RowsByPosition(gone))),
        ["v"],
        None,
        ScanOptions(batch_rows=50, threads=threads),
    )
    assert scan.to_table()["v"].to_pylist() == [i for i in range(_ROWS) if i not in set(gone)]
    wrong = UnitScan(plan(_BASE.schema, _unit(folder, RowsByPosition([1000]))), ["v"])
    with pytest.raises(InputError, match="row 1000"):
        wrong.to_table()


def test_a_unit_without_a_file_has_the_rows_of_its_events(folder: Path) -> None:
    """Nothing is met; what is deleted was nowhere."""
    del folder
    unit = ReadUnit("no file", [], changes=KeyedRows(_changed(CHANGED), GONE))
    found = UnitScan(plan(_BASE.schema, unit), ["v"], pc.field("id") > 400).to_table()
    assert found["v"].to_pylist() == [-499, -700, -801]


@pytest.mark.parametrize("threads", [1, 4])
def test_an_error_of_events_ends_the_scan(folder: Path, threads: int) -> None:
    """It comes out as it is, and nobody waits for a turn."""
    changes = KeyedRows(_changed([]), [], error=InputError("events.log: damaged at byte 9"))
    options = ScanOptions(batch_rows=20, threads=threads)
    scan = UnitScan(plan(_BASE.schema, _unit(folder, changes)), ["v"], None, options)
    with pytest.raises(InputError, match="byte 9"):
        scan.to_table()


def test_changes_go_with_one_file(folder: Path) -> None:
    """A plan with more is a fault of the format, told at once."""
    file = DataFile("x", 1, lambda: open_file(str(folder), "x"))
    with pytest.raises(ValueError, match="one file"):
        ReadUnit("two", [file, file], changes=KeyedRows(_changed([]), []))


def test_another_way_to_read_units_is_tested_and_cut_alike(folder: Path) -> None:
    """A scan read by a function filters what the function gives, and calls its path by name."""

    def read(unit: ReadUnit, schema: pa.Schema, rows: int, context: ReadContext) -> Any:
        del unit, rows, context
        yield pa.RecordBatch.from_pydict({"id": [1, 2, 3], "v": [4, 5, 6]}).select(schema.names)

    planned = UnitScan(plan(_BASE.schema, _unit(folder, None)), ["v"], pc.field("id") > 1)
    scan = planned.read_by("by hand", read)
    assert scan.to_table().to_pydict() == {"v": [5, 6]}
    assert scan.report().paths == {"by hand": 1}
    assert planned.report().paths == {"native": 1}


_CONDITIONS = [
    pc.field("v") < 0,
    pc.field("v") >= 990,
    pc.field("v") == 77,
    pc.field("v") > 10_000,
    pc.field("id") == 7,
    (pc.field("id") < 20) & (pc.field("s") != "s3"),
    pc.field("s").isin(["new7", "s900"]),
    pc.field("s").is_null(),
    ~(pc.field("part") == "a"),
    (pc.field("part") == "a") & (pc.field("v") < 3),
]


@pytest.mark.parametrize(
    ("columns", "every"),
    [(["id", "v", "s", "part"], False), (["s"], True), (["part"], False), (["v", "s"], True)],
)
def test_conditions_leave_the_rows_that_meet_them_and_no_other(
    tmp_path: Path, columns: list[str], every: bool
) -> None:
    """On a first read, and on later ones that know which rows of the file events replace."""
    changes = KeyedRows(_changed([7, 250, 999]), [8, 9, 400], every)
    unit = replace(
        write_unit(tmp_path, "base", _BASE, group_rows=100, partition={"part": pa.scalar("a")}),
        changes=changes,
    )
    schema = pa.schema([*_BASE.schema, ("part", pa.string())])
    scan = UnitScan(plan(schema, unit), schema.names, None, ScanOptions(150, threads=1))
    rows = [(*row, "a") for row in _expected([7, 250, 999], [8, 9, 400], every=every)]
    whole = pa.table(
        dict(zip(schema.names, map(list, zip(*rows, strict=True)), strict=True)), schema
    )
    dataset = scan.dataset()
    for condition in [*_CONDITIONS, *_CONDITIONS]:
        expected = whole.filter(condition).select(columns)
        fresh = UnitScan(plan(schema, unit), columns, condition, ScanOptions(150, threads=1))
        kept = dataset.to_table(columns=columns, filter=condition)
        assert _in_order(kept) == _in_order(fresh.to_table()) == _in_order(expected)


def _in_order(rows: pa.Table) -> list[str]:
    """Rows of the file come before those of the events, where a condition chooses them."""
    return sorted(map(str, rows.to_pylist()))


def test_a_condition_that_fails_on_a_replaced_value_does_not_fail(tmp_path: Path) -> None:
    """It is no value of the table, neither in the file nor of an event that another replaces."""
    base = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "v": pa.array([0, 5, 6], pa.int64())})
    rows = pa.RecordBatch.from_pydict({"id": [1, 1], "v": [0, 2]})
    unit = replace(write_unit(tmp_path, "base", base), changes=KeyedRows(rows, []))
    condition = pc.scalar(10) / pc.field("v") >= 2
    read = UnitScan(plan(base.schema, unit), ["id"], condition).to_table()
    assert sorted(read["id"].to_pylist()) == [1, 2]


def test_matches_are_found_once_for_all_reads_of_a_dataset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second query reads no keys; what it is not asked for it does not open."""
    unit = replace(
        write_unit(tmp_path, "base", _BASE, group_rows=100), changes=KeyedRows(_changed([7]), [8])
    )
    dataset = UnitScan(plan(_BASE.schema, unit), _BASE.schema.names).dataset()
    met = calls_of(monkeypatch, FoldedEvents, "meet")
    for _ in range(3):
        assert dataset.to_table(columns=["v"]).num_rows == _ROWS - 1
        assert dataset.to_table(columns=["s"], filter=pc.field("v") == -7).num_rows == 1

    assert sum(call.args[1].num_rows for call in met) == _ROWS
