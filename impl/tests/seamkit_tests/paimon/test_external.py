"""A data file that lies outside of its table's folder, as its manifest says."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pytest

from seambase.errors import InputError
from seamkit.avro.records import read_container
from seamkit_tests.samples.paimon_tables import rows_of_table, unpack_paimon


def _rewritten(file: Path, change: Callable[[dict[str, Any]], None]) -> int:
    """Change the records of an Avro file; returns its new size."""
    content = file.read_bytes()
    schema = fastavro.reader(io.BytesIO(content)).writer_schema
    records = list(read_container(content, str(file)))
    for record in records:
        change(record)
    out = io.BytesIO()
    fastavro.writer(out, schema, records)
    return file.write_bytes(out.getvalue())


def _moved(table: Path, folder: Path) -> list[Path]:
    """Move all data files elsewhere, and have manifests say where they are."""
    files = {file.name: file.replace(folder / file.name) for file in table.glob("bucket-*/data-*")}
    sizes: dict[str, int] = {}

    def elsewhere(record: dict[str, Any]) -> None:
        name = record["_FILE"]["_FILE_NAME"]
        record["_FILE"]["_EXTERNAL_PATH"] = str(files.get(name, folder / name))

    def resized(record: dict[str, Any]) -> None:
        record["_FILE_SIZE"] = sizes[record["_FILE_NAME"]]

    manifests = sorted(table.glob("manifest/manifest-*"))
    lists = [file for file in manifests if file.name.startswith("manifest-list-")]
    for file in manifests:
        if file not in lists:
            sizes[file.name] = _rewritten(file, elsewhere)
    lengths = {file.name: _rewritten(file, resized) for file in lists}
    for file in table.glob("snapshot/snapshot-*"):
        snapshot = json.loads(file.read_text("utf-8"))
        for word in ("base", "delta", "changelog"):
            if snapshot.get(f"{word}ManifestListSize") is not None:
                snapshot[f"{word}ManifestListSize"] = lengths[snapshot[f"{word}ManifestList"]]
        file.write_text(json.dumps(snapshot), "utf-8")
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
