"""Golden tables: small tables that real engines wrote, kept as archives beside what was written.

A folder holds `table.toml` (the operations, declared), `table.zip` (the engine's bytes; an archive,
so that names with leading dots survive packaging) and `origin.toml` (writer, instants, digest).
"""

from __future__ import annotations

import hashlib
import tomllib
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from seambench.errors import InputError, UsageError
from seambench.strict import build

__all__ = ["Origin", "TableSpec", "WriteSpec", "extract", "load_origin", "load_table"]

Row = Mapping[str, Any]


@dataclass(frozen=True)
class WriteSpec:
    """One write into a golden table.

    Attributes:
        operation: Hudi's word for it.
        rows: the rows; a column left out is null.
        without: columns of the table that this write's schema lacks.
        retype: columns that this write gives another type.
        compaction: what happens right after the write.
        options: further options of the writer.
    """

    operation: Literal["bulk_insert", "insert", "upsert", "delete", "insert_overwrite_table"]
    rows: Sequence[Row]
    without: Sequence[str] = ()
    retype: Mapping[str, str] = field(default_factory=dict)
    compaction: Literal["none", "schedule", "run"] = "none"
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TableSpec:
    """What a golden table is and how it came to be. `columns` is its latest schema."""

    name: str
    note: str
    table_version: int
    merge: Literal["event-time", "commit-time"]
    keys: Sequence[str]
    columns: Mapping[str, str]
    writes: Sequence[WriteSpec]
    table_type: Literal["merge-on-read", "copy-on-write"] = "merge-on-read"
    ordering: str | None = None
    partition: str | None = None
    index: Literal["bucket", "consistent", "simple"] = "bucket"
    buckets: int = 1
    log_blocks: Literal["avro", "parquet"] = "avro"
    side_files: bool = False


@dataclass(frozen=True)
class Origin:
    """Who wrote a golden table. `instants` has one requested instant per write, in order."""

    writer: str
    made: str
    instants: Sequence[str]
    sha256: str


def load_table(folder: Path) -> TableSpec:
    """Read `table.toml` of a golden table.

    Raises:
        UsageError: an unknown or missing key, or a row with a column that the table lacks.
    """
    file = folder / "table.toml"
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    data["writes"] = [build(WriteSpec, write, file) for write in data.pop("write", [])]
    data["name"] = folder.name
    spec: TableSpec = build(TableSpec, data, file)
    for number, write in enumerate(spec.writes, 1):
        for row in write.rows:
            strange = sorted(set(row) - set(spec.columns) | set(row) & set(write.without))
            if strange:
                raise UsageError(f"{file}: write {number} has values for {strange}, no columns")
    return spec


def load_origin(folder: Path) -> Origin:
    """Read `origin.toml` of a golden table."""
    file = folder / "origin.toml"
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    data["made"] = str(data.get("made"))
    origin: Origin = build(Origin, data, file)
    return origin


def extract(folder: Path, target: Path) -> None:
    """Unpack a golden table into the folder `target`, after checking its digest.

    Raises:
        InputError: the archive is not the one that `origin.toml` describes.
    """
    archive = folder / "table.zip"
    if hashlib.sha256(archive.read_bytes()).hexdigest() != load_origin(folder).sha256:
        raise InputError(f"{archive} is not the archive that origin.toml describes; make it again")
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(target)
