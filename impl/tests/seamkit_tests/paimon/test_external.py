"""A data file that lies outside of its table's folder, as its manifest says."""

from pathlib import Path
from typing import Any

import pytest

from seambase.errors import InputError
from seamkit_tests.samples.paimon_tables import rewrite_manifests, rows_of_table, unpack_paimon


def _moved(table: Path, folder: Path) -> list[Path]:
    """Move all data files elsewhere, and have manifests say where they are."""
    files = {file.name: file.replace(folder / file.name) for file in table.glob("bucket-*/data-*")}

    def elsewhere(record: dict[str, Any]) -> None:
        name = record["_FILE"]["_FILE_NAME"]
        record["_FILE"]["_EXTERNAL_PATH"] = str(files.get(name, folder / name))

    rewrite_manifests(table, elsewhere)
    return list(files.values())


@pytest.mark.parametrize("name", ["core-life", "core-sequence-descending", "core-append"])
def test_files_are_read_where_their_manifest_says(name: str, tmp_path: Path) -> None:
    """The rows are those of the table as it was; a file that is gone there is refused."""
    table = unpack_paimon(name, tmp_path)
    before = rows_of_table(table).to_pylist()
    outside = tmp_path / "outside"
    outside.mkdir()
    files = _moved(table, outside)
    assert files
    assert not list(table.glob("bucket-*/data-*"))
    assert rows_of_table(table).to_pylist() == before
    for file in files:
        file.unlink()
    with pytest.raises(InputError, match="outside"):
        rows_of_table(table)
