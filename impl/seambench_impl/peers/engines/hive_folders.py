"""Readers of folders of Parquet and ORC as Hive lays them out: pyarrow.dataset and DuckDB.

Both find partitions in the names of folders. What the table's descriptor says besides is handed to
them as their users would: the types of partitions, and which columns of the files to show.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from seambase.errors import RefusedError
from seambench.contracts.scan import ScanRequest
from seambench.formats.hive.golden import DESCRIPTOR
from seambench_impl.peers.snapshot_reader import XFAILS, SnapshotReader, plain_table

_TYPES: Mapping[str, pa.DataType] = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "string": pa.string(),
    "date": pa.date32(),
    "boolean": pa.bool_(),
    "double": pa.float64(),
}

_Opened = tuple[pa.Schema, Callable[[list[str]], pa.Table]]


@dataclass(frozen=True)
class _Described:
    """What a reader is told of a table: the format of its files, columns, types of partitions."""

    format: str
    columns: Sequence[str]
    partitions: Mapping[str, str]

    def shown(self, found: pa.Schema) -> pa.Schema:
        """The table's columns, as far as they were found."""
        names = [name for name in (*self.columns, *self.partitions) if name in found.names]
        return pa.schema([found.field(name) for name in names])


def _described(reader: str, request: ScanRequest, formats: Sequence[str]) -> _Described:
    if request.as_of is not None or request.storage_options:
        raise RefusedError(f"{reader} takes neither an instant nor options of a storage")
    stated = json.loads((Path(request.table) / DESCRIPTOR).read_text(encoding="utf-8"))
    if stated["format"] not in formats:
        raise RefusedError(f"it reads folders of {' and '.join(formats)}, not {stated['format']}")
    partitions = {one["name"]: one["type"] for one in stated.get("partitions", [])}
    for kind in partitions.values():
        if kind not in _TYPES:
            raise RefusedError(f"{reader}: partitions of type {kind} are not handed to it")
    columns = [one["name"] for one in stated["columns"]]
    return _Described(stated["format"], columns, partitions)


class ArrowFolders(SnapshotReader):
    """pyarrow: `dataset(folder, partitioning=...)`."""

    name = "pyarrow-hive"
    package = "pyarrow"
    #: What conformance is known to find in it.
    xfails = XFAILS / "pyarrow-hive.toml"

    def _table(self, module: Any, request: ScanRequest, snapshot: int | None) -> _Opened:
        del module, snapshot
        told = _described(self.name, request, ["parquet", "orc"])
        kinds = pa.schema([(name, _TYPES[kind]) for name, kind in told.partitions.items()])
        dataset = ds.dataset(
            request.table, format=told.format, partitioning=ds.partitioning(kinds, flavor="hive")
        )

        def read(names: list[str]) -> pa.Table:
            return plain_table(dataset.to_table(columns=names))

        return told.shown(plain_table(dataset.schema.empty_table()).schema), read


class DuckDBFolders(SnapshotReader):
    """DuckDB: `read_parquet(files, hive_partitioning = true, union_by_name = true)`."""

    name = "duckdb-hive"
    package = "duckdb"
    #: What conformance is known to find in it.
    xfails = XFAILS / "duckdb-hive.toml"

    def _table(self, module: Any, request: ScanRequest, snapshot: int | None) -> _Opened:
        del snapshot
        told = _described(self.name, request, ["parquet"])
        found = sorted(path for path in Path(request.table).rglob("*") if path.is_file())
        files = [str(path) for path in found if not path.name.startswith(("_", "."))]
        relation = module.connect().read_parquet(
            files, hive_partitioning=bool(told.partitions), union_by_name=True
        )

        def read(names: list[str]) -> pa.Table:
            listed = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
            return plain_table(relation.project(listed).to_arrow_table())

        return told.shown(plain_table(relation.limit(0).to_arrow_table()).schema), read
