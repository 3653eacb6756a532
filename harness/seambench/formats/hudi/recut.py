"""Base files cut anew into small row groups: another physical form of the same table.

Spark writes small tables with one row group a file, and nothing that goes by row groups is ever
tried on them: a filter on keys leaves out any of several row groups, or none of one.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.parquet as pq

from seambench.formats.hudi.damage import FILES

__all__ = ["recut_base_files"]

_COMPLETED = frozenset((".commit", ".deltacommit", ".replacecommit"))


def recut_base_files(table: Path, group_rows: int, *, restate: bool = True) -> int:
    """Rewrite a table's Parquet base files with row groups of so many rows.

    Rows, their order and types, and what the footer says for Hudi (ranges of keys, Bloom filters)
    stay.

    Args:
        table: its folder.
        group_rows: most rows in a row group.
        restate: let the completed instants of the active timeline state the new lengths. Not so for
            readers that list files by the metadata table: both state the old ones then.

    Returns:
        How many files have several row groups now.
    """
    lengths: dict[str, int] = {}
    several = 0
    for file in FILES["base"](table):
        rows = pq.read_table(file, partitioning=None)
        with pq.ParquetWriter(file, rows.schema, store_schema=False, compression="zstd") as writer:
            writer.write_table(rows, row_group_size=group_rows)
        lengths[str(file.relative_to(table))] = file.stat().st_size
        several += rows.num_rows > group_rows
    own = table / ".hoodie"
    for file in own.rglob("*") if restate else ():
        if file.suffix in _COMPLETED and file.relative_to(own).parts[0] != "metadata":
            _state(file, lengths)
    return several


def _state(file: Path, lengths: Mapping[str, int]) -> None:
    """Let an instant say how long the files are that it wrote; as JSON (version 6) or as Avro."""
    content, dates = file.read_bytes(), file.stat()
    out = io.BytesIO()
    if content[:4] == b"Obj\x01":
        reader = fastavro.reader(io.BytesIO(content))
        bodies = list(reader)
        changed = _restated(bodies[0], lengths)
        fastavro.writer(out, reader.writer_schema, bodies)
    else:
        body = json.loads(content or b"{}")
        changed = _restated(body, lengths)
        out.write(json.dumps(body, indent=2).encode())
    if changed:
        file.write_bytes(out.getvalue())
        # In version 6 it is the time at which the instant was completed.
        os.utime(file, ns=(dates.st_atime_ns, dates.st_mtime_ns))


def _restated(body: Mapping[str, Any], lengths: Mapping[str, int]) -> bool:
    """Whether an instant wrote one of the files; then it states the file's length."""
    stats = [s for own in (body.get("partitionToWriteStats") or {}).values() for s in own]
    stats = [stat for stat in stats if stat.get("path") in lengths]
    for stat in stats:
        stat["fileSizeInBytes"] = lengths[stat["path"]]
    return bool(stats)
