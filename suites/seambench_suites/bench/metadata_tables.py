"""Gives a table of Hudi's a metadata table that lists its files, as large as the table is.

Properties, the schema of records and the file's own entries are those that Hudi 1.2.0 wrote of a
golden table; the records are written here.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from seambench.formats.hudi.hfiles import Cell, hfile_bytes, read_hfile
from seambench_suites.history.plan_kernels import commit_body

_GOLDEN = Path(str(files("seambench_suites"))) / "golden/hudi/log-compaction/v9/table.zip"
_FOLDER = ".hoodie/metadata"
_ALL_PARTITIONS = "__all_partitions__"
_NAMES_PARTITIONS, _NAMES_FILES = 1, 2
_FIRST = "00000000000000000"  # the instant at which a metadata table is built of a table as it is
_CELLS_A_BLOCK = 200
_KEY_END = struct.pack(">bqb", 0, 0, 4)  # no family, no time, and the kind "put"


def add_metadata_table(root: Path) -> None:
    """List all files of a table in a metadata table, as if it had been built now."""
    with zipfile.ZipFile(_GOLDEN) as archive:
        names = archive.namelist()
        own = root / _FOLDER
        archive.extract(f"{_FOLDER}/.hoodie/hoodie.properties", root)
        written = archive.read(next(n for n in names if n.endswith(".hfile")))
    timeline = own / ".hoodie" / "timeline"
    timeline.mkdir()
    (own / "files").mkdir()
    (own / "files" / ".hoodie_partition_metadata").touch()
    newest = max(p.name for p in (root / ".hoodie/timeline").iterdir() if "_" in p.name)
    (timeline / f"{newest.partition('.')[0]}.deltacommit").write_bytes(commit_body({}))
    (timeline / f"{_FIRST}_{_FIRST}.deltacommit").write_bytes(commit_body({}))
    target = own / "files" / f"files-0000-0_0-0-0_{_FIRST}.hfile"
    golden = read_hfile(written)
    cells = [
        Cell(struct.pack(">h", len(key)) + key + _KEY_END, value, b"\0")
        for key, value in _records(root, golden.schema)
    ]
    table = replace(golden, cells=cells, others=())
    target.write_bytes(hfile_bytes(table, cells_a_block=_CELLS_A_BLOCK))
    with (root / ".hoodie/hoodie.properties").open("a") as properties:
        properties.write("hoodie.table.metadata.partitions=files\n")


def _records(root: Path, text: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Keys in order, with their records as bytes of Avro."""
    import fastavro

    schema = fastavro.parse_schema(json.loads(text))
    folders = [p for p in root.iterdir() if p.is_dir() and p.name != ".hoodie"]
    known = {_ALL_PARTITIONS: (_NAMES_PARTITIONS, {p.name: _file(0) for p in folders})}
    for folder in folders:
        named = (p for p in folder.iterdir() if not p.name.startswith(".hoodie"))
        known[folder.name] = _NAMES_FILES, {p.name: _file(p.stat().st_size) for p in named}
    for key, (kind, listed) in sorted(known.items()):
        out = io.BytesIO()
        record = {"key": key, "type": kind, "filesystemMetadata": listed}
        fastavro.schemaless_writer(out, schema, record)
        yield key.encode(), out.getvalue()


def _file(size_bytes: int) -> Mapping[str, Any]:
    return {"size": size_bytes, "isDeleted": False}
