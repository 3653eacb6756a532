"""What is ruled out by statistics holds no row of the answer."""

import random
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import seamkit
from seamkit.files.parquet import ParquetReader
from seamkit.files.statistics import bounds, that_may_match
from seamkit.files.storage import Storage

_X = pc.field("x")
_SCHEMA = pa.schema([("x", pa.int64())])


def test_what_cannot_match_is_ruled_out_and_what_nothing_is_known_of_is_not() -> None:
    """A range outside of the condition goes; what has no guarantee stays."""
    low, high = (_X >= 0) & (_X <= 9), (_X >= 10) & (_X <= 19)
    assert that_may_match([low, high, None], _X > 9, _SCHEMA) == [1, 2]


@pytest.mark.parametrize("condition", [_X > 34.5, _X == 34.5, _X < 1e20], ids=str)
def test_bounds_that_the_condition_cannot_hold_rule_nothing_out(condition: pc.Expression) -> None:
    """Arrow compares no 2**53 + 1 with a fraction: rows decide, statistics do not fail."""
    large = (_X >= 1) & (_X <= 2**53 + 1)
    assert that_may_match([large, None], condition, _SCHEMA) == [0, 1]


def _guarantee(values: Sequence[int | None]) -> pc.Expression:
    valid = [value for value in values if value is not None]
    ends = (pa.scalar(end, pa.int64()) for end in (min(valid), max(valid)))
    lower, upper = bounds("x", *ends, nullable=len(valid) < len(values))
    return lower & upper


@pytest.mark.parametrize("values", [[1, 5], [1, 5, None]])
@pytest.mark.parametrize(
    ("condition", "may_match"),
    [
        (_X > 5, False),
        (_X < 1, False),
        (_X == 6, False),
        (_X.isin([0, 9]), False),
        ((_X > 5) & _X.is_valid(), False),
        (_X > 3, True),
        (_X == 1, True),
        ((_X > 5) | (_X < 2), True),
    ],
)
def test_what_lies_outside_of_bounds_is_ruled_out(
    values: list[int | None], condition: pc.Expression, *, may_match: bool
) -> None:
    """Whether or not some rows have no value: no comparison holds for these."""
    assert that_may_match([_guarantee(values)], condition, _SCHEMA) == [0] * may_match


def test_rows_without_a_value_are_not_ruled_out() -> None:
    """A column that may hold NULLs is not said to have a value."""
    missing = [_guarantee([1, None]), _guarantee([1, 2])]
    assert that_may_match(missing, _X.is_null(), _SCHEMA) == [0]


def test_unknown_ends_say_nothing() -> None:
    """A bound that is not known, or NULL, leaves the other one."""
    [lower] = bounds("x", pa.scalar(3), None, nullable=False)
    [upper] = bounds("x", pa.scalar(None, pa.int64()), pa.scalar(3), nullable=True)
    assert that_may_match([lower, upper], _X > 3, _SCHEMA) == [0]
    assert that_may_match([lower, upper], _X < 3, _SCHEMA) == [1]


@pytest.mark.parametrize("seed", range(10))
def test_no_row_that_matches_is_ruled_out(seed: int) -> None:
    """Conditions and values by chance: whatever pyarrow finds in the rows was left to be read."""
    dice = random.Random(seed)
    for _ in range(20):
        values = [dice.randint(-4, 4), *dice.choices([None, *range(-4, 5)], k=3)]
        condition = _by_chance(dice, 2)
        found = pa.table({"x": pa.array(values, pa.int64())}).filter(condition).num_rows
        if found:
            assert that_may_match([_guarantee(values)], condition, _SCHEMA), (values, condition)


def _by_chance(dice: random.Random, depth: int) -> pc.Expression:
    number = dice.randint(-5, 5)
    kind = dice.randrange(9 if depth else 7)
    simple = [number < _X, number <= _X, number > _X, number == _X, number != _X, _X.is_null()]
    if kind < 6:
        return simple[kind]
    if kind == 6:
        return _X.isin([number, number + 2])
    one, other = _by_chance(dice, depth - 1), _by_chance(dice, depth - 1)
    return dice.choice([one & other, one | other, ~one])


_NAN = float("nan")
_F = pc.field("f")


@pytest.mark.parametrize("nested", [False, True], ids=["plain", "in a struct"])
@pytest.mark.parametrize("values", [[5.0, _NAN, 5.0], [1.0, 2.0, _NAN]], ids=str)
@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
def test_ranges_of_floating_point_numbers_leave_no_nan_out(
    kind: pa.DataType, values: list[float], nested: bool, tmp_path: Path
) -> None:
    """Footers say nothing of NaN; whatever meets a condition as NaN must come all the same."""
    column = pa.array(values, kind)
    if nested:
        column = pa.StructArray.from_arrays([column], names=["x"])
    whole = pa.table({"f": column, "i": [1, 1, 1]})
    pq.write_table(whole, tmp_path / "f.parquet")
    reader = ParquetReader(Storage(str(tmp_path)), "f.parquet")
    f = pc.field("f", "x") if nested else _F
    five = pa.scalar(5.0, kind)
    found = []
    for condition in (
        f != five,
        ~(f == five),
        ~(f <= five),
        f.is_nan(),
        f.isin(pa.array([_NAN], kind)),
    ):
        if whole.filter(condition).num_rows:
            found.append(condition)
            assert reader.row_groups_that_may_match(condition, whole.select(["f"]).schema) == [0]
            both = condition & (pc.field("i") == 1)
            assert reader.row_groups_that_may_match(both, whole.schema) == [0]
    assert len(found) == 5
    no_ones = _F.is_valid() & (pc.field("i") == 2)
    assert reader.row_groups_that_may_match(no_ones, whole.schema) == []


_I = pc.field("i")
_WITH_NAN = [
    ~(_I < _NAN),
    ~(_I <= _NAN),
    ~((_I < _NAN) & _I.is_valid()),
    (_I > 7) | ~(pc.scalar(pa.scalar(_NAN, pa.float32())) >= _I),
    ~(pc.scalar(_NAN) > _I),
    ~(_I > _NAN),
    _I != _NAN,
]


@pytest.mark.parametrize("condition", _WITH_NAN, ids=str)
def test_a_comparison_with_nan_rules_out_no_row_that_meets_its_negation(
    condition: pc.Expression, tmp_path: Path
) -> None:
    """No number is less than NaN: all rows meet `not i < NaN`, whatever bounds of i are known."""
    rows = pa.table({"i": [1, 2, 3], "f": [0.5, 1.5, 2.5]})
    assert rows.filter(condition).equals(rows)
    known = (_I >= 1) & (_I <= 3)
    assert that_may_match([known, _I == 2, None], condition, rows.schema) == [0, 1, 2]
    pq.write_table(rows, tmp_path / "a.parquet", row_group_size=2, write_page_index=True)
    reader = ParquetReader(Storage(str(tmp_path)), "a.parquet")
    for tested in (["i"], ["i", "f"]):
        fields = rows.select(tested).schema
        for counted in (None, ["i"]):
            assert reader.row_groups_that_may_match(condition, fields, counted) == [0, 1]
    columns = {"i": "bigint", "f": "double"}
    table = seamkit.HiveTable(str(tmp_path), columns=columns, file_format="parquet")
    assert table.to_arrow(filter=condition).equals(rows)
    assert table.scan().dataset().to_table(filter=condition).num_rows == 3
    assert table.count_rows(filter=condition) == 3


@pytest.mark.parametrize("zone", [None, "Asia/Kathmandu"])
def test_a_list_of_times_leaves_a_day_the_file_that_its_rows_meet(
    zone: str | None, tmp_path: Path
) -> None:
    """Listed times are cut to days to test a row; bounds of days rule out no row that is met."""
    rows = pa.table({"d": pa.array([0, 1, 2], pa.date32()), "i": [1, 2, 3]})
    noon = pa.array([43_200_000_000], pa.timestamp("us", zone))
    pq.write_table(rows, tmp_path / "a.parquet", row_group_size=2)
    columns = {"d": "date", "i": "bigint"}
    table = seamkit.HiveTable(str(tmp_path), columns=columns, file_format="parquet")
    reader = ParquetReader(Storage(str(tmp_path)), "a.parquet")
    for found in (pc.field("d").isin(noon), pc.field("d").isin(noon) | (_I > 9)):
        assert rows.filter(found)["i"].to_pylist() == [1]
        assert table.to_arrow(filter=found)["i"].to_pylist() == [1]
        assert table.scan().dataset().to_table(filter=found)["i"].to_pylist() == [1]
        assert reader.row_groups_that_may_match(found, rows.schema, ["d", "i"]) == [0, 1]
    # Lists of other columns rule out what they did.
    schema = pa.schema([("t", noon.type), ("d", pa.date32())])
    early = pc.field("t") < noon[0]
    assert that_may_match([early], pc.field("t").isin(noon), schema) == []


def test_a_text_or_a_name_that_begins_as_nan_does_rules_out_as_others_do() -> None:
    """Only NaN itself is reasoned of wrongly."""
    schema = pa.schema([("nano", pa.int64()), ("x", pa.string())])
    known = [(pc.field("nano") >= 5) & (_X >= "nanny"), pc.field("nano") == 1]
    assert that_may_match(known, (pc.field("nano") < 3) | (_X == "nana"), schema) == [1]


_MICROS_A_DAY = 86_400_000_000


@pytest.mark.parametrize(
    ("kind", "a_day"),
    [
        (pa.date32(), 1),
        (pa.timestamp("us"), _MICROS_A_DAY),
        (pa.timestamp("us", "UTC"), _MICROS_A_DAY),
        (pa.timestamp("ms"), _MICROS_A_DAY // 1000),
        (pa.timestamp("ms", "UTC"), _MICROS_A_DAY // 1000),
    ],
    ids=str,
)
@pytest.mark.parametrize("row_group_size", [1, 3])
def test_days_that_python_has_not_rule_out_what_others_do(
    tmp_path: Path, row_group_size: int, kind: pa.DataType, a_day: int
) -> None:
    """A file with days before the year 1 or after 9999, as Spark makes some, is read and pruned."""
    number = pa.int32() if pa.types.is_date(kind) else pa.int64()
    days = pa.array([-719164 * a_day, 0, 2932897 * a_day, None], number).cast(kind)
    within = pa.StructArray.from_arrays([days], ["v"])
    rows = pa.table({"id": [1, 2, 3, 4], "v": days, "in": within})
    pq.write_table(rows, tmp_path / "a.parquet", row_group_size=row_group_size)
    declared = "date" if pa.types.is_date(kind) else "timestamp"
    columns = {"id": "bigint", "v": declared, "in": f"struct<v:{declared}>"}
    table = seamkit.HiveTable(str(tmp_path), columns=columns, file_format="parquet")
    scan = table.scan()
    early = pc.field("v") < pa.scalar(0, number).cast(scan.schema.field("v").type)
    for way in (scan, table.scan(strict=True)):
        assert way.to_table().equals(rows.cast(scan.schema))
    assert scan.filter("v >= DATE '1970-01-01'").to_table()["id"].to_pylist() == [2, 3]
    assert scan.dataset().to_table(filter=early)["id"].to_pylist() == [1]
    assert scan.filter("v IS NULL").to_table()["id"].to_pylist() == [4]
    least = scan.statistics().columns["v"].least
    if kind == scan.schema.field("v").type:
        assert least is not None
        assert least.value.value == -719164 * a_day


def test_bounds_that_are_cut_within_a_character_are_not_known(tmp_path: Path) -> None:
    """Parquet lets writers cut bounds of texts anywhere; other columns' are read."""
    table = pa.table({"s": ["aaé", "aaü"], "n": [1, 2]})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="none", store_schema=False, use_dictionary=False)
    data, least = sink.getvalue().to_pybytes(), "aaé".encode()
    begin = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    footer = data[begin:-8].replace(b"\x18\x04" + least, b"\x18\x03" + least[:3])
    assert len(footer) < len(data) - 8 - begin
    (tmp_path / "a").write_bytes(
        data[:begin] + footer + len(footer).to_bytes(4, "little") + b"PAR1"
    )
    reader = ParquetReader(Storage(str(tmp_path)), "a")
    known = reader.statistics(table.schema).columns
    assert (known["s"].nulls, known["s"].least, known["s"].greatest) == (0, None, None)
    assert (known["n"].least, known["n"].greatest) == (pa.scalar(1), pa.scalar(2))
    assert reader.leasts("s", pa.string()) == ()
    condition = pc.field("s") == "aaé"
    assert reader.row_groups_that_may_match(condition, table.schema, ["s"]) == [0]
    assert reader.row_groups_that_may_match(pc.field("n") == 3, table.schema, ["n", "s"]) == []
