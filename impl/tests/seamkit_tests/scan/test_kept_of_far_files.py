"""What is kept of files far away goes by what the listings of their folders say of them."""

import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seamkit
from seambench.bench.delayed_storage import DelayedFileSystem, requests
from seamkit.files.parquet import ParquetReader
from seamkit.files.storage import Storage
from seamkit_tests.samples.golden_tables import unpack_table
from seamkit_tests.scan.kept import Rows, check_a_commit_is_seen, relation_rows

pytestmark = pytest.mark.usefixtures("nothing_kept")

_HOUR = 3600


def _age(folder: Path, seconds: int = _HOUR) -> None:
    """Let all files below be so old."""
    then = time.time() - seconds
    for path in folder.rglob("*"):
        os.utime(path, (then, then))


def _rows(table: Path, options: Mapping[str, Any] | None = None) -> Rows:
    """All rows as DuckDB reads them, over a table far away that is opened anew."""
    return relation_rows(seamkit.open_table(f"delayed://{table}", storage_options=options).scan())


def _marked(monkeypatch: pytest.MonkeyPatch, name: str, marks: Mapping[str, Any]) -> None:
    """Let listings tell a mark of each file, by its name, and no time."""
    original = DelayedFileSystem.ls

    def listed(self: Any, path: str, detail: bool = False, **options: Any) -> Any:
        told = original(self, path, detail, **options)
        for info in told if detail else ():
            info["mtime"] = None
            info[name] = marks.get(Path(info["name"]).name)
        return told

    monkeypatch.setattr(DelayedFileSystem, "ls", listed)


def _identity(folder: Path, options: Mapping[str, Any] | None = None) -> Any:
    storage = Storage(f"delayed://{folder}", options)
    storage.list()
    return storage.file_identity("a")


def test_a_second_scan_of_settled_files_decodes_no_log(
    tmp_path: Path, loads: list[Sequence[str]]
) -> None:
    """Nor reads a footer; whoever reaches the storage otherwise is given nothing."""
    table = unpack_table("mor-v9-types", tmp_path)
    _age(tmp_path)
    first = _rows(table)
    once = len(loads)
    cold = sum(one.kind == "read" for one in requests())
    assert _rows(table) == first
    assert len(loads) == once > 0
    assert sum(one.kind == "read" for one in requests()) < cold
    assert _rows(table, {"auto_mkdir": False}) == first
    assert len(loads) > once


def test_a_commit_between_two_scans_is_seen(tmp_path: Path) -> None:
    """Before it, after it, and once it is undone: each scan lists the timeline."""
    table = unpack_table("mor-v9-types", tmp_path)
    _age(tmp_path)
    completed = max((table / ".hoodie/timeline").glob("*.deltacommit"))
    check_a_commit_is_seen([completed], tmp_path, lambda: _rows(table))


def test_a_file_that_is_written_anew_is_read_anew(tmp_path: Path) -> None:
    """Under the same name, and seen by the next listing."""
    for seconds, rows in ((3 * _HOUR, 3), (2 * _HOUR, 500), (_HOUR, 20)):
        written = pa.table({f"c{rows}": range(rows)})
        pq.write_table(written, tmp_path / "a.parquet", row_group_size=7)
        _age(tmp_path, seconds)
        for _ in range(2):
            storage = Storage(f"delayed://{tmp_path}")
            storage.list()
            reader = ParquetReader(storage, "a.parquet")
            batches = reader.batches(written.schema, 1000, use_threads=False)
            assert pa.Table.from_batches(batches) == written


def test_times_tell_files_apart_once_they_have_settled(tmp_path: Path) -> None:
    """And another size is another file."""
    (tmp_path / "a").write_bytes(b"x")
    assert _identity(tmp_path) is None
    _age(tmp_path)
    found = _identity(tmp_path)
    assert found is not None
    assert _identity(tmp_path) == found
    _age(tmp_path, 2 * _HOUR)
    assert _identity(tmp_path) != found
    (tmp_path / "a").write_bytes(b"xy")
    _age(tmp_path)
    assert _identity(tmp_path) not in (None, found)


@pytest.mark.parametrize("name", ["ETag", "etag", "generation", "versionId"])
def test_marks_tell_files_apart_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Without a time; a file without a mark has no identity, nor has one that was not listed."""
    (tmp_path / "a").write_bytes(b"x")
    marks: dict[str, Any] = {"a": '"1f"'}
    _marked(monkeypatch, name, marks)
    found = _identity(tmp_path)
    assert found is not None
    assert _identity(tmp_path) == found
    assert _identity(tmp_path, {"auto_mkdir": False}) not in (None, found)
    marks["a"] = '"2e"'
    assert _identity(tmp_path) not in (None, found)
    del marks["a"]
    assert _identity(tmp_path) is None
    assert Storage(f"delayed://{tmp_path}").file_identity("a") is None


def _planned(table: Path, options: Mapping[str, Any] | None = None) -> Counter[str]:
    """What planning a table that is opened anew asks for, by kind."""
    requests()
    seamkit.HudiTable(f"delayed://{table}", storage_options=options).scan().explain()
    return Counter(one.kind for one in requests())


@pytest.mark.parametrize("name", ["mor-v9-types", "metadata-table/v9"])
def test_a_second_plan_reads_properties_alone(tmp_path: Path, name: str) -> None:
    """Folders and the timeline are listed, and say that nothing has changed."""
    table = unpack_table(name, tmp_path)
    _age(tmp_path)
    first, second = _planned(table), _planned(table)
    has_metadata = name.startswith("metadata")
    assert second["read"] == (2 if has_metadata else 1) < first["read"]
    assert second["list"] == first["list"] > 2
    assert _planned(table, {"auto_mkdir": False})["read"] == first["read"]


def test_a_write_between_two_plans_is_seen_by_the_metadata_table(tmp_path: Path) -> None:
    """Before it and once it is done: what is kept of its files goes by its own timeline, too."""
    table = unpack_table("metadata-table/v9", tmp_path)
    _age(tmp_path)
    timelines = [table / ".hoodie/timeline", table / ".hoodie/metadata/.hoodie/timeline"]
    newest = max(path.name[:17] for path in timelines[0].glob("2*_*"))
    moved = [path for own in timelines for path in own.glob(f"{newest}_*")]
    assert len(moved) == 2
    check_a_commit_is_seen(moved, tmp_path, lambda: _rows(table))
