"""Partitions that a catalog names: each lies where it lies, and is stored in its own way."""

import re
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seamkit
from seambase.errors import InputError, RefusedError
from seamkit.tables.hive.table import HiveTable
from seamkit.tables.partition_folder import PartitionFolder

_COLUMNS = {"k": "int", "v": "string"}


def _text(folder: Path, content: str) -> str:
    folder.mkdir(parents=True)
    (folder / "000000_0").write_text(content, encoding="utf-8")
    return str(folder)


def _table(folder: Path, partitions: list[PartitionFolder]) -> HiveTable:
    folder.mkdir(exist_ok=True)
    return HiveTable(
        str(folder),
        columns=_COLUMNS,
        partitions={"day": "int"},
        properties={"field.delim": "|"},
        folders=lambda: partitions,
    )


def _rows(table: HiveTable) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in table.scan().to_table().to_pylist())


@pytest.fixture
def partitions(tmp_path: Path) -> list[PartitionFolder]:
    """One in the table's folder, the others beside it: with another delimiter, and as Parquet."""
    parquet = tmp_path / "beside" / "p"
    parquet.mkdir(parents=True)
    rows = pa.table({"k": pa.array([5], pa.int32()), "v": ["five"]})
    pq.write_table(rows, parquet / "000000_0")
    # One whose name begins like the table's folder lies outside, too.
    comma = {"field.delim": ","}
    return [
        PartitionFolder(["1"], _text(tmp_path / "t" / "day=1", "1|one\n")),
        PartitionFolder(["2"], _text(tmp_path / "t2", "2|two\n")),
        PartitionFolder(["3"], _text(tmp_path / "beside" / "c", "3,a|b\n"), "text", comma),
        PartitionFolder(["4"], str(parquet), "parquet"),
    ]


def test_partitions_are_read_where_they_lie_and_as_they_are_stored(
    tmp_path: Path, partitions: list[PartitionFolder]
) -> None:
    """Rows of all, each by its own delimiter or format, with the value that the catalog tells."""
    table = _table(tmp_path / "t", partitions)
    assert _rows(table) == [(1, "one", 1), (2, "two", 2), (3, "a|b", 3), (5, "five", 4)]
    assert table.scan(filter="day = 4").to_table()["v"].to_pylist() == ["five"]
    names = [unit.name for unit in table.scan().plan.units]  # type: ignore[attr-defined]
    assert names[0] == "day=1/000000_0"
    assert names[1] == str(tmp_path / "t2" / "000000_0")


@pytest.mark.parametrize("spelled", ["day < 5", "day = 4", "day IN (1, 3) OR k > 4 AND day < 5"])
def test_partitions_that_a_filter_leaves_out_are_not_listed(
    spelled: str, tmp_path: Path, partitions: list[PartitionFolder]
) -> None:
    """One whose folder is gone is missed by who may need it alone; the plan tells that."""
    gone = PartitionFolder(["7"], "/not/there")
    table = _table(tmp_path / "t", [gone, *partitions])
    with pytest.raises(InputError, match="no such folder"):
        table.scan(filter="k < 5").to_table()
    scan = table.scan(filter=spelled)
    assert scan.to_table().num_rows == {"day < 5": 4, "day = 4": 1}.get(spelled, 3)
    assert re.search(r"unlisted +\d folders? of other partitions", scan.explain())


def test_folders_of_partitions_that_a_filter_leaves_out_are_not_listed(tmp_path: Path) -> None:
    """At the outer level by the outer value; null is a value; what was listed is read exactly."""
    for day, hour in (("1", "1"), ("1", "2"), ("__HIVE_DEFAULT_PARTITION__", "1"), ("2", "1")):
        _text(tmp_path / f"day={day}" / f"hour={hour}", f"{hour}|x\n")
    (tmp_path / "day=2" / "hour=1" / "no file").mkdir()
    columns, partitions = {"k": "int", "v": "string"}, {"day": "int", "hour": "int"}
    table = HiveTable(
        str(tmp_path), columns=columns, partitions=partitions, properties={"field.delim": "|"}
    )
    for spelled, hours in (
        ("day = 1", [1, 2]),
        ("day IS NULL", [1]),
        ("hour > 1", [2]),
        ("day = 1 AND k = 2", [2]),
        ("day = 3", []),
    ):
        assert sorted(table.scan(filter=spelled).to_table()["hour"].to_pylist()) == hours
    for spelled in ("day = 2", "k = 1", "hour = 1"):
        with pytest.raises(RefusedError, match="a folder where files are expected"):
            table.scan(filter=spelled)


@pytest.mark.parametrize("by_catalog", [False, True])
def test_branches_of_a_union_are_read_with_their_partition(
    by_catalog: bool, tmp_path: Path
) -> None:
    """Hive on Tez gives each branch of a `UNION ALL` a folder, and reads them all."""
    branch = "HIVE_UNION_SUBDIR_"
    places = ("day=1", f"day=1/{branch}1", f"day=1/{branch}15", f"day=2/{branch}1/{branch}2")
    for number, place in enumerate(places):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "000000_0").write_text(f"{number}|x\n", encoding="utf-8")
    known = [PartitionFolder([day], str(tmp_path / f"day={day}")) for day in "12"]
    how: dict[str, Any] = {"folders": lambda: known} if by_catalog else {}
    partitions, delimiter = {"day": "int"}, {"field.delim": "|"}
    table = HiveTable(
        str(tmp_path), columns=_COLUMNS, partitions=partitions, properties=delimiter, **how
    )
    assert _rows(table) == [(0, "x", 1), (1, "x", 1), (2, "x", 1), (3, "x", 2)]
    assert table.scan(["k"], filter="day = 2").to_table().to_pylist() == [{"k": 3}]


@pytest.mark.parametrize("by_catalog", [False, True])
@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("date", "2024-02-29 00:00:00", "2024-02-29"),
        ("date", "2024-02-29 23:59:59.999", "2024-02-29"),
        ("date", "1969-12-31 23:59:59", "1969-12-31"),
        ("date", "2024-02-29", "2024-02-29"),
        ("timestamp", "2024-02-29", "2024-02-29 00:00:00"),
        ("timestamp", "1969-12-31 23:59:59", "1969-12-31 23:59:59"),
        ("date", "2024-02-29 x", None),
        ("timestamp", "29", None),
        ("int", "2024-02-29", None),
    ],
)
def test_a_partitions_day_may_have_a_time_and_its_time_none(
    kind: str, text: str, value: str | None, by_catalog: bool, tmp_path: Path
) -> None:
    """Hive's `PrimitiveObjectInspectorUtils`, `getDate` and `getTimestamp` of texts; as in Spark.

    Of rows of text neither is read so.
    """
    spelled = text.replace(":", "%3A")
    place = _text(tmp_path / f"at={spelled}" / "hour=1", "1|one\n")
    known = [PartitionFolder([text, "1"], place)]
    how: dict[str, Any] = {"folders": lambda: known} if by_catalog else {}
    table = HiveTable(
        str(tmp_path),
        columns=_COLUMNS,
        partitions={"at": kind, "hour": "int"},
        properties={"field.delim": "|"},
        **how,
    )
    if value is None:
        with pytest.raises(InputError, match=f"is no {kind}"):
            table.scan().to_table()
        return
    rows = table.scan().to_table()
    assert [str(row["at"]) for row in rows.to_pylist()] == [value]
    word = f"\"at\" = {kind.upper()} '{value}'"
    assert table.scan(filter=word).to_table() == rows
    assert table.scan(["k"], filter=word.replace("=", ">")).to_table().num_rows == 0


def test_partitions_elsewhere_have_no_plan_in_json(
    tmp_path: Path, partitions: list[PartitionFolder]
) -> None:
    """A plan opens nothing outside of its table; within it partitions have their own formats."""
    with pytest.raises(RefusedError, match="lies outside of"):
        seamkit.scan_to_json(_table(tmp_path / "t", partitions).scan())
    inside = PartitionFolder(["9"], partitions[0].location, "text", {"field.delim": "n"})
    table = _table(tmp_path / "t", [inside])
    plan = seamkit.scan_to_json(table.scan())
    assert seamkit.scan_from_json(plan).to_table().to_pylist() == [{"k": None, "v": "e", "day": 9}]


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"location": "/not/there"}, InputError, "no such folder"),
        ({"location": ""}, InputError, "has no folder"),
        ({"texts": []}, InputError, "too few values"),
        ({"texts": ["x"]}, InputError, "is no int"),
        ({"file_format": "org.example.Serde"}, RefusedError, "org.example.Serde"),
        ({"file_format": "csv"}, RefusedError, "columns of CSV are texts"),
    ],
)
def test_what_makes_no_sense_is_refused(
    change: dict[str, Any],
    error: type[Exception],
    says: str,
    tmp_path: Path,
    partitions: list[PartitionFolder],
) -> None:
    """By the folder, the value or the serde."""
    stated = {"texts": ["1"], "location": partitions[0].location, **change}
    with pytest.raises(error, match=says):
        _table(tmp_path / "t", [PartitionFolder(**stated)]).scan().to_table()


def test_partitions_may_be_called_as_hidden_files_are(tmp_path: Path) -> None:
    """By a column whose name begins so; all else that does is passed over without a word."""
    _text(tmp_path / "_day=1" / "k=2", "7|x\n")
    _text(tmp_path / "_tmp", "8|x\n")
    (tmp_path / "_day=1" / "_SUCCESS").touch()
    columns, partitions = {"v": "int"}, {"_day": "int", "k": "int"}
    table = HiveTable(
        str(tmp_path), columns=columns, partitions=partitions, properties={"field.delim": "|"}
    )
    assert _rows(table) == [(7, 1, 2)]
    files = str(tmp_path / "_day=*" / "*" / "*")
    assert duckdb.read_csv(files, hive_partitioning=True).fetchall() == [(7, "x", 1, 2)]


_WIDE = {"k": "bigint", "v": "string", "more": "int"}


def _of_own(
    folder: Path, content: bytes, columns: dict[str, str], file_format: str, **properties: str
) -> HiveTable:
    """A table of `_WIDE` columns with one partition that has columns of its own."""
    (folder / "day=1").mkdir(parents=True)
    (folder / "day=1" / "f").write_bytes(content)
    own = PartitionFolder(["1"], str(folder / "day=1"), columns=columns)
    return HiveTable(
        str(folder),
        columns=_WIDE,
        partitions={"day": "int"},
        file_format=file_format,
        properties=properties,
        folders=lambda: [own],
    )


def _values(scan: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in scan.to_table().to_pylist()]


@pytest.mark.parametrize(
    ("columns", "content", "rows"),
    [
        ({"k": "bigint", "v": "string"}, "1|a|7\n2|b\n", [(1, "a|7", None), (2, "b", None)]),
        ({**_WIDE, "k": "tinyint"}, "300|a|7\n9|b|8\n", [(None, "a", 7), (9, "b", 8)]),
        ({"v": "bigint", "k": "string", "x": "int"}, "1|a|7\n", [(1, "a", 7)]),
        ({**_WIDE, "gone": "string"}, "1|a|7|x|y\n", [(1, "a", 7)]),
        ({"k": "bigint"}, "1|a|7\n", [(None, None, None)]),
    ],
    ids=["added", "wider", "renamed", "dropped", "one"],
)
def test_rows_have_the_columns_of_their_partition(
    columns: dict[str, str], content: str, rows: list[tuple[Any, ...]], tmp_path: Path
) -> None:
    """Rows of text are read by the columns that a partition has, and then go by their places.

    So Hive does, and Spark: a column that the table has got since is null, whatever the file has in
    its place, and so is a number that is none of the partition's type, though the table's holds it.
    """
    how = {"field.delim": "|", "serialization.last.column.takes.rest": "true"}
    scan = _of_own(tmp_path, content.encode(), columns, "text", **how).scan
    whole = [(*row, 1) for row in rows]
    assert _values(scan()) == whole
    assert _values(scan(batch_rows=1)) == whole
    assert _values(seamkit.scan_from_json(seamkit.scan_to_json(scan()))) == whole
    assert _values(scan(["more"])) == [row[2:3] for row in rows]
    assert _values(scan(["day", "v"])) == [(1, row[1]) for row in rows]
    assert scan().count_rows() == len(rows)
    for spelled, kept in (
        ("more IS NULL", [row for row in rows if row[2] is None]),
        ("k = 1 OR k > 100", [row for row in rows if row[0] == 1]),
        ("day = 2", []),
    ):
        assert [row[:3] for row in _values(scan(filter=spelled))] == kept
        assert scan(["v"], filter=spelled).count_rows() == len(kept)


@pytest.mark.parametrize(
    ("file_format", "content", "row"),
    [
        ("csv", b'1,"a",7\n', ("1", "a", None)),
        ("json", b'{"more": 7, "v": "a", "k": 1}\n', (1, "a", None)),
        ("org.apache.hadoop.hive.serde2.JsonSerDe", b'{"more": 7, "k": 1}\n', (1, None, None)),
    ],
)
def test_rows_of_other_texts_have_them_too(
    file_format: str, content: bytes, row: tuple[Any, ...], tmp_path: Path
) -> None:
    """Columns of CSV are texts in partitions, too, whatever type the catalog tells."""
    columns = {"k": "int", "v": "string"}
    assert _values(_of_own(tmp_path, content, columns, file_format).scan()) == [(*row, 1)]


def test_files_of_columns_are_read_by_the_columns_of_their_table(tmp_path: Path) -> None:
    """They name their columns; of a partition's own Hive, Spark and Trino make other things."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"more": pa.array([7], pa.int32()), "k": [1], "v": ["a"]}), sink)
    table = _of_own(tmp_path, sink.getvalue().to_pybytes(), {"k": "int"}, "parquet")
    assert _values(table.scan()) == [(1, "a", 7, 1)]


@pytest.mark.parametrize("kind", ["string", "float", "decimal(10,0)", "boolean", "array<bigint>"])
def test_rows_whose_columns_became_something_else_are_refused(kind: str, tmp_path: Path) -> None:
    """What Hive makes of them is not known here; the error names the folder and both columns."""
    table = _of_own(tmp_path, b"1\n", {"old": kind}, "text")
    said = f"day=1: rows have a column 'old' of type {kind.split('<')[0].split('(')[0]} where"
    with pytest.raises(RefusedError, match=re.escape(said)):
        table.scan().to_table()
    assert table.scan(filter="day = 2").to_table().num_rows == 0
