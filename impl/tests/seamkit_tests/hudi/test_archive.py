"""Archived instants: what the active timeline no longer holds, in either layout (docs/hudi.md)."""

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seambase.errors import InputError
from seamkit.tables.hudi.table import HudiTable
from seamkit_tests.samples.golden_tables import unpack_table
from seamkit_tests.samples.hudi_files import Table, at, base, log, names

VERSIONS = pytest.mark.parametrize("version", [6, 9])


def _stats(*paths: str, schema: str | None = None) -> dict[str, Any]:
    stats = [{"fileId": path.split("_")[0].lstrip("."), "path": path} for path in paths]
    extra = {"extraMetadata": {"schema": schema}} if schema else {}
    return {"partitionToWriteStats": {"": stats}} | extra


def _table(root: Path, version: int) -> Table:
    """Two archived writes and an active one."""
    table = Table(root, version)
    table.archived(
        (at(10), at(11), "commit", _stats(base(10), schema='{"old": 1}')),
        (at(20), at(45), "deltacommit", _stats(log(20) if version >= 8 else log(10))),
    )
    table.instant(at(30), "deltacommit", at(31) if version >= 8 else "completed")
    return table


def test_the_completion_time_of_a_log_comes_from_the_history(tmp_path: Path) -> None:
    """A log whose delta commit was archived belongs to the slice begun before its completion."""
    table = _table(tmp_path, 9)
    table.files(base(10), log(20), base(30))
    (found,) = table.slices()
    assert names(found) == (base(30), [log(20)])  # requested at 20, completed at 45


@VERSIONS
def test_the_schema_may_be_archived(tmp_path: Path, version: int) -> None:
    """Where no active write tells a schema, the latest archived one does."""
    assert _table(tmp_path, version).load().latest_schema() == '{"old": 1}'


@VERSIONS
def test_a_broken_archive_is_an_error(tmp_path: Path, version: int) -> None:
    """An archive that cannot be read is named; what it says is not taken for nothing."""
    table = _table(tmp_path, version)
    (file,) = [*tmp_path.rglob("*.parquet"), *tmp_path.rglob(".commits_*")]
    content = bytearray(file.read_bytes())
    content[len(content) // 2 :] = bytes(len(content) - len(content) // 2)
    if version < 8:  # keep the frame, break the records
        content = bytearray(file.read_bytes()).replace(b"\x00\x00\x00\x06", b"\x00\x00\x00\x60")
    file.write_bytes(content)
    with pytest.raises(InputError, match=file.name.replace(".", r"\.")):
        _ = table.load().archive.instants


@pytest.mark.parametrize(
    ("file", "content"),
    [("_version_", "x"), ("_version_", "7"), ("manifest_1", "{"), ("manifest_1", "{}")],
)
def test_a_broken_manifest_is_an_error(tmp_path: Path, file: str, content: str) -> None:
    """A version without manifest, and a manifest without files, are named."""
    table = _table(tmp_path, 9)
    (table.timeline / "history" / file).write_text(content)
    with pytest.raises(InputError, match="history"):
        _ = table.load().archive.instants


def test_without_a_version_the_newest_manifest_counts(tmp_path: Path) -> None:
    """The version file is rewritten in place and may be missing for a moment."""
    table = _table(tmp_path, 9)
    (table.timeline / "history" / "_version_").unlink()
    assert len(table.load().archive.instants) == 2


def test_texts_of_the_history_are_utf_8(tmp_path: Path) -> None:
    """Bytes that are no text are named, like everything else that is broken."""
    table = _table(tmp_path, 9)
    file = table.timeline / "history" / "1_2_0.parquet"
    broken = pa.array([b"\xb0"]).view(pa.string())
    columns = {"instantTime": broken, "completionTime": broken, "action": ["commit"]}
    pq.write_table(pa.table(columns | {"metadata": [b""]}), file)
    with pytest.raises(InputError, match="1_2_0"):
        _ = table.load().archive.instants


def test_a_file_of_something_else_is_no_archive(tmp_path: Path) -> None:
    """Parquet with other columns is named, and so are the columns that it lacks."""
    table = _table(tmp_path, 9)
    (file,) = tmp_path.rglob("*.parquet")
    pq.write_table(pa.table({"k": [1]}), file)
    with pytest.raises(InputError, match=r"1_2_0\.parquet: not readable as archived .*instantTime"):
        _ = table.load().archive.instants


@pytest.mark.parametrize("damage", ["removed", "emptied"])
@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
def test_a_strict_read_misses_files_of_archived_writes(
    tmp_path: Path, version: str, damage: str
) -> None:
    """The archive alone names a log whose commit it holds, and says how long the log was."""
    root = unpack_table(f"archived/{version}", tmp_path)
    table = HudiTable(str(root))
    (found,) = table.slices()
    paths = [
        path
        for _, body in table.timeline().archive.bodies(["deltacommit"])
        for stats in body["partitionToWriteStats"].values()
        for path, *_ in stats
    ]
    path = next(log.path for log in found.logs if log.path in paths)
    assert table.scan(strict=True).count_rows() == 4  # a, b, c, d
    if damage == "removed":
        (root / path).unlink()
        reason = "missing, but the timeline says"
    else:
        (root / path).write_bytes(b"")
        reason = "0 bytes, but its commit states"
    with pytest.raises(InputError, match=rf"{re.escape(path)}: {reason}"):
        HudiTable(str(root)).scan(strict=True).to_table()
