"""Column statistics of the metadata table."""

import pickle
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from seambase.statistics import ColumnStatistics, Figure
from seamkit.files.storage import Storage
from seamkit.tables.hudi.config.properties import load_config
from seamkit.tables.hudi.indexes.metadata import ColumnStats
from seamkit.tables.hudi.listing.metadata_table import MetadataTable
from seamkit.tables.hudi.table import HudiTable
from seamkit.tables.hudi.timeline.timeline import load_timeline
from seamkit_tests.samples.damage import replace_in
from seamkit_tests.samples.golden_tables import unpack_table
from seamkit_tests.samples.hudi_scans import doubted_index, filtered, read_parts
from seamkit_tests.samples.outlets import bag


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Slices of the partitions w, x and z without logs, and of y with one."""
    return unpack_table("indexes/v9", tmp_path)


@pytest.mark.parametrize(
    ("condition", "left"),
    [
        (pc.field("n") >= 45, "wx"),
        (pc.field("n") < 15, ""),
        (pc.field("n") == 20, "y"),  # a value that the log replaces, whose row is there no more
        (pc.field("n") == 21, "y"),
        (pc.field("n").is_null(), "yz"),
        (pc.field("k") == "g", "z"),
        (pc.field("k").isin(["a", "h"]), "wx"),
        (pc.field("v") == "log2", "wy"),
        ((pc.field("ts") == 3) & (pc.field("n") > 50), "w"),
        ((pc.field("n") == 1) | (pc.field("v") == "log1"), "xyz"),
        (pc.add(pc.field("n"), 1) == 22, "wxyz"),
    ],
)
def test_slices_are_left_out_by_the_ranges_of_all_their_files(
    folder: Path, condition: pc.Expression, left: str
) -> None:
    """A row's values come from one of its slice's files; the rows are those of a whole read."""
    scan = filtered(folder, condition)
    assert read_parts(scan) == left
    whole = HudiTable(str(folder), listing="files").scan().to_table()
    assert bag(scan.to_table()) == bag(whole.filter(condition))
    again = pickle.loads(pickle.dumps(scan))  # noqa: S301 - ours
    assert read_parts(again) == left


def _as_footers_without_ranges_leave_them(
    monkeypatch: pytest.MonkeyPatch, folder: Path, column: str, nulls: int, least: str | None
) -> None:
    """Let the index say of y's base file what Hudi writes where row groups have no range.

    It is that their rows are nulls; `least` is of the row groups that have one.
    """
    (file,) = [path.name for path in folder.glob("p=y/*.parquet")]
    read = MetadataTable.records

    def told(self: MetadataTable, *args: Any) -> Iterator[tuple[str, Any]]:
        for key, record in read(self, *args):
            own = record and record["ColumnStatsMetadata"]
            if own and (own["fileName"], own["columnName"]) == (file, column):
                ends = dict.fromkeys(("minValue", "maxValue"), least and {"value": least})
                own |= {**ends, "nullCount": nulls}
            yield key, record

    monkeypatch.setattr(MetadataTable, "records", told)


@pytest.mark.parametrize(("nulls", "least"), [(2, None), (1, "aaa")])
def test_texts_without_a_range_are_no_nulls(
    folder: Path, monkeypatch: pytest.MonkeyPatch, nulls: int, least: str | None
) -> None:
    """Parquet's library leaves ranges of long texts out, and Hudi counts such rows as nulls."""
    _as_footers_without_ranges_leave_them(monkeypatch, folder, "v", nulls, least)
    condition = pc.field("v") == "base"
    scan = filtered(folder, condition)
    whole = HudiTable(str(folder), listing="files").scan().to_table()
    assert bag(scan.to_table()) == bag(whole.filter(condition))
    assert "y" in read_parts(scan)


def test_a_column_that_was_not_always_indexed_rules_no_partition_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hudi 1.2.0 leaves files that its index tells nothing of out of a partition's range.

    So it did where `hoodie.metadata.index.column.stats.column.list` got the column later.
    """
    (file,) = [path.name for path in folder.glob("p=y/*.parquet")]
    read = MetadataTable.records

    def told(self: MetadataTable, *args: Any) -> Iterator[tuple[str, Any]]:
        for key, record in read(self, *args):
            own = (record or {}).get("ColumnStatsMetadata") or {"columnName": ""}
            if own["columnName"] == "n" and own["fileName"] == "p=y":
                own |= {"minValue": {"value": 21}, "maxValue": {"value": 21}}
            if own["columnName"] != "n" or own["fileName"] != file:
                yield key, record

    monkeypatch.setattr(MetadataTable, "records", told)
    assert filtered(folder, pc.field("n") == 29).to_table()["k"].to_pylist() == ["d"]


def test_the_listing_of_folders_asks_nothing(folder: Path) -> None:
    """What is not listed by the metadata table is not asked of it, and a plan says which it is."""
    condition = pc.field("n") < 15
    assert read_parts(filtered(folder, condition, listing="files")) == "wxyz"
    assert "statistics" in filtered(folder, condition).explain().splitlines()[0]
    assert (
        "statistics" not in filtered(folder, condition, listing="files").explain().splitlines()[0]
    )


@pytest.mark.parametrize("defect", ["cut", "gone", "not built"])
def test_an_index_that_cannot_be_read_rules_nothing_out(folder: Path, defect: str) -> None:
    """Nor does one that the table's properties do not name."""
    logs = sorted((folder / ".hoodie/metadata/column_stats").glob(".col-stats-*.log.*"))
    if defect == "not built":
        replace_in(folder / ".hoodie/hoodie.properties", "column_stats,", "")
    for log in logs if defect == "cut" else ():
        log.write_bytes(log.read_bytes()[:-7])
    for log in logs if defect == "gone" else ():
        log.unlink()
    index = None if defect == "not built" else "column_stats"
    with doubted_index(folder, pc.field("n") < 15, index) as scan:
        assert read_parts(scan) == "wxyz"
        assert scan.to_table().num_rows == 0


def test_files_that_nothing_is_told_of_rule_nothing_out(folder: Path) -> None:
    """One such file among a slice's, or a column that no record names."""
    storage = Storage(str(folder))
    timeline = load_timeline(storage, load_config(storage))
    schema = pa.schema({"n": pa.int64(), "v": pa.string(), "unknown": pa.int64()})
    stats = ColumnStats(storage, timeline, schema)
    (file,) = [path.name for path in folder.glob("p=w/*.parquet")]
    assert stats.bounds([file], ["n"]) is not None
    assert stats.bounds([file], ["unknown"]) is None
    assert stats.bounds([file, "other.parquet"], ["n"]) is None
    other_type = ColumnStats(storage, timeline, pa.schema({"n": pa.string(), "v": pa.int64()}))
    assert other_type.bounds([file], ["n", "v"]) is None


def test_statistics_of_slices_with_logs_bound_what_files_and_logs_may_bring(folder: Path) -> None:
    """Each value of a merged row stands in one of its slice's files, the replaced n = 20 too.

    Nulls stay unknown. Without the index nothing is told of what a log may bring.
    """
    ends = {"n": (20, 29), "k": ("c", "d"), "v": ("base", "log2"), "ts": (1, 3)}
    schema = pa.schema({"n": pa.int64(), "k": pa.string(), "v": pa.string(), "ts": pa.int64()})

    def told() -> Mapping[str, ColumnStatistics]:
        scan = HudiTable(str(folder)).scan(list(ends), filter=pc.field("p") == "y")
        return scan.statistics().columns

    for name, (least, greatest) in ends.items():
        kind = schema.field(name).type
        ranged = (
            Figure(pa.scalar(least, kind), "at least"),
            Figure(pa.scalar(greatest, kind), "at most"),
        )
        assert told()[name] == ColumnStatistics(None, *ranged), name
    replace_in(folder / ".hoodie/hoodie.properties", "column_stats,", "")
    assert {one.least for one in told().values()} == {None}
