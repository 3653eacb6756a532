"""What metadata says of a file's values, held against what the file says itself."""

import datetime as dt
import io
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from seambase.errors import InputError
from seamkit.files import file_cache
from seamkit.files.footers.orc_footer import column_range
from seamkit.files.orc import OrcReader
from seamkit.files.parquet import ParquetReader
from seamkit.files.reader import FileReader
from seamkit.files.statistics import ColumnRange, FileStatistics
from seamkit.files.storage import Storage
from seamkit.tables.agreement import check_partition, check_stated, contradict, part_of_one


def _range(
    least: Any, greatest: Any, nulls: int | None = None, *, exact: bool = False, kind: Any = None
) -> ColumnRange:
    return ColumnRange(nulls, pa.scalar(least, kind), pa.scalar(greatest, kind), (exact, exact))


@pytest.mark.parametrize(
    ("stated", "own", "is_contradiction"),
    [
        (_range(1, 5), _range(2, 5, exact=True), False),
        (_range(1, 5), _range(1, 6, exact=True), True),
        (_range(1, 5), _range(0, 5, exact=True), True),
        (_range(1, 5), _range(0, 6), False),  # the file's bounds may be wider, too
        (_range(1, 5), _range(6, 9), True),
        (_range(1, 5), _range(-3, 0), True),
        (_range(1, 5, exact=True), _range(2, 5, exact=True), True),
        (_range(1, 5, exact=True), _range(1, 5, exact=True), False),
        (_range(1, 5, 2), _range(1, 5, 2), False),
        (_range(1, 5, 2), _range(1, 5, 3), True),
        (_range(1, 5, None), _range(1, 5, 3), False),
        (_range("a", "c"), _range("b", "d", exact=True), False),  # a text may be cut
        (_range("a", "c"), _range("ca", "d"), True),
        (_range("a", "c", exact=True), _range("b", "c", exact=True), False),
        (_range(Decimal("1.10"), Decimal("2.50")), _range(Decimal("1.10"), Decimal("3.50")), False),
        (
            _range(Decimal("1.10"), Decimal("2.50")),
            _range(Decimal("1.10"), Decimal("3.50"), exact=True),
            True,
        ),
        (
            _range(Decimal("1e19"), Decimal("2e19"), kind=pa.decimal128(38, 2)),
            _range(Decimal("1e19"), Decimal("2.1e19"), exact=True, kind=pa.decimal128(38, 2)),
            False,  # a writer of JSON may have rounded it
        ),
        (_range(dt.date(2024, 1, 1), dt.date(2024, 1, 9)), ColumnRange(3), False),
        (ColumnRange(), _range(1, 5, 0, exact=True), False),
        (_range(1, 5), _range(7, 9, kind=pa.int32()), False),  # of another type
    ],
)
def test_what_contradicts_and_what_does_not(
    stated: ColumnRange, own: ColumnRange, *, is_contradiction: bool
) -> None:
    """Bounds may be wide on either side; values of a column lie within what is stated."""
    assert contradict(stated, own) == is_contradiction


_ROWS = pa.table(
    {
        "whole": pa.array([3, -7, None, 2**40], pa.int64()),
        "small": pa.array([-128, 127, 0, None], pa.int8()),
        "day": pa.array([dt.date(1969, 7, 20), None, dt.date(2024, 2, 29), None]),
        "text": ["b", "ä", None, ""],
        "list": [[1], None, [], [2]],
        "money": pa.array([Decimal("-1.50"), Decimal("20.25"), None, None], pa.decimal128(9, 2)),
        "none": pa.nulls(4, pa.int32()),
        "struct": [{"a": 99}, None, {"a": None}, {"a": 1}],
        "last": pa.array([5, 4, 3, 2], pa.int32()),
    }
)


@pytest.mark.parametrize("compression", ["uncompressed", "zlib", "zstd"])
def test_ranges_of_orc_are_those_of_its_columns(compression: str, tmp_path: Path) -> None:
    """Of all stripes and behind nested columns; nothing is said of these, nor of other types."""
    many = pa.concat_tables([_ROWS] * 3000)
    orc.write_table(many, str(tmp_path / "a.orc"), compression=compression, stripe_size=1024)
    reader = OrcReader(Storage(str(tmp_path)), "a.orc")
    known = reader.statistics(_ROWS.schema)
    assert known.rows == many.num_rows
    assert set(known.columns) == set(_ROWS.schema.names) - {"list", "struct"}
    for name, own in known.columns.items():
        column = many[name]
        ends = pc.min_max(column)
        assert own.nulls == column.null_count
        told = [None if end is None else end.as_py() for end in (own.least, own.greatest)]
        assert told == [ends["min"].as_py(), ends["max"].as_py()], name
    wanted = pa.schema([("whole", pa.int32()), ("lacked", pa.int64())])
    assert reader.statistics(wanted).columns == {"lacked": ColumnRange(many.num_rows)}


@pytest.mark.parametrize(
    ("told", "kind", "says"),
    [
        (b"\x08\x09", pa.int64(), "9 values in 4 rows"),
        (b"\x08\x02\x12\x05\x08\x80\x80\x80\x10", pa.int8(), "not readable"),
        (b"\x08\x02\x32\x03\x0a\x01x", pa.decimal128(9, 2), "not readable"),
        (b"\x08\x02\x22\x03\x0a\x01\xff", pa.string(), "not readable"),
    ],
)
def test_statistics_that_no_column_has_are_refused(told: bytes, kind: Any, says: str) -> None:
    """More values than rows, a number beyond the type, and no number or text at all."""
    with pytest.raises(InputError, match=says):
        column_range(memoryview(told), kind, 4, "a.orc")


def test_texts_of_the_first_writers_have_no_range() -> None:
    """They merged ranges of stripes in another order than that of bytes; counts are right."""
    told = memoryview(b"\x08\x02\x22\x06\x0a\x01a\x12\x01b")
    assert column_range(told, pa.string(), 4, "a") == (2, pa.scalar("a"), pa.scalar("b"))
    assert column_range(told, pa.string(), 4, "a", has_ends=False) == (2, None, None)


def _stored(tmp_path: Path, rows: pa.Table, **how: Any) -> ParquetReader:
    out = io.BytesIO()
    pq.write_table(rows, out, **how)
    (tmp_path / "a.parquet").write_bytes(out.getvalue())
    return ParquetReader(Storage(str(tmp_path)), "a.parquet")


def _check(reader: FileReader, **stated: ColumnRange) -> None:
    check_stated(reader, FileStatistics(reader.num_rows, stated), "the log")


def test_a_file_of_other_values_is_refused_with_both_sides(tmp_path: Path) -> None:
    """By one column of many, and by counts of nulls alone."""
    rows = pa.table({"k": [1, 2, 3], "v": ["a", "b", None]})
    reader = _stored(tmp_path, rows)
    _check(reader, k=_range(1, 3, 0), v=_range("a", "b", 1))
    with pytest.raises(InputError, match=r"values of k are 1 to 3.*, and the log says 4 to 5"):
        _check(reader, v=_range("a", "b", 1), k=_range(4, 5, 0))
    with pytest.raises(InputError, match="values of v are a to b, with 1 null, and the log says"):
        _check(reader, v=_range("a", "b", 0))


def test_ends_of_javas_ranges_are_values_where_a_caller_knows(tmp_path: Path) -> None:
    """Parquet lets ranges be wider, and other writers' are, as may be what metadata states."""
    reader = _stored(tmp_path, pa.table({"k": [1, 2, 3]}))
    narrow, wide = ({"k": _range(*ends, exact=True)} for ends in ((2, 3), (0, 4)))
    for stated in (narrow, wide):
        check_stated(reader, FileStatistics(3, stated), "the log", by_java=True)
    file = tmp_path / "a.parquet"
    name = b"parquet-cpp-arrow"
    assert name in file.read_bytes()
    file.write_bytes(file.read_bytes().replace(name, b"parquet-mr-as-was"))
    reader = ParquetReader(Storage(str(tmp_path)), "a.parquet")
    for stated in (narrow, wide):
        _check(reader, **stated)
        with pytest.raises(InputError, match="values of k are 1 to 3"):
            check_stated(reader, FileStatistics(3, stated), "the log", by_java=True)
    check_stated(reader, FileStatistics(3, {"k": _range(0, 4)}), "the log", by_java=True)


def test_ends_of_orcs_ranges_are_values(tmp_path: Path) -> None:
    """They lie within what is stated, whoever wrote them."""
    orc.write_table(pa.table({"k": [1, 2, 3]}), str(tmp_path / "a.orc"))
    reader = OrcReader(Storage(str(tmp_path)), "a.orc")
    _check(reader, k=_range(0, 4, exact=True))
    with pytest.raises(InputError, match="values of k are 1 to 3"):
        _check(reader, k=_range(2, 3))


def test_of_many_row_groups_the_first_one_is_asked(tmp_path: Path) -> None:
    """What it has lies within what is stated of all; nulls are not counted, nor ends missed.

    Who asks for all hears of the last one, too.
    """
    rows = pa.table({"k": [*range(200), None]})
    reader = _stored(tmp_path, rows, row_group_size=64)
    _check(reader, k=_range(0, 199, 1))
    _check(reader, k=_range(0, 63, 0))
    with pytest.raises(InputError, match=r"values of k are 0 to 63.*, and the log says 70 to 199"):
        _check(reader, k=_range(70, 199, 1))
    stated = FileStatistics(201, {"k": _range(0, 63, 0)})
    with pytest.raises(InputError, match="values of k are 0 to 199, with 1 null"):
        check_stated(reader, stated, "the log", in_all=True)


def test_of_deleted_rows_nothing_is_stated(tmp_path: Path) -> None:
    """A row group may have lost all rows; of the file, what is left lies in both ranges."""
    rows = pa.table({"k": [1, 2, 3, 4, None]})
    stated = FileStatistics(5, {"k": _range(3, 4, 0)})
    with pytest.raises(InputError, match="and the log says 3 to 4"):
        check_stated(_stored(tmp_path, rows), stated, "the log")
    check_stated(_stored(tmp_path, rows), stated, "the log", of_all=False)
    check_stated(_stored(tmp_path, rows, row_group_size=2), stated, "the log", of_all=False)
    stated = FileStatistics(5, {"k": _range(5, 6, 0)})
    with pytest.raises(InputError, match="the log says 5 to 6"):
        check_stated(_stored(tmp_path, rows), stated, "the log", of_all=False)


@pytest.mark.parametrize("format_", ["parquet", "orc"])
@pytest.mark.parametrize(
    ("rows", "value", "is_other"),
    [
        ([1, 1, 1], 1, False),
        ([1, 1, 1], 2, True),
        ([1, 1, 1], 0, True),
        ([1, 1, 1], None, True),
        ([1, None, None], 1, False),  # as far as ranges tell
        ([1, None, None], None, True),
        ([None, None, None], None, False),
        ([None, None, None], 1, True),
        ([0, 1, 2], 1, False),
        ([], 1, False),
        ([], None, False),
    ],
)
def test_a_files_column_has_the_value_of_its_partition(
    rows: list[int | None], value: int | None, format_: str, *, is_other: bool, tmp_path: Path
) -> None:
    """As far as a footer tells, of all row groups; what is not told rules nothing out."""
    table = pa.table({"p": pa.array(rows, pa.int64())})
    if format_ == "orc":
        orc.write_table(table, str(tmp_path / "a.orc"))
        reader: FileReader = OrcReader(Storage(str(tmp_path)), "a.orc")
    else:
        reader = _stored(tmp_path, table, row_group_size=2)
    parts = [part_of_one(table.schema.field("p"), pa.scalar(value, pa.int64()))]
    if is_other:
        with pytest.raises(InputError, match="are those of the partition"):
            check_partition(reader, parts)
    else:
        check_partition(reader, parts)


def test_a_footer_that_says_nothing_of_a_partition_rules_nothing_out(tmp_path: Path) -> None:
    """Without statistics neither a value nor null is another one's."""
    table = pa.table({"p": pa.array([1, 1], pa.int64())})
    reader = _stored(tmp_path, table, write_statistics=False)
    for value in (1, 2, None):
        parts = [part_of_one(table.schema.field("p"), pa.scalar(value, pa.int64()))]
        check_partition(reader, parts)


def test_a_check_is_made_once_as_long_as_a_file_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a file that was written anew it is made again, and so is one that failed."""
    asked: list[str] = []

    def fail() -> None:
        asked.append("fail")
        raise InputError("it is wrong")

    monkeypatch.setattr(file_cache, "_SETTLED_NS", 0)
    rows = pa.table({"k": [1]})
    _stored(tmp_path, rows)
    for _ in range(2):
        reader = ParquetReader(Storage(str(tmp_path)), "a.parquet")
        reader.once("right", lambda: asked.append("right"))
        with pytest.raises(InputError, match="wrong"):
            reader.once("wrong", fail)
    assert asked == ["right", "fail", "fail"]

    os.utime(tmp_path / "a.parquet", ns=(10**18, 2 * 10**18))
    reader = ParquetReader(Storage(str(tmp_path)), "a.parquet")
    reader.once("right", lambda: asked.append("again"))
    assert asked[-1] == "again"
