"""Logs of Delta tables that are written by hand: actions, and commits of them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Action = dict[str, Any]


def field(name: str, kind: str = "long", metadata: Mapping[str, Any] | None = None) -> Action:
    """A nullable column of the schema."""
    return {"name": name, "type": kind, "nullable": True, "metadata": dict(metadata or {})}


def metadata(*fields: Action, **further: Any) -> Action:
    """What a table is; without fields it has one column, `id`."""
    told = {
        "id": "1",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields or [field("id")]}),
        "partitionColumns": [],
        "configuration": {},
    }
    return {"metaData": {**told, **further}}


def protocol(*features: str) -> Action:
    """What readers and writers must know; without features the first versions."""
    if not features:
        return {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
    listed = {"readerFeatures": list(features), "writerFeatures": list(features)}
    return {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **listed}}


def add(path: str, size: int, **further: Any) -> Action:
    """A data file."""
    told = {"partitionValues": {}, "size": size, "modificationTime": 0, "dataChange": True}
    return {"add": {"path": path, **told, **further}}


def add_rows(file: Path, rows: pa.Table, path: str | None = None, **further: Any) -> Action:
    """A data file, which is written."""
    pq.write_table(rows, file)
    return add_file(file, path, **further)


def add_file(file: Path, path: str | None = None, **further: Any) -> Action:
    """A data file that is there, in the table's own folder or under another path."""
    return add(path or file.name, file.stat().st_size, **further)


def commit(table: Path, name: int | str, *actions: Mapping[str, Any]) -> Path:
    """A file of the log, by its version or by its name."""
    path = table / "_delta_log" / (f"{name:020}.json" if isinstance(name, int) else name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(action) + "\n" for action in actions), encoding="utf-8")
    return path


def make(table: Path, fields: Sequence[Action], *added: Action, **further: Any) -> Path:
    """A table of one commit and the first protocol; returns its folder."""
    commit(table, 0, protocol(), metadata(*fields, **further), *added)
    return table
