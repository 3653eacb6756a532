"""Folders that somebody made to hang, kill or mislead a reader: named errors, at once."""

import os
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from seambase.errors import InputError
from seamkit.files import storage as storage_module
from seamkit.files.parquet import ParquetReader
from seamkit.files.storage import Storage
from seamkit.tables.hudi.listing.files import list_files
from seamkit.tables.hudi.table import HudiTable
from seamkit_tests.samples.golden_tables import unpack_table


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table that Hudi wrote."""
    return unpack_table("mor-v9-event", tmp_path / "table")


@pytest.mark.parametrize("target", [".", "..", "sub"])
def test_links_in_a_circle_are_refused(target: str, table: Path) -> None:
    """Two links to a folder above them lead to 2^40 folders."""
    (table / "sub").mkdir()
    folder = table / "sub" if target == ".." else table
    for name in ("a", "b"):
        (folder / name).symlink_to(target)
        (table / "sub" / f"{name}2").symlink_to(table)
    with pytest.raises(InputError, match="a link leads to a folder that holds it"):
        HudiTable(str(table)).scan()


def test_a_link_to_another_folder_is_followed(table: Path, tmp_path: Path) -> None:
    """The owner of a table may keep a part of it elsewhere."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / ".hoodie_partition_metadata").touch()
    (table / "part").symlink_to(tmp_path / "elsewhere")
    assert "part" in list_files(Storage(str(table))).partitions


@pytest.mark.parametrize("below", ["sub", "sub/deeper"])
def test_a_table_within_a_table_is_another_one(table: Path, below: str) -> None:
    """Files of a table that lies in a folder of a table are none of its own, however old.

    Hudi lists the folder of a table without partitions alone (`BaseHoodieTableFileIndex`).
    """
    before = HudiTable(str(table)).scan().to_table()
    inner = unpack_table("mor-v9-base-only", table / below)
    for path in [*inner.glob("*.parquet")]:  # older than all that the table's timeline has
        path.rename(path.with_name(re.sub(r"_\d{17}\.", "_20200101000000000.", path.name)))
    assert list_files(Storage(str(table))).partitions.keys() == {""}
    assert HudiTable(str(table)).scan().to_table().equals(before)


@pytest.mark.parametrize(
    "pattern",
    [".hoodie/hoodie.properties", ".hoodie/timeline/*_*.deltacommit", "*.parquet", ".*.log.*"],
)
def test_what_is_no_regular_file_is_not_opened(pattern: str, table: Path) -> None:
    """Nobody writes into the pipe, and the device never ends."""
    path = next(p for p in sorted(table.glob(pattern)) if p.suffix != ".crc")
    for make in (os.mkfifo, lambda p: p.symlink_to("/dev/zero")):
        path.unlink()
        make(path)
        with pytest.raises(InputError, match=r"no regular file|but its commit states"):
            HudiTable(str(table)).scan().to_table()


@pytest.mark.parametrize("path", ["../other", "a/../../b", "/etc/passwd", "a\0b"])
def test_paths_lead_nowhere_else(path: str, table: Path) -> None:
    """Names in manifests and properties are not trusted; links are."""
    storage = Storage(str(table))
    for ask in (storage.read, storage.map, storage.open, storage.exists, storage.list):
        with pytest.raises(InputError, match="leads out of the table's folder"):
            ask(path)


def test_a_file_that_should_be_small_is_not_read_whole(table: Path) -> None:
    """Nothing of its kind is longer, so its length alone says that it is none."""
    with pytest.raises(InputError, match="longer than 10 bytes"):
        Storage(str(table)).read(".hoodie/hoodie.properties", most_bytes=10)


def test_names_that_are_no_text_are_refused(table: Path) -> None:
    """A folder's name that is not UTF-8 cannot be told in a message or a partition column."""
    (table / os.fsdecode(b"\xff\xfe")).mkdir()
    with pytest.raises(InputError, match="not UTF-8"):
        HudiTable(str(table)).scan()


@pytest.mark.parametrize("large_bytes", [1, 1 << 20])
def test_a_file_gives_the_same_bytes_read_or_mapped(
    large_bytes: int, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what is large is mapped; a small file may be cut meanwhile, and its bytes stay."""
    monkeypatch.setattr(storage_module, "LARGE_BYTES", large_bytes)
    (path,) = table.glob("*.parquet")
    content = path.read_bytes()
    storage = Storage(str(table))
    mapped, opened = storage.map(path.name), storage.open(path.name)
    if large_bytes > len(content):
        os.truncate(path, 0)
    assert mapped.to_pybytes() == content
    assert opened.read() == content


def test_a_column_whose_name_is_no_text_is_a_named_error(table: Path) -> None:
    """The footer of a Parquet file may hold any bytes."""
    (path,) = table.glob("*.parquet")
    rows = pq.read_table(path)
    pq.write_table(rows.rename_columns([*rows.schema.names[:-1], "tsts"]), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"tsts", b"\xff\xfe\xfd\xfc"))
    with pytest.raises(InputError, match="not readable as Parquet"):
        ParquetReader(Storage(str(table)), path.name)
