"""Golden Hudi tables: what their declarations hold, and what a reader needs for one.

Variants `v6`, `v8` and `v9` are the table versions that Hudi 0.15.0, 1.0.2 and 1.2.0 write of
themselves; `v6-1.2.0` names another writer.
"""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from seambase.errors import UsageError
from seambench.contracts.data_files import build
from seambench.contracts.tables import CommitRequest
from seambench.formats.golden import read_declaration

Row = Mapping[str, Any]
Operation = Literal[
    "bulk_insert",
    "insert",
    "upsert",
    "delete",
    "insert_overwrite",
    "insert_overwrite_table",
    "delete_partition",
    "sql",
    "compact",
    "schedule-compaction",
    "cluster",
    "schedule-clustering",
    "rollback",
    "savepoint",
    "restore",
    "clean",
    "crash",
    "take-up",
]
_WRITERS = {6: "0.15.0", 8: "1.0.2", 9: "1.2.0"}


@dataclass(frozen=True)
class WriteSpec:
    """One step in the life of a golden table: a write, or something done to the table."""

    # Hudi's word for it. `sql` runs `sql`. `compact` and `cluster` run what is scheduled, or
    # schedule and run. `rollback`, `savepoint` and `restore` mean the step `of`. `crash` takes the
    # completion of the step before away, as if its writer had died. `take-up` writes files by
    # another hand than Hudi's, which its client then takes up, in the place of those of the step
    # `of`.
    operation: Operation
    rows: Sequence[Row] = ()  # the rows; a column left out is null
    # the statement; the table is called `golden`, `{path}` is its folder, `{2}` the instant of the
    # second step
    sql: str = ""
    of: int = 0  # number of a step, from 1
    partitions: Sequence[str] = ()  # paths of the partitions that `delete_partition` drops
    without: Sequence[str] = ()  # columns of the table that this write's schema lacks
    # columns that this write gives another type
    retype: Mapping[str, str] = field(default_factory=dict)
    compaction: Literal["none", "schedule", "run"] = "none"  # what happens right after the write
    options: Mapping[str, str] = field(default_factory=dict)  # further options of the writer


@dataclass(frozen=True)
class TableSpec:
    """What a golden table is and how it came to be."""

    name: str
    note: str
    table_version: int
    merge: Literal["event-time", "commit-time", "custom"]
    keys: Sequence[str]
    # its latest schema, with the types of cases (`seambench.conformance.plain`)
    columns: Mapping[str, str]
    writes: Sequence[WriteSpec]
    table_type: Literal["merge-on-read", "copy-on-write"] = "merge-on-read"
    ordering: str | None = None  # its ordering columns, a comma between them
    partition: str | None = None  # its partition columns, a comma between them
    index: Literal["bucket", "consistent", "simple", "bloom", "global_simple", "record_index"] = (
        "bucket"
    )
    buckets: int = 1
    log_blocks: Literal["avro", "parquet"] = "avro"
    side_files: bool = False  # whether Hadoop's checksum files are kept
    hudi: str = "1.2.0"  # version of the Hudi that wrote it
    options: Mapping[str, str] = field(default_factory=dict)  # the writer's options for every write

    @property
    def steps(self) -> Sequence[WriteSpec]:
        """What was done, in order."""
        return self.writes


def load_table(folder: Path, file: Path | None = None) -> TableSpec:
    """Read what a golden table is, from its `table.toml`, or a variant's from the folder above."""
    file, data = read_declaration(folder, file, _variant)
    data["writes"] = [build(WriteSpec, write, file) for write in data.pop("write", [])]
    spec: TableSpec = build(TableSpec, data, file)
    for number, write in enumerate(spec.writes, 1):
        for row in write.rows:
            strange = sorted(set(row) - set(spec.columns) | set(row) & set(write.without))
            if strange and not set(strange) <= set(write.retype):
                raise UsageError(f"{file}: write {number} has values for {strange}, no columns")
    return spec


def _variant(name: str, file: Path) -> dict[str, Any]:
    """Table version and writer that the name of a variant tells."""
    match = re.fullmatch(r"v(\d+)(?:-(\d+\.\d+\.\d+))?", name)
    if not match or (int(match[1]) not in _WRITERS and not match[2]):
        raise UsageError(f"{file}: a variant is v6, v8, v9 or vN-WRITER, not {name!r}")
    version = int(match[1])
    return {"table_version": version, "hudi": match[2] or _WRITERS[version]}


def needs(spec: TableSpec, request: CommitRequest) -> list[str]:
    """Table version, partitions, and how versions of a row are merged where logs take part."""
    words = [f"table-version.{spec.table_version}"]
    if spec.partition:
        words.append("partitioned")
    logs = spec.table_type == "merge-on-read" and len(spec.writes) > 1
    if logs and request.query != "read-optimized" and request.as_of != 1:
        words += [f"merge.{spec.merge}", "blocks.delete", f"blocks.{spec.log_blocks}"]
    return words


def settle(table: Path) -> None:
    """Date files of the timeline right after the instant in their name.

    Hudi takes the time at which an instant of layout 1 completed from the file's date, and loses
    logs if that comes first.
    """
    for file in table.glob(".hoodie/[0-9]*"):
        if match := re.match(r"(\d{14})(\d{3})", file.name):
            second = dt.datetime.strptime(match[1], "%Y%m%d%H%M%S").replace(tzinfo=dt.UTC)
            after = second.timestamp() + (int(match[2]) + 1) / 1000
            os.utime(file, (after, after))
