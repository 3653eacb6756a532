"""Partitions that a catalog names: each lies where it lies, and is stored in its own way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
