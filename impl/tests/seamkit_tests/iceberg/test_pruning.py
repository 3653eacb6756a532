"""What a filter leaves unread by partitions, buckets and manifest lists; rows are never fewer."""

import datetime as dt
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest

from seambench.conformance.plain import canonical
from seamkit.scan.units import ReadUnit
from seamkit.tables.iceberg.deletes import DeleteIndex
from seamkit.tables.iceberg.metadata.entries import DATA
from seamkit.tables.iceberg.pruning import bucket_fields
from seamkit.tables.iceberg.table import IcebergTable, chosen_view
from seamkit_tests.samples.iceberg_tables import ICEBERG_GOLDEN, unpack_iceberg

Row = dict[str, Any]


def _day(day: int, month: int = 1, year: int = 2024) -> dt.datetime:
    return dt.datetime(year, month, day, tzinfo=dt.UTC)


#: A filter; the same in Python; manifests, and data files of others, that are left out.
_FILTERS: list[tuple[pc.Expression, Callable[[Row], bool], int, int]] = [
    (pc.field("p") == "c", lambda r: r["p"] == "c", 5, 1),
    (pc.field("p") > "f", lambda r: r["p"] is not None and r["p"] > "f", 5, 0),
    (pc.field("p").is_null(), lambda r: r["p"] is None, 5, 1),
    (pc.field("ts") >= _day(3), lambda r: r["ts"] is not None and r["ts"] >= _day(3), 4, 0),
    (pc.field("ts") < _day(2), lambda r: r["ts"] is not None and r["ts"] < _day(2), 2, 2),
    (pc.field("n") == 19, lambda r: r["n"] == 19, 5, 1),
    (pc.field("n") < -10, lambda r: r["n"] is not None and r["n"] < -10, 3, 2),
    (pc.field("k") == 1, lambda r: r["k"] == 1, 3, 3),
    (pc.field("k").isin([6, 7]), lambda r: r["k"] in (6, 7), 2, 4),
    ((pc.field("k") == 1) & (pc.field("p") > "b"),
     lambda r: r["k"] == 1 and r["p"] is not None and r["p"] > "b", 4, 2),
    ((pc.field("k") == 1) | (pc.field("p") == "f"), lambda r: r["k"] == 1 or r["p"] == "f", 0, 5),
    (~(pc.field("n") > 0), lambda r: r["n"] is not None and not r["n"] > 0, 2, 3),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(_FILTERS)))
def test_manifests_without_rows_are_not_opened(number: int, tmp_path: Path) -> None:
    """What comes is what Spark read, filtered in Python; the plan tells what is left out."""
    condition, keeps, manifests, files = _FILTERS[number]
    table = IcebergTable(str(unpack_iceberg("apart", tmp_path)))
    whole = table.scan(threads=1).to_table().to_pylist()
    steps = json.loads((ICEBERG_GOLDEN / "apart" / "witness.json").read_text(encoding="utf-8"))
    assert _texts(whole) == Counter(tuple(row) for row in steps[-1]["rows"])
    scan = table.scan(filter=condition, threads=1)
    assert _texts(scan.to_table().to_pylist()) == _texts(filter(keeps, whole))
    plan = scan.explain()
    assert (_left_out(plan), plan.count("  pruned ")) == (manifests, files)


def _texts(rows: Any) -> Counter[tuple[str, ...]]:
    return Counter(tuple(map(canonical, row.values())) for row in rows)


def _left_out(plan: str) -> int:
    notes = [line.split() for line in plan.splitlines() if "manifests: no partition" in line]
    return int(notes[0][0]) if notes else 0


_BELOW = Decimal("-0.01")
_VALUES: dict[str, list[Any]] = {
    "i": [0, -1, 34, 2147483647, 5000000000],
    "l": [0, -1, 34, 9223372036854775807, 7],
    "s": ["", "a", "iceberg", "äöü€", "wide"],
    "d": [dt.date(1970, 1, 1), dt.date(1969, 12, 31), dt.date(2017, 11, 16), dt.date(9999, 12, 31)],
    "n": [Decimal("0.00"), _BELOW, Decimal("14.20"), Decimal("1234567890.12")],
    "y": [b"", b"\x00", b"\x00\x01\x02\x03", b"\xff", b"\xab"],
    "ts": [_day(1, 1, 1970), dt.datetime(2017, 11, 16, 22, 31, 8, tzinfo=dt.UTC)],
    "z": [dt.datetime(1970, 1, 1), dt.datetime(1, 1, 1)],
}


@pytest.mark.parametrize("column", _VALUES)
def test_a_value_falls_into_the_bucket_that_spark_put_it_in(column: str, tmp_path: Path) -> None:
    """Each file has one row, and its manifest the bucket; columns widened since among them."""
    table = IcebergTable(str(unpack_iceberg("buckets", tmp_path)))
    metadata = table._metadata
    fields = bucket_fields(metadata.specs[0], metadata.schema().fields)
    [(id_, buckets)] = [pair for pair in fields if pair[1].column == column]
    assert metadata.current is not None
    planner = table._planner(_view(table))
    spark = Counter(
        e.partition.values[id_] for e in planner.entries(metadata.current) if e.content == DATA
    )
    found = [buckets.numbers(pc.field(column) == value) for value in _VALUES[column]]
    assert not Counter(number for one in found for number in one or ()) - spark
    # Writers are known to have hashed decimals below zero otherwise, and 1970's first second.
    doubted = (_BELOW, *_VALUES["ts"][:1], *_VALUES["z"][:1])
    sure = [one for one, value in zip(found, _VALUES[column], strict=True) if value not in doubted]
    assert all(one is not None and len(one) == 1 for one in sure)
    for value in _VALUES[column]:
        assert table.scan(filter=pc.field(column) == value, threads=1).count_rows() == 1


def _view(table: IcebergTable) -> Any:
    return chosen_view(table._metadata, None)


def test_a_bucket_leaves_other_files_unread(tmp_path: Path) -> None:
    """By the first column that has buckets."""
    table = IcebergTable(str(unpack_iceberg("buckets", tmp_path)))
    scan = table.scan(filter=pc.field("i") == 34, threads=1)
    assert scan.explain().count("native") == 1


def test_defaults_in_lists_are_right_in_batches_of_one_row(tmp_path: Path) -> None:
    """Batches are cut out of larger ones, whose offsets do not begin at nothing."""
    table = IcebergTable(str(unpack_iceberg("defaults-nested", tmp_path)))
    rows = table.scan(threads=1).to_table().to_pylist()
    assert table.scan(threads=1, batch_rows=1).to_table().to_pylist() == rows


@pytest.mark.parametrize("name", ["buckets", "partition-evolution", "evolution"])
def test_units_of_files_without_deletes_are_those_made_one_by_one(
    tmp_path: Path, name: str
) -> None:
    """A plan makes all of them at once, by columns."""
    table = IcebergTable(str(unpack_iceberg(name, tmp_path)))
    view = chosen_view(table._metadata, None)
    planner = table._planner(view)
    assert view.snapshot is not None
    files = [one for one in planner.entries(view.snapshot) if one.content == DATA]
    none = DeleteIndex((), planner.metadata, planner.opener)
    assert [*map(_stated, planner.untouched(files))] == [
        _stated(planner.unit(one, none)) for one in files
    ]
    assert len(files) > 1


def _stated(unit: ReadUnit) -> dict[str, Any]:
    """All that a unit says, so that equal ones are equal."""
    [file] = unit.files
    assert Path(file.name).stat().st_size == file.size_bytes
    stored = (file.name, file.size_bytes, file.rows, file.has_footer, file.identity())
    bounds: Any = unit.guarantee
    guarantee = bounds.__func__, bounds.__self__ is file
    said = {own.name: getattr(unit, own.name) for own in fields(unit)}
    return said | {
        "files": stored,
        "guarantee": guarantee,
        "changed_by": tuple(unit.changed_by),
    }
