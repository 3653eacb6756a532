"""What scans keep for each other never outlives a change of the files that it was made of."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import seamkit
from seamkit.files import file_cache
from seamkit.files.file_cache import KEPT, Kept
from seamkit.files.parquet import ParquetReader
from seamkit.files.storage import Storage
from seamkit_tests.samples.calls import Call, calls_of
from seamkit_tests.samples.golden_tables import unpack_table
from seamkit_tests.scan.kept import Read, by_parts, by_relation, by_stream, check_a_commit_is_seen

pytestmark = pytest.mark.usefixtures("nothing_kept")


_DOORS = pytest.mark.parametrize("read", [by_relation, by_stream, by_parts])


@_DOORS
def test_a_second_scan_of_the_same_files_decodes_no_log(
    tmp_path: Path, loads: list[Call], read: Read
) -> None:
    """And has the same rows; once nothing may be kept, logs are decoded again."""
    table = unpack_table("mor-v9-types", tmp_path)
    first = read(table)
    once = len(loads)
    assert read(table) == first
    assert len(loads) == once > 0
    seamkit.keep_at_most(0)
    assert read(table) == first
    assert len(loads) > once


@pytest.mark.parametrize("more", [{}, {"memory_limit_bytes": 1 << 26}])
def test_streams_without_a_filter_or_within_a_limit_keep_no_rows(
    tmp_path: Path, loads: list[Call], more: dict[str, Any]
) -> None:
    """A table that is read once as a whole would push out what queries come back to."""
    table = unpack_table("mor-v9-types", tmp_path)
    given = pc.field("_hoodie_commit_time").is_valid() if more else None
    decoded = []
    for _ in range(2):
        assert seamkit.open_table(table).scan(filter=given, **more).to_table().num_rows
        decoded.append(len(loads))
    assert decoded[1] == 2 * decoded[0] > 0


@_DOORS
@pytest.mark.parametrize("name", ["mor-v9-types", "mor-v6-types"])
def test_a_commit_between_two_scans_is_seen(tmp_path: Path, name: str, read: Read) -> None:
    """As it is without anything kept: before it, after it, and once it is undone."""
    table = unpack_table(name, tmp_path)
    folder = next(f for f in (table / ".hoodie/timeline", table / ".hoodie") if f.is_dir())
    last = max(p.name.split(".")[0].split("_")[0] for p in folder.iterdir() if "commit" in p.name)
    completed = [p for p in folder.glob(f"{last}*") if p.suffix == ".deltacommit"]
    assert completed
    check_a_commit_is_seen(completed, tmp_path, lambda: read(table))


def test_a_file_that_is_written_anew_is_read_anew(tmp_path: Path) -> None:
    """Under the same name, with other row groups and columns."""
    storage = Storage(str(tmp_path))
    for rows in (3, 500, 20):
        written = pa.table({f"c{rows}": range(rows)})
        pq.write_table(written, tmp_path / "a.parquet", row_group_size=7)
        for _ in range(2):
            reader = ParquetReader(storage, "a.parquet")
            batches = reader.batches(written.schema, 1000, use_threads=False)
            assert pa.Table.from_batches(batches) == written


def test_a_footer_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later reader of the same file is given the footer that an earlier one read."""
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "a.parquet", store_schema=False)
    given = calls_of(monkeypatch, pq, "ParquetFile")
    for _ in range(2):
        assert ParquetReader(Storage(str(tmp_path)), "a.parquet").num_rows == 2
    assert [call.named.get("metadata") is not None for call in given] == [False, True]


def test_a_file_that_was_just_written_has_no_identity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be written once more within the same tick of the clock, and look the same."""
    path = tmp_path / "a"
    path.write_bytes(b"x")
    assert file_cache.file_identity(str(path)) is not None
    monkeypatch.setattr(file_cache, "_SETTLED_NS", 1 << 62)
    assert file_cache.file_identity(str(path)) is None
    assert file_cache.file_identity(str(tmp_path / "none")) is None


def test_no_more_is_kept_than_there_is_room_for() -> None:
    """What was used longest ago leaves first; what is larger than all the room is not taken."""
    store = Kept(10)
    for name in "abc":
        store.put(name, name.upper(), 4)
    assert (store.get("a"), store.get("b"), store.get("c")) == (None, "B", "C")
    assert store.get("b") == "B"
    store.put("d", "D", 4)
    assert (store.get("b"), store.get("c"), store.size_bytes) == ("B", None, 8)
    store.put("b", "wide", 11)
    assert (store.get("b"), store.size_bytes) == (None, 4)
    store.resize(0)
    assert (store.get("d"), store.size_bytes) == (None, 0)


@pytest.mark.parametrize("absurd", [-1, True, 1.5, "1"])
def test_absurd_bounds_are_refused(absurd: Any) -> None:
    """The bound is a whole number of bytes."""
    with pytest.raises(seamkit.UsageError, match="most_bytes"):
        seamkit.keep_at_most(absurd)
    assert KEPT.size_bytes == 0
