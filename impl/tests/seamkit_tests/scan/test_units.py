"""The contract between formats and scans, by a format of Parquet files with masks."""

import pickle
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seambase.errors import InputError
from seamkit.files.parquet import ParquetReader
from seamkit.files.statistics import FileStatistics
from seamkit.scan.arguments import ScanOptions
from seamkit.scan.unit_scan import UnitScan
from seamkit.scan.units import DataFile, Mask, ReadUnit, UnitsInTime
from seamkit_tests.samples.calls import calls_of
from seamkit_tests.scan.units import known_of, open_file, plan, positions, write_unit

_ROWS = 1000
_TABLE = pa.table(
    {
        "id": pa.array(range(_ROWS), pa.int64()),
        "odd": pa.array([i % 2 == 1 if i % 7 else None for i in range(_ROWS)]),
        "word": pa.array([f"w{i % 5}" if i % 11 else None for i in range(_ROWS)]),
        "text": pa.array([f"text {i}" for i in range(_ROWS)]),
        "list": pa.array([[i, None] for i in range(_ROWS)], pa.list_(pa.int64())),
        "day": pa.array([f"d{i // 500}" for i in range(_ROWS)]),
    }
)
_CONDITIONS: list[pc.Expression | None] = [
    None,
    pc.field("id") < 5,
    pc.field("id") >= 850,
    pc.field("odd"),
    (pc.field("word") == "w3") & (pc.field("id") > 333),
    (pc.field("day") == "d1") & (pc.field("id") < 700),
    pc.field("id") < 0,
    pc.scalar(True),
]


def expected(
    rows: pa.Table, gone: Sequence[int], condition: pc.Expression | None, columns: list[str]
) -> pa.Table:
    """The rows that are left, by pyarrow in memory."""
    kept = np.ones(rows.num_rows, dtype=np.bool_)
    kept[list(gone)] = False
    left = rows.filter(pa.array(kept))
    return (left if condition is None else left.filter(condition)).select(columns)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the files lie."""
    return tmp_path_factory.mktemp("units")


@settings(deadline=None, max_examples=25)
@given(
    columns=st.lists(st.sampled_from(_TABLE.column_names), unique=True),
    condition=st.sampled_from(_CONDITIONS),
    gone=st.one_of(
        st.just(range(200, 300)),
        st.just(range(_ROWS)),
        st.just(range(0, _ROWS, 5)),
        st.sets(st.integers(0, _ROWS - 1), max_size=30).map(sorted),
    ),
    batch_rows=st.sampled_from([3, 64, 5000]),
    threads=st.sampled_from([1, 3]),
)
def test_a_mask_leaves_the_rows_that_it_does_not_name(
    folder: Path,
    columns: list[str],
    condition: pc.Expression | None,
    gone: Sequence[int],
    batch_rows: int,
    threads: int,
) -> None:
    """Rows, order and columns are those of the whole table, cut and filtered in memory."""
    # Two files, one of which has what is gone; the day is known of each and not in the file.
    units = [
        write_unit(
            folder,
            name,
            _TABLE.slice(begin, 500).drop_columns(["day"]),
            [i - begin for i in gone if begin <= i < begin + 500],
            partition={"day": pa.scalar(f"d{begin // 500}")},
        )
        for name, begin in (("a", 0), ("b", 500))
    ]
    options = ScanOptions(batch_rows=batch_rows, threads=threads)
    scan = UnitScan(plan(_TABLE.schema, *units), columns, condition, options)
    found = scan.to_table()
    whole = expected(_TABLE, gone, condition, columns)
    assert found.equals(whole) if columns else found.num_rows == whole.num_rows
    assert scan.report().rows == found.num_rows
    assert all(0 < batch.num_rows <= batch_rows for batch in scan.to_reader())
    found.validate(full=True)


@pytest.mark.parametrize(
    ("condition", "groups"),
    [
        (None, [0, 1, 3, 4, 5, 6, 7, 8, 9]),
        (pc.field("id") >= 850, [8, 9]),
        ((pc.field("id") >= 150) & (pc.field("id") < 310), [1, 3]),
    ],
)
def test_positions_count_over_row_groups_that_are_not_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch, condition: pc.Expression | None, groups: object
) -> None:
    """Groups that statistics or the mask rule out are left out, and the others' rows are right."""
    gone = [5, *range(200, 300), 301, 899, 999]
    read = calls_of(monkeypatch, ParquetReader, "batches")
    unit = write_unit(folder, "groups", _TABLE, gone)

    found = UnitScan(plan(_TABLE.schema, unit), ["id", "text"], condition).to_table()

    assert found.equals(expected(_TABLE, gone, condition, ["id", "text"]))
    assert sorted({group for call in read for group in call.named["row_groups"]}) == groups


def test_keys_alone_rule_row_groups_out_below_a_merge(folder: Path) -> None:
    """Statistics of columns that logs may change leave every group; those of keys do not."""
    write_unit(folder, "keys", _TABLE)
    reader, every = open_file(str(folder), "keys"), list(range(10))
    schema = _TABLE.select(["id", "word"]).schema
    condition = (pc.field("id") == 333) & (pc.field("word") == "no such word")
    assert reader.row_groups_that_may_match(condition, schema, {"id"}) == [3]
    assert reader.row_groups_that_may_match(condition, schema, {"text"}) == every
    either = (pc.field("id") == 333) | (pc.field("word") == "no such word")
    assert reader.row_groups_that_may_match(either, schema, {"id"}) == every
    other = pa.schema([pa.field("id", pa.int32()), schema.field("word")])
    assert reader.row_groups_that_may_match(condition, other, {"id"}) == every


def test_other_columns_are_read_only_where_rows_are_left(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a group that statistics leave and the filter empties, the filter's columns are enough."""
    watched = calls_of(monkeypatch, ParquetReader, "batches")
    begins = pc.match_substring(pc.field("text"), "text 9")
    condition = (pc.field("id") < 150) & (pc.field("word") == "w3") & begins
    unit = write_unit(folder, "late", _TABLE)
    scan = UnitScan(plan(_TABLE.schema, unit), ["text", "list"], condition, ScanOptions(threads=1))

    assert scan.to_table().num_rows == _TABLE.filter(condition).num_rows > 0
    read = [(call.args[1].names, list(call.named["row_groups"])) for call in watched]
    groups = {group for names, groups in read if "id" in names for group in groups}
    assert groups == {0, 1}
    assert [groups for names, groups in read if names == ["list"]] == [[0]]


def test_units_are_left_out_by_what_is_known_of_them(folder: Path) -> None:
    """Values of partitions and guarantees rule units out before a file is opened."""
    within = (pc.field("id") >= 0) & (pc.field("id") < _ROWS)
    one = write_unit(folder, "one", _TABLE, guarantee=within)
    unreadable = DataFile("nowhere", 1, lambda: open_file(str(folder), "nowhere"))
    far = ReadUnit("far", [unreadable], guarantee=partial(known_of, pc.field("id") >= _ROWS))
    other = ReadUnit("other", [unreadable], {"day": pa.scalar("d9")})
    null = ReadUnit("null", [unreadable], {"day": pa.scalar(None, pa.string())})
    condition = (pc.field("id") == 7) & (pc.field("day") == "d0")
    scan = UnitScan(plan(_TABLE.schema, one, far, other, null), ["id"], condition)
    assert scan.to_table().to_pydict() == {"id": [7]}
    lines = scan.explain().splitlines()
    assert [line.split()[0] for line in lines[1:5]] == ["native", "pruned", "pruned", "pruned"]
    assert lines[5:] == ["  unread     files: 1 by what is known of its columns"]


def test_statistics_are_asked_of_what_partitions_leave_alone(folder: Path) -> None:
    """Those of a file out of the partition are not read, nor any of a column with one value."""
    asked: list[tuple[str, set[str]]] = []

    def known(day: str, names: Collection[str]) -> FileStatistics:
        asked.append((day, {*names}))
        return FileStatistics()

    units = []
    for day in ("d0", "d1"):
        unit = write_unit(folder, f"asked {day}", _TABLE.drop_columns(["day"]))
        [file] = unit.files
        files = [DataFile(file.name, 1, file.open, statistics=partial(known, day))]
        units.append(replace(unit, files=files, partition={"day": pa.scalar(day)}))
    of_day = pc.field("day") == "d1"

    for condition, left in ((of_day, _ROWS), (of_day & (pc.field("id") < 10), 10)):
        scan = UnitScan(plan(_TABLE.schema, *units), ["id"], condition)
        assert scan.to_table()["id"].to_pylist() == list(range(left))

    assert asked == [("d1", {"id"})]


def test_units_in_time_are_made_once_and_few_where_few_are_asked_for() -> None:
    """By number, by slice or in order, it is the same unit; who stops early has not made all."""
    made: list[int] = []

    def make(number: int) -> ReadUnit:
        made.append(number)
        return ReadUnit(str(number), [])

    units = UnitsInTime(1000, partial(map, make), lambda: list(range(1000)))

    scan = UnitScan(replace(plan(_TABLE.schema), units=units), ["id"])
    assert scan.part_bytes() == [1, *range(1, 1000)]
    assert not made
    assert next(iter(units)).name == "0"
    assert len(made) < 100
    assert [unit.name for unit in units] == [str(number) for number in range(1000)]
    assert units[-1] is units[999:][0] is list(units)[-1]
    assert sorted(made) == list(range(1000))


def test_parts_give_every_row_once(folder: Path) -> None:
    """Parts survive pickling, take further conditions, and report for themselves."""
    units = [write_unit(folder, f"p{i}", _TABLE.slice(250 * i, 250), [0, 9]) for i in range(4)]
    scan = UnitScan(plan(_TABLE.schema, *units), ["id", "text"], pc.field("id") > 10)
    again = pickle.loads(pickle.dumps(scan))  # noqa: S301 - its own bytes
    parts = [again.part(i, ["id"], pc.field("odd")) for i in range(again.n_parts)]
    ids = [value for part in parts for value in part.to_table()["id"].to_pylist()]
    condition = (pc.field("id") > 10) & pc.field("odd")
    gone = [250 * i + at for i in range(4) for at in (0, 9)]
    assert ids == expected(_TABLE, gone, condition, ["id"])["id"].to_pylist()
    assert sum(part.report().rows for part in parts) == len(ids)


@pytest.mark.parametrize("number", [2**31 - 1, -(2**31), 0, None])
@pytest.mark.parametrize(
    "kind",
    [pa.date32(), *(pa.timestamp(unit, zone) for unit in ("us", "s") for zone in (None, "UTC"))],
    ids=str,
)
def test_days_and_times_that_python_has_not_survive_pickling(
    kind: pa.DataType, number: int | None, folder: Path
) -> None:
    """A unit's value of a partition, as Arrow counts it."""
    own = pa.int32() if pa.types.is_date(kind) else pa.int64()
    far = 1 if pa.types.is_date(kind) else {"us": 10**9, "s": 10**3}[kind.unit]
    value = pa.scalar(number and number * far, own).cast(kind)
    unit = replace(write_unit(folder, "far", _TABLE), partition={"day": value})
    scan = UnitScan(plan(_TABLE.schema, unit), ["id"])
    [again] = pickle.loads(pickle.dumps(scan)).plan.units  # noqa: S301 - its own bytes
    assert again.partition["day"].equals(value)


@pytest.mark.parametrize(
    ("gone", "words"),
    [([3, 1000], "row 1000"), ([-1, 3], "row -1"), ([3, 3], "not in order"), ([4, 3], "in order")],
)
def test_a_mask_of_another_file_is_an_error(folder: Path, gone: list[int], words: str) -> None:
    """Positions outside the file, or not ascending, are refused, with the file's name."""
    unit = write_unit(folder, "wrong", _TABLE, gone)
    with pytest.raises(InputError, match=f"wrong.*{words}"):
        UnitScan(plan(_TABLE.schema, unit), ["id"]).to_table()


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_of_a_mask_or_a_file_ends_the_scan(folder: Path, threads: int) -> None:
    """What a loader or an opener raises comes out of the scan as it is."""
    good = write_unit(folder, "good", _TABLE)

    def broken() -> object:
        raise InputError("mask.bin: damaged at byte 7")

    bad = replace(good, changes=Mask(broken))  # type: ignore[arg-type]
    options = ScanOptions(threads=threads)
    with pytest.raises(InputError, match="byte 7"):
        UnitScan(plan(_TABLE.schema, good, bad), ["id"], None, options).to_table()
    gone = replace(good, files=[DataFile("x", 1, lambda: open_file(str(folder), "x"))])
    with pytest.raises(InputError, match="x"):
        UnitScan(plan(_TABLE.schema, good, gone), ["id"], None, options).to_table()


def test_a_mask_is_loaded_once_a_read(folder: Path) -> None:
    """However many tasks read the file."""
    loads: list[int] = []

    def load() -> object:
        loads.append(1)
        return positions([5])

    unit = replace(write_unit(folder, "once", _TABLE), changes=Mask(load))  # type: ignore[arg-type]
    scan = UnitScan(plan(_TABLE.schema, unit), ["id"], None, ScanOptions(threads=4))

    assert scan.to_table().num_rows == _ROWS - 1
    assert len(loads) == 1
