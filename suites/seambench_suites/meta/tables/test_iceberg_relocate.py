"""A copied Iceberg table names its own files, for readers that believe every path."""

import json
import shutil
import zipfile
from pathlib import Path

import fastavro

from seambench.formats.iceberg.relocate import relocate
from seambench_suites.cases import ROOT


def test_every_path_is_that_of_the_copy(tmp_path: Path) -> None:
    """In metadata, lists and manifests; lengths of manifests stay right."""
    table = tmp_path / "t"
    with zipfile.ZipFile(Path(ROOT) / "golden" / "iceberg" / "v1" / "table.zip") as archive:
        archive.extractall(table)
    relocate(table)
    for file in table.glob("metadata/*.metadata.json"):
        assert json.loads(file.read_text())["location"] == str(table)
    for listed in table.glob("metadata/snap-*.avro"):
        with listed.open("rb") as stream:
            rows = list(fastavro.reader(stream))
        for row in rows:
            manifest = Path(row["manifest_path"])
            assert manifest.parent == table / "metadata"
            assert manifest.stat().st_size == row["manifest_length"]
            with manifest.open("rb") as stream:
                assert all(
                    Path(entry["data_file"]["file_path"]).is_relative_to(table / "data")
                    for entry in fastavro.reader(stream)
                )
    before = {file: file.read_bytes() for file in table.rglob("*") if file.is_file()}
    relocate(table)
    assert all(file.read_bytes() == content for file, content in before.items())
    shutil.rmtree(table)
