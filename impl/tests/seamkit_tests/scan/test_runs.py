"""Sorted runs of every type of key, cut in every way, against a merge in plain Python."""

import datetime as dt
import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, cast

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from seambase.errors import InputError, RefusedError
from seamkit.files.parquet import ParquetReader
from seamkit.files.reader import FileReader, RowsWanted
from seamkit.files.statistics import ColumnRange, FileStatistics
from seamkit.files.storage import Storage
from seamkit.scan.arguments import ScanOptions
from seamkit.scan.pruning import units_that_may_match
from seamkit.scan.runs_path import key_ranges
from seamkit.scan.unit_scan import UnitScan
from seamkit.scan.units import Combine, DataFile, Mask, ReadPlan, ReadUnit, Runs
from seamkit_tests.scan.units import open_file, positions

SYSTEM = pa.schema([("_seq", pa.int64()), ("_kind", pa.int8())])
RETRACTS = (1, 3)

KEYS: dict[str, tuple[pa.DataType, Callable[[int], Any]]] = {
    "int": (pa.int32(), lambda i: i - 20),
    "bigint": (pa.int64(), lambda i: (i - 20) << 40),
    "smallint": (pa.int16(), lambda i: i - 20),
    "tinyint": (pa.int8(), lambda i: i - 20),
    "text": (pa.string(), lambda i: ["", "a", "ab", "ä", "\0", "a\0b", "z"][i % 7] * (1 + i // 7)),
    "binary": (pa.binary(), lambda i: bytes([i * 6, 0, 255])[: 1 + i % 3] + bytes([i])),
    "date": (pa.date32(), lambda i: dt.date(1970, 1, 20) - dt.timedelta(days=i)),
    "double": (pa.float64(), lambda i: (i - 20) / 3),
    "decimal": (pa.decimal128(38, 2), lambda i: Decimal((i - 20) * 10**30).scaleb(-2)),
}


class _Reader(FileReader):
    """A file in memory."""

    def __init__(self, rows: pa.Table) -> None:
        self.name = "file"
        self.num_rows = rows.num_rows
        self.schema = rows.schema
        self._rows = rows

    def read(self, wanted: RowsWanted) -> Iterator[pa.RecordBatch]:
        """Its rows; the buffers are shared, so the first batch is a copy that may be changed."""
        names = wanted.schema.names
        own = pa.table([pa.concat_arrays([*c.chunks]) for c in self._rows.select(names)], names)
        yield from own.cast(wanted.schema).to_batches(max_chunksize=wanted.batch_rows)


def _open(rows: pa.Table) -> FileReader:
    return _Reader(rows)


def _table(rows: Sequence[tuple[Any, ...]], kind: pa.DataType) -> pa.Table:
    names = ["k", "g", "s", "v", "_seq", "_kind"]
    types = [kind, pa.int32(), pa.int32(), pa.string(), pa.int64(), pa.int8()]
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    return pa.table([pa.array(c, t) for c, t in zip(columns, types, strict=True)], names)


def _runs(chance: random.Random, name: str, n_runs: int) -> list[list[tuple[Any, ...]]]:
    """Runs of rows: two columns of the key, a sequence field, a value, number and kind."""
    make = KEYS[name][1]
    number = 0
    runs = []
    for run in range(n_runs):
        keys = {
            (make(chance.randrange(40)), chance.randrange(2)) for _ in range(chance.randrange(30))
        }
        rows = []
        for key in sorted(keys, key=_order):
            number += 1
            seq = chance.choice([None, 1, 2, 3])
            kind = chance.choice([0, 0, 0, 2, 3, 1])
            rows.append((*key, seq, f"{run}-{number}", number, kind))
        runs.append(rows)
    return runs


def _order(key: Sequence[Any]) -> tuple[Any, ...]:
    first = key[0].encode() if isinstance(key[0], str) else key[0]
    return first, key[1]


def _expected(
    runs: Sequence[Sequence[tuple[Any, ...]]], by_field: bool, descending: bool, ignores: bool
) -> list[tuple[Any, ...]]:
    """The last row of each key, unless it is a retract."""
    groups: dict[Any, list[tuple[Any, ...]]] = {}
    for rows in runs:
        for row in rows:
            if not (ignores and row[5] in RETRACTS):
                groups.setdefault((row[0], row[1]), []).append(row)
    found = []
    for rows in groups.values():

        def late(row: tuple[Any, ...]) -> tuple[Any, ...]:
            seq = row[2] if row[2] is None or not descending else -row[2]
            return ((seq is not None, seq or 0) if by_field else (), row[4])

        last = max(rows, key=late)
        if last[5] not in RETRACTS:
            found.append(last[:4])
    return found


def _scan(runs: Sequence[Sequence[tuple[Any, ...]]], kind: pa.DataType, **how: Any) -> UnitScan:
    batch_rows = how.pop("batch_rows", None)
    files = [
        [DataFile(f"{i}", len(rows), partial(_open, _table(rows, kind)))]
        for i, rows in enumerate(runs)
    ]
    changes = Runs(runs=files, keys=["k", "g"], kinds="_kind", system=SYSTEM, **how)
    unit = ReadUnit("unit", [file for run in files for file in run], changes=changes)
    schema = pa.schema([("k", kind), ("g", pa.int32()), ("s", pa.int32()), ("v", pa.string())])
    return UnitScan(
        ReadPlan("table", schema, [unit]), schema.names, None, ScanOptions(batch_rows, 1, None)
    )


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


@pytest.mark.parametrize("batch_rows", [1, 3, 1000])
@pytest.mark.parametrize("name", KEYS)
def test_the_last_row_of_a_key_is_left(name: str, batch_rows: int) -> None:
    """By the order of runs, by numbers, by a field of either direction; retracts counted or not."""
    chance = random.Random(f"{name} {batch_rows}")
    orders: list[tuple[list[str], int]] = [
        ([], 0),
        (["_seq"], 0),
        (["s", "_seq"], 0),
        (["s", "_seq"], 1),
    ]
    ways = [*itertools.product(orders, (False, True))]
    for n_runs in (1, 2, 3, 7):
        runs = _runs(chance, name, n_runs)
        for (order, descending), ignores in chance.sample(ways, 3):
            how: dict[str, Any] = {"order": order, "descending": descending}
            how |= {"ignores_retracts": ignores, "batch_rows": batch_rows}
            found = _rows(_scan(runs, KEYS[name][0], **how).to_table())
            expected = _expected(runs, "s" in order, bool(descending), ignores)
            assert sorted(found, key=_order) == sorted(expected, key=_order)


def test_the_first_row_of_a_key_is_left() -> None:
    """Whatever came later, unless it takes something back, which is refused."""
    kind = pa.int32()
    runs = [[(1, 0, 0, "a", 1, 0), (2, 0, 0, "b", 2, 0)], [(1, 0, 0, "later", 3, 0)]]
    assert sorted(_rows(_scan(runs, kind, rule="first").to_table())) == [
        (1, 0, 0, "a"),
        (2, 0, 0, "b"),
    ]
    retracted = [*runs, [(2, 0, 0, "b", 4, 3)]]
    with pytest.raises(RefusedError, match="retract"):
        _scan(retracted, kind, rule="first").to_table()
    assert len(_rows(_scan(retracted, kind, rule="first", ignores_retracts=True).to_table())) == 2


@pytest.mark.parametrize(
    "rows",
    [
        [(2, 0, 0, "a", 1, 0), (1, 0, 0, "b", 2, 0)],
        [(1, 0, 0, "a", 1, 0), (1, 0, 0, "b", 2, 0)],
        [(1, 1, 0, "a", 1, 0), (1, 0, 0, "b", 2, 0)],
        [(1, 0, 0, "a", 1, 0), (None, 0, 0, "b", 2, 0)],
    ],
)
@pytest.mark.parametrize("batch_rows", [1, 10])
def test_runs_that_do_not_ascend_are_refused(
    rows: Sequence[tuple[Any, ...]], batch_rows: int
) -> None:
    """Within a batch and from batch to batch, and a key has no null."""
    other = [(5, 0, 0, "x", 3, 0)]
    with pytest.raises(InputError, match=r"unit: .*(not above|null)"):
        _scan([rows, other], pa.int32(), batch_rows=batch_rows).to_table()


def test_an_unknown_kind_is_refused() -> None:
    """A row whose kind is none of the four says nothing."""
    with pytest.raises(InputError, match="the unknown kind 7"):
        _scan([[(1, 0, 0, "a", 1, 7)], [(1, 0, 0, "a", 1, 0)]], pa.int32()).to_table()


def test_filters_meet_merged_rows() -> None:
    """A value that was overwritten is not found."""
    runs = [[(1, 0, 0, "old", 1, 0), (2, 0, 0, "kept", 2, 0)], [(1, 0, 0, "new", 3, 0)]]
    scan = _scan(runs, pa.int32())
    dataset = scan.dataset()
    assert dataset.to_table(filter=pc.field("v") == "old").num_rows == 0
    assert dataset.to_table(filter=pc.field("v") == "kept").num_rows == 1
    assert dataset.to_table(columns=["g"], filter=pc.field("k") == 1).num_rows == 1


def _in_files(folder: Path, runs: Sequence[Sequence[tuple[Any, ...]]], kind: pa.DataType) -> Runs:
    """Runs in Parquet files of a few small row groups, two files a run."""
    files = []
    for i, rows in enumerate(runs):
        half = len(rows) // 2
        own = []
        for j, part in enumerate((rows[:half], rows[half:])):
            name = f"{i}-{j}.parquet"
            pq.write_table(_table(part, kind), folder / name, row_group_size=5)
            size = (folder / name).stat().st_size
            own.append(DataFile(name, size, partial(open_file, str(folder), name)))
        files.append(own)
    return Runs(runs=files, keys=["k", "g"], order=["_seq"], kinds="_kind", system=SYSTEM)


def _scan_of(changes: Runs, kind: pa.DataType, threads: int) -> UnitScan:
    unit = ReadUnit("unit", [file for run in changes.runs for file in run], changes=changes)
    schema = pa.schema([("k", kind), ("g", pa.int32()), ("s", pa.int32()), ("v", pa.string())])
    return UnitScan(
        ReadPlan("table", schema, [unit]), schema.names, None, ScanOptions(7, threads, None)
    )


@pytest.mark.parametrize("name", KEYS)
def test_ranges_of_keys_are_the_whole_unit(name: str, tmp_path: Path) -> None:
    """However many threads there are; a range begins behind those before it."""
    kind = KEYS[name][0]
    runs = _runs(random.Random(name), name, 4)
    changes = _in_files(tmp_path, runs, kind)
    half = len(runs[1]) // 2
    gone = list(range(half, len(runs[1]), 2))
    masked = replace(
        changes, masks={"1-1.parquet": Mask(partial(positions, range(0, 99, 2)[: len(gone)]))}
    )
    left = [row for i, row in enumerate(runs[1]) if i not in gone]
    for own, rows, shares in (
        (changes, runs, (1, 2, 5)),
        (masked, [runs[0], left, *runs[2:]], (3,)),
    ):
        expected = sorted(_expected(rows, False, False, False), key=_order)
        for threads in shares:
            found = _scan_of(own, kind, threads).to_table()
            assert sorted(_rows(found), key=_order) == expected
            ranges = key_ranges(own, found.schema, threads)
            assert (len(ranges) > 1) == (threads > 1 and name != "double")
            starts = [_order((r.least.as_py(), 0)) for r in ranges if r.least is not None]
            assert starts == sorted(set(starts))


@pytest.mark.parametrize("name", ["bigint", "text", "decimal"])
def test_an_engine_reads_the_files_of_runs_itself(name: str, tmp_path: Path) -> None:
    """Under masks of the rows that are left; whichever rule says so, and whatever vectors hide."""
    kind, chance = KEYS[name][0], random.Random(f"engine {name}")
    ways = [*itertools.product(([], ["_seq"], ["s", "_seq"]), (0, 1), (False, True), (False, True))]
    for n_runs in (1, 2, 5):
        runs = _runs(chance, name, n_runs)
        folder = tmp_path / f"{n_runs}"
        folder.mkdir()
        plain = _in_files(folder, runs, kind)
        half = len(runs[0]) // 2
        hidden = sorted(chance.sample(range(half), half // 3))
        masks = {"0-0.parquet": Mask(partial(positions, hidden))}
        left = [[row for i, row in enumerate(runs[0]) if i not in hidden], *runs[1:]]
        for order, descending, ignores, hides in chance.sample(ways, 3):
            down = descending if len(order) == 2 else 0
            changes = replace(plain, order=order, descending=down, ignores_retracts=ignores)
            changes = replace(changes, masks=masks if hides else {})
            expected = _expected(left if hides else runs, "s" in order, bool(down), ignores)
            assert _by_engine(_scan_of(changes, kind, 2)) == Counter(expected)
        first = {row[:2]: row for run in reversed(runs) for row in run if row[5] not in RETRACTS}
        changes = replace(plain, order=[], rule="first", ignores_retracts=True)
        expected = [row[:4] for row in first.values()]
        assert _by_engine(_scan_of(changes, kind, 2)) == Counter(expected)


def _by_engine(scan: UnitScan) -> Counter[tuple[Any, ...]]:
    """The rows that DuckDB reads, none of them by way of our reader."""
    assert scan.engine_plan(masks=True).rest is None
    return Counter(_rows(scan.relation(duckdb.connect()).to_arrow_table()))


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([(2, 0, 0, "a", 1, 0), (1, 0, 0, "b", 2, 0)], "not above"),
        ([(1, 0, 0, "a", 1, 0), (None, 0, 0, "b", 2, 0)], "null"),
        ([(1, 0, 0, "a", 1, 7), (2, 0, 0, "b", 2, 0)], "the unknown kind 7"),
    ],
)
def test_an_engine_is_refused_what_is_refused_elsewhere(
    rows: Sequence[tuple[Any, ...]], why: str, tmp_path: Path
) -> None:
    """No mask comes of runs that cannot be merged, so no row does."""
    changes = _in_files(tmp_path, [rows, [(5, 0, 0, "x", 3, 0)]], pa.int32())
    with pytest.raises(duckdb.Error, match=why):
        _scan_of(changes, pa.int32(), 1).relation(duckdb.connect()).fetchall()


def test_statistics_that_lie_lose_no_row(tmp_path: Path) -> None:
    """Rows that no range finds are an error, not fewer rows."""
    kind = pa.int32()
    rows = [[(i, 0, 0, "", i, 0) for i in range(100)], [(i, 0, 0, "", 200, 0) for i in range(9)]]
    changes = _in_files(tmp_path, rows, kind)

    class _Lying(ParquetReader):
        def row_groups_that_may_match(self, *args: Any, **how: Any) -> list[int]:
            return super().row_groups_that_may_match(*args, **how)[1:]

    def opened(name: str) -> FileReader:
        return _Lying(Storage(str(tmp_path)), name)

    files = [
        [DataFile(f.name, f.size_bytes, partial(opened, f.name)) for f in run]
        for run in changes.runs
    ]
    assert _scan_of(changes, kind, 2).to_table().num_rows == 100
    with pytest.raises(InputError, match=r"unit: row groups have .* of 109 rows"):
        _scan_of(replace(changes, runs=files), kind, 2).to_table()


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_merges_at_once_share_the_rows_of_a_batch(threads: int, tmp_path: Path) -> None:
    """The batches of all runs, of all threads together, have no more rows than one batch may."""
    kind, whole, sizes = pa.int32(), 200_000, set[int]()

    class _Watched(ParquetReader):
        def batches(self, schema: pa.Schema, batch_rows: int, **how: Any) -> Iterator[Any]:
            sizes.add(batch_rows)
            return super().batches(schema, batch_rows, **how)

    def opened(name: str) -> FileReader:
        return _Watched(Storage(str(tmp_path)), name)

    runs = [[(i, 0, 0, "", i, 0) for i in range(40)], [(i, 0, 0, "", 50, 0) for i in range(40)]]
    changes = _in_files(tmp_path, runs, kind)
    files = [
        [DataFile(f.name, f.size_bytes, partial(opened, f.name)) for f in run]
        for run in changes.runs
    ]
    scan = _scan_of(replace(changes, runs=files), kind, threads)
    options = ScanOptions(whole, threads, None)
    assert UnitScan(scan.plan, scan.schema.names, None, options).to_table().num_rows == 40
    assert len(key_ranges(changes, scan.plan.schema, threads)) == (threads if threads > 1 else 0)
    waiting = 2 if threads > 1 else 1  # as many wait to be fetched
    assert 0 < max(sizes) * len(runs) * threads * waiting <= whole


def _of_values(least: str | None, greatest: str | None, rows: int = 2) -> DataFile:
    """A file whose metadata tell that its keys are 1 to 9, and values between two, or all null."""
    low, high = (None if value is None else pa.scalar(value) for value in (least, greatest))
    key = ColumnRange(0, pa.scalar(1, pa.int32()), pa.scalar(9, pa.int32()))
    nulls = rows if low is None else 0
    own = FileStatistics(rows, {"k": key, "v": ColumnRange(nulls, low, high)})
    return DataFile("file", 1, partial(_open, _table([], pa.int32())), rows, lambda _: own)


_OLD, _NEW, _VOID = _of_values("a", "c"), _of_values("x", "z"), _of_values(None, None)
_TOLD_NOTHING = replace(_OLD, statistics=None)
_KEY, _VALUE = pc.field("k"), pc.field("v")


@pytest.mark.parametrize(
    ("files", "rule", "condition", "is_left"),
    [
        ([_OLD, _NEW], "last", _VALUE == "y", True),
        ([_NEW, _OLD], "last", _VALUE == "b", True),
        ([_OLD, _NEW], "first", _VALUE == "b", True),
        ([_OLD, _NEW], "last", _VALUE == "zz", False),
        ([_OLD, _NEW], "first", _VALUE < "a", False),
        ([_OLD, _NEW], "last", _VALUE.is_null(), False),
        ([_OLD, _VOID], "last", _VALUE.is_null(), True),
        ([_OLD, _VOID], "last", _VALUE == "b", True),
        ([_OLD, _VOID], "last", _VALUE == "y", False),
        ([_VOID, _VOID], "last", _VALUE.is_valid(), False),
        ([_OLD, _TOLD_NOTHING], "last", _VALUE == "zz", True),
        ([_OLD, _NEW], cast("Combine", None), _VALUE == "zz", True),
        ([_OLD, _NEW], cast("Combine", None), _KEY > 9, False),
        ([_OLD, _NEW], "last", _KEY > 9, False),
        ([_OLD, _NEW], "last", (_KEY == 3) & (_VALUE == "zz"), False),
    ],
)
def test_runs_without_a_value_that_is_asked_for_are_not_read(
    files: list[DataFile], rule: Any, condition: pc.Expression, is_left: bool
) -> None:
    """Of all files together; where one row is made of several, by keys alone."""
    changes = Runs(runs=[[one] for one in files], keys=["k", "g"], rule=rule)
    unit = ReadUnit("unit", files, changes=changes)
    schema = pa.schema([("k", pa.int32()), ("g", pa.int32()), ("v", pa.string())])
    assert units_that_may_match([unit], condition, schema) == [is_left]
