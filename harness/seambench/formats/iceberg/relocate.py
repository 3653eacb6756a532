"""A table of a Hadoop catalog that was copied, made to name its own files.

Paths in Iceberg's metadata are absolute. Data sets begin as copies of one table, to which Spark
then writes: it must find the copy's files, not those of a folder that goes away.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from seambench.formats.forms.containers import read_avro, write_avro


def relocate(table: Path) -> None:
    """Change the paths in all metadata of a local table without deletes to where it lies now."""
    folder = table / "metadata"
    for file in sorted(folder.glob("*.metadata.json")):
        content = json.loads(file.read_text(encoding="utf-8"))
        before = content["location"]
        if before == str(table):
            return
        for listed in folder.glob("snap-*.avro"):
            _rewrite_list(listed, before, str(table))
        file.write_text(json.dumps(_moved(content, before, str(table))), encoding="utf-8")
    for side in folder.glob(".*.crc"):  # Hadoop's checksums of what was changed
        side.unlink()


def _rewrite_list(listed: Path, before: str, after: str) -> None:
    content = read_avro(listed)
    rows = _moved(content.rows, before, after)
    for row in rows:
        manifest = Path(row["manifest_path"])
        own = read_avro(manifest)
        write_avro(manifest, replace(own, rows=_moved(own.rows, before, after)))
        row["manifest_length"] = manifest.stat().st_size
    write_avro(listed, replace(content, rows=rows))


def _moved(value: Any, before: str, after: str) -> Any:
    """Plain data whose texts that begin with one path begin with another."""
    if isinstance(value, str):
        inside = value == before or value.startswith(f"{before}/")
        return after + value[len(before) :] if inside else value
    if isinstance(value, dict):
        return {name: _moved(inner, before, after) for name, inner in value.items()}
    return [_moved(one, before, after) for one in value] if isinstance(value, list) else value
