"""A plain reader of Delta tables, and ones that are right only of tables in their writer's form."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from seambench.contracts.common import Kind
from seambench.contracts.scan import ScanRequest
from seambench_suites.meta.simulated import SimulatedScan

_TYPES = {"integer": pa.int32(), "string": pa.string(), "double": pa.float64()}


class PlainDelta:
    """Replays the commits of tables of few types; there are neither partitions nor vectors."""

    name = "plain-delta"
    version = "0"
    kind: Kind = "peer"
    capabilities: Mapping[str, bool] = {"formats.delta": True, "query.snapshot": True}

    def open(self, request: ScanRequest) -> SimulatedScan:
        """The rows of the files that are left."""
        folder, files = Path(request.table), dict[str, Any]()
        schema = pa.schema([])
        for commit in sorted((folder / "_delta_log").glob("[0-9]*.json")):
            if len(commit.stem) != 20:
                continue
            for action in map(json.loads, commit.read_text().splitlines()):
                if add := action.get("add"):
                    files[add["path"]] = add
                elif remove := action.get("remove"):
                    files.pop(remove["path"], None)
                elif told := action.get("metaData"):
                    fields = json.loads(told["schemaString"])["fields"]
                    schema = pa.schema([(one["name"], _TYPES[one["type"]]) for one in fields])
        tables = [
            self.shaped(self.rows(folder / self.path(path), add["size"]), schema)
            for path, add in files.items()
        ]
        table = pa.concat_tables(tables) if tables else schema.empty_table()
        names = table.schema.names if request.columns is None else list(request.columns)
        return SimulatedScan(table.select(names), None)

    def path(self, told: str) -> str:
        """The path that an action means."""
        return unquote(told)

    def rows(self, file: Path, size: int) -> pa.Table:  # noqa: ARG002 - another one needs it
        """The rows of a file."""
        return pq.read_table(file)

    def shaped(self, table: pa.Table, schema: pa.Schema) -> pa.Table:
        """Rows of a file as the table has them."""
        return table.select(schema.names).cast(schema)


class FirstRowGroupAlone(PlainDelta):
    """Takes a file for one row group."""

    def rows(self, file: Path, size: int) -> pa.Table:  # noqa: ARG002
        """Those of the first."""
        return pq.ParquetFile(file).read_row_group(0)


class TakesColumnsByPlace(PlainDelta):
    """Takes the n-th column of a file for the n-th of the table."""

    def shaped(self, table: pa.Table, schema: pa.Schema) -> pa.Table:
        """Other names, same order; what does not fit is null."""
        columns = [
            column if column.type == field.type else pa.nulls(len(table), field.type)
            for column, field in zip(table.columns, schema, strict=True)
        ]
        return pa.table(columns, schema)


class BelievesArrowsSchema(PlainDelta):
    """Hands out the types that Arrow's schema in the footer says."""

    def shaped(self, table: pa.Table, schema: pa.Schema) -> pa.Table:
        """As they come."""
        return table.select(schema.names)


class IgnoresEscapes(PlainDelta):
    """Takes paths of the log for paths of files."""

    def path(self, told: str) -> str:
        """As it stands there."""
        return told


class TakesSizesOnTrust(PlainDelta):
    """Looks for a footer where the log says that a file ends."""

    def rows(self, file: Path, size: int) -> pa.Table:
        """Those of that many bytes."""
        return pq.read_table(pa.BufferReader(file.read_bytes()[:size]))
