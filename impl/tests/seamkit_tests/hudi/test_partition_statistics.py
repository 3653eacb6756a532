"""Statistics of whole partitions in the metadata table."""

import pickle
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from seamkit.files.storage import Storage
from seamkit.tables.hudi.config.properties import load_config
from seamkit.tables.hudi.indexes.metadata import PartitionStats
from seamkit.tables.hudi.listing.metadata_table import MetadataTable
from seamkit.tables.hudi.table import HudiTable
from seamkit.tables.hudi.timeline.timeline import load_timeline
from seamkit_tests.samples.damage import replace_in
from seamkit_tests.samples.golden_tables import unpack_table
from seamkit_tests.samples.hudi_scans import doubted_index, filtered, read_parts
from seamkit_tests.samples.outlets import bag


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Partition x has 1 to 100, y 20 to 29, z 5, and 40 in a file overwritten; w is gone.

    Columns of files have no statistics.
    """
    folder = unpack_table("partition-statistics/v9", tmp_path)
    replace_in(folder / ".hoodie/hoodie.properties", "column_stats,", "")
    return folder


@pytest.mark.parametrize(
    ("condition", "left", "files"),
    [
        (pc.field("n") > 41, "x", 3),
        (pc.field("n") == 5, "xz", 2),
        (pc.field("n") == 40, "xz", 2),  # what was overwritten has not left the range
        (pc.field("n") > 1000, "", 5),
        ((pc.field("n") > 40) & (pc.field("ts") > 2), "", 5),
        (pc.field("n").is_null(), "xyz", 0),
        (pc.field("k") == "zz", "xyz", 0),  # ranges of texts are not believed
        ((pc.field("p") == "y") & (pc.field("n") > 41), "", 2),
        (pc.add(pc.field("n"), 1) > 1000, "xyz", 0),
    ],
)
def test_partitions_are_left_out_by_their_ranges(
    folder: Path, condition: pc.Expression, left: str, files: int
) -> None:
    """The rows are those of a whole read, and a plan tells how many files are left out."""
    scan = filtered(folder, condition)
    assert read_parts(scan) == left
    line = scan.explain().splitlines()[-1]
    words = f"files: {files} by what is known of its partition"
    assert words in line if files else "files:" not in line
    whole = HudiTable(str(folder), listing="files").scan().to_table()
    assert bag(scan.to_table()) == bag(whole.filter(condition))
    again = pickle.loads(pickle.dumps(scan))  # noqa: S301 - ours
    assert read_parts(again) == left


def test_other_states_of_the_table_are_not_asked_about(folder: Path) -> None:
    """Ranges are those of now: what w had is told of, what an older state had need not be."""
    first = min(path.name[:17] for path in (folder / ".hoodie/timeline").glob("2*"))
    scan = filtered(folder, pc.field("n") > 41, as_of=first)
    assert read_parts(scan) == "wxyz"
    assert "partition statistics" not in scan.explain().splitlines()[0]
    assert scan.to_table().column("k").to_pylist() == ["h"]


def test_writes_that_came_after_the_instants_were_listed_spoil_the_ranges(folder: Path) -> None:
    """A later write may have made them narrower than what is read."""
    metadata = folder / ".hoodie/metadata/.hoodie/timeline"
    newest = max(metadata.glob("2*_*.deltacommit"), key=lambda path: path.name)
    scan = filtered(folder, pc.field("n") > 1000)
    shutil.copy(newest, metadata / "20991231000000000_20991231000001000.deltacommit")
    for state in ("requested", "inflight"):
        (metadata / f"20991231000000000.deltacommit.{state}").touch()
    assert read_parts(scan) == "xyz"


def _with(
    monkeypatch: pytest.MonkeyPatch, folder: Path, *records: Mapping[str, Any]
) -> PartitionStats:
    """Statistics of a table whose index has some records, of one column of one partition each."""
    whole = {"isDeleted": False, "isTightBound": True, "nullCount": 0, "valueCount": 2}
    named = {"fileName": "p=x", "columnName": "n", **whole}

    def told(*_: object) -> Iterator[tuple[str, Any]]:
        for record in records:
            own = {**named, **record}
            for name in ("minValue", "maxValue"):
                own[name] = None if own[name] is None else {"value": own[name]}
            key = own.pop("key", "columncolumnpartpartpart")
            yield key, {"ColumnStatsMetadata": own}

    monkeypatch.setattr(MetadataTable, "records", told)
    storage = Storage(str(folder))
    timeline = load_timeline(storage, load_config(storage))
    return PartitionStats(storage, timeline, pa.schema({"n": pa.int64()}))


def _within(least: int, greatest: int) -> pc.Expression:
    column = pc.field("n")
    return ((column >= least) | column.is_null()) & ((column <= greatest) | column.is_null())


@pytest.mark.parametrize(
    ("records", "known"),
    [
        ([(1, 9, {})], (1, 9)),
        ([(1, 9, {}), (20, 29, {})], (20, 29)),
        ([(1, 9, {}), (20, 29, {"isTightBound": False})], (1, 29)),
        ([(20, 29, {}), (1, 9, {"isTightBound": False})], (1, 29)),
        ([(None, None, {"nullCount": 2}), (1, 9, {"isTightBound": False})], (1, 9)),
        ([(1, 9, {}), (1, 9, {"isDeleted": True})], None),
        ([(9, 1, {})], None),
        ([(1, None, {})], None),
        ([(1, 9, {"nullCount": 3})], None),
        ([(1, 9, {"nullCount": 3}), (1, 9, {"isTightBound": False})], None),
        ([(1, None, {}), (1, 9, {"isTightBound": False})], None),
        ([("a", "b", {})], None),
        ([(1, 9, {}), (1, 9, {"key": "columncolumnanother part"})], None),
    ],
)
def test_records_are_put_together_as_hudi_does(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    records: list[tuple[Any, Any, dict[str, Any]]],
    known: tuple[int, int] | None,
) -> None:
    """Tight ones replace, others widen; what contradicts itself or is told twice says nothing."""
    given = [{"minValue": low, "maxValue": high, **rest} for low, high, rest in records]
    found = _with(monkeypatch, folder, *given).bounds("p=x", ["n"])
    assert (found is None) == (known is None)
    assert found is None or known is None or found.equals(_within(*known))


def test_an_index_that_cannot_be_read_rules_nothing_out(folder: Path) -> None:
    """One whose logs are cut short."""
    for log in (folder / ".hoodie/metadata/partition_stats").glob(".partition-stats-*.log.*"):
        log.write_bytes(log.read_bytes()[:-7])
    with doubted_index(folder, pc.field("n") > 1000, "partition_stats") as scan:
        assert read_parts(scan) == "xyz"
        assert scan.to_table().num_rows == 0
