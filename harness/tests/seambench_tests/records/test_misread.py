"""Tables that somebody misread are kept beside a record, and copied beside the page."""

import os
import zipfile
from pathlib import Path

import pytest

from seambench.records import misread

CASE = "table-writer/delta/rows/append"


def _table(folder: Path, content: bytes) -> Path:
    (folder / "table" / "log").mkdir(parents=True)
    (folder / "table" / "log" / "0.json").write_bytes(content)
    return folder / "table"


def test_a_table_lies_beside_its_record(tmp_path: Path) -> None:
    """Of two implementations each record has the tables of its own."""
    for name in ("one", "two"):
        misread.pack(_table(tmp_path / name, name.encode()), tmp_path / "kept" / name, CASE)
        misread.keep(tmp_path / "kept" / name, tmp_path / f"{name}.json")
    misread.keep(tmp_path / "kept" / "three", tmp_path / "three.json")
    assert list(misread.kept(tmp_path / "three.json")) == []
    [archive] = misread.kept(tmp_path / "two.json")
    assert archive.name == "table-writer--delta--rows--append.zip"
    with zipfile.ZipFile(archive) as packed:
        assert packed.read("table/log/0.json") == b"two"


@pytest.mark.parametrize(("size", "many"), [(1000, 1), (misread.MOST_BYTES, 0)])
def test_a_large_table_is_not_kept(size: int, many: int, tmp_path: Path) -> None:
    """An archive has a bound, and the same files make the same bytes."""
    table = _table(tmp_path, os.urandom(size))
    archives = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        misread.pack(table, folder, CASE)
        archives.append([file.read_bytes() for file in folder.iterdir()])
        os.utime(table / "log" / "0.json", (0, 0))
    assert len(archives[0]) == many
    assert archives[0] == archives[1]
