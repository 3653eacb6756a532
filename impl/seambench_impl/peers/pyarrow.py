"""pyarrow: base files of a Hudi table, folders as Hive lays them out, files, columns of values."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from seambase.errors import InputError, RefusedError
from seambase.scan import ScanReport
from seambench.contracts.column import ColumnChunk, ColumnRequest
from seambench.contracts.common import Kind, Stage
from seambench.contracts.scan import ScanRequest
from seambench.formats.hive.golden import DESCRIPTOR
from seambench_impl.peers import XFAILS
from seambench_impl.peers.peer_scan import (
    Opened,
    PeerScan,
    SnapshotReader,
    installed_version,
    opened,
    plain_schema,
    select_columns,
)
from seambench_impl.peers.peer_writer import CODEC, DICTIONARY, GROUP_ROWS, FileWriter

# A base file's name: file id, write token, instant. Log files start with a dot.
_BASE = re.compile(r"(?P<file_id>[^.].*)_(?P<token>\d+-\d+-\d+)_(?P<instant>\d{14,17})\.parquet")


def newest_base_files(table: Path) -> list[Path]:
    """The newest base file of each file id of each folder, in the order of their paths."""
    if not (table / ".hoodie").is_dir():
        raise InputError(f"{table} is no Hudi table: it has no folder .hoodie")
    newest: dict[tuple[Path, str], tuple[str, Path]] = {}
    for path in table.rglob("*.parquet"):
        match = _BASE.fullmatch(path.name)
        if match is None or ".hoodie" in path.relative_to(table).parts:
            continue
        slot = (path.parent, match["file_id"])
        newest[slot] = max(newest.get(slot, ("", path)), (match["instant"], path))
    return sorted(path for _, path in newest.values())


OF_BASE_FILES: Mapping[str, bool] = {
    "formats.hudi": True,
    "query.read-optimized": True,
    "table-version.6": True,
    "table-version.9": True,
}


class BaseFilesReader:
    """The read-optimised view of a Hudi table by what reads Parquet files and knows no Hudi."""

    name: str
    package: str
    kind: Kind = "peer"
    capabilities: Mapping[str, bool] = OF_BASE_FILES

    def __init__(self) -> None:
        self.version = installed_version(self.package, self.name, "peers")

    def open(self, request: ScanRequest) -> Any:
        """List the base files and read the schema of the first."""
        if request.query != "read-optimized":
            raise RefusedError(f"{self.name} reads base files alone, not as {request.query}")
        if request.as_of is not None or request.where is not None or request.strict:
            raise RefusedError(
                f"{self.name} takes neither an instant, a filter as text, nor strict"
            )
        files = [str(path) for path in newest_base_files(Path(request.table))]
        if not files:
            raise InputError(f"{request.table} has no base file")
        try:
            whole = pq.read_schema(files[0])
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{request.table}: not readable as Parquet ({error})") from error
        schema = select_columns(whole, request.columns)
        return self._scan(request, files, plain_schema(schema))

    def _scan(self, request: ScanRequest, files: list[str], schema: pa.Schema) -> Any:
        """A scan of the files, of the columns that are asked for."""
        raise NotImplementedError


class PyarrowReader(BaseFilesReader):
    """pyarrow alone: its dataset of the files."""

    name = package = "pyarrow"
    capabilities: Mapping[str, bool] = {
        **OF_BASE_FILES,
        "formats.parquet": True,
        "pushdown": True,
    }
    #: What conformance is known to find in it.
    xfails = XFAILS / "pyarrow.toml"

    def _scan(self, request: ScanRequest, files: list[str], schema: pa.Schema) -> PeerScan:
        return _PyarrowScan(self, request, files, schema)


class _PyarrowScan(PeerScan):
    def __init__(
        self, reader: PyarrowReader, request: ScanRequest, files: list[str], schema: pa.Schema
    ) -> None:
        super().__init__(reader, request, schema, self._read)
        self._files = files

    def dataset(self) -> ds.Dataset:
        """The dataset that pyarrow itself makes of the files."""
        return ds.dataset(self._files, schema=self.schema, format="parquet")

    def report(self) -> ScanReport:
        """Number of files, and rows of the last read."""
        return replace(super().report(), paths={"native": len(self._files)})

    def _read(self, names: list[str]) -> pa.RecordBatchReader:
        rows = self._request.batch_rows
        scanner = ds.dataset(self._files, format="parquet").scanner(
            columns=names,
            use_threads=self._request.threads != 1,
            **({} if rows is None else {"batch_size": rows}),
        )
        return scanner.to_reader()


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


@dataclass(frozen=True)
class _Described:
    """What a reader gets of a table: the format of its files, columns, types of partitions."""

    format: str
    columns: Sequence[str]
    partitions: Mapping[str, str]

    def shown(self, schema: pa.Schema) -> pa.Schema:
        """The table's columns, as far as its files have them."""
        names = [name for name in (*self.columns, *self.partitions) if name in schema.names]
        return pa.schema([schema.field(name) for name in names])


def described_folder(reader: str, request: ScanRequest, formats: Sequence[str]) -> _Described:
    """What a table's descriptor says, as users hand it to readers of folders."""
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

    def _table(self, module: Any, request: ScanRequest, snapshot: int | None) -> Opened:
        del module, snapshot
        folder = described_folder(self.name, request, ["parquet", "orc"])
        kinds = pa.schema([(name, _TYPES[kind]) for name, kind in folder.partitions.items()])
        dataset = ds.dataset(
            request.table, format=folder.format, partitioning=ds.partitioning(kinds, flavor="hive")
        )
        found, read = opened(dataset.schema, lambda names: dataset.to_table(columns=names))
        return folder.shown(found), read


class PyarrowFiles(FileWriter):
    """pyarrow: `parquet.write_table`, of Arrow's C++."""

    name = package = "pyarrow"
    keywords: ClassVar = {
        CODEC: "compression",
        DICTIONARY: "use_dictionary",
        GROUP_ROWS: "row_group_size",
    }

    def write(self, rows: pa.Table, file: Path, given: Mapping[str, Any]) -> None:
        """See `FileWriter`."""
        more = {"compression": "none"} if given.get("compression") == "uncompressed" else {}
        pq.write_table(rows, file, **{**given, **more})


class PyarrowColumns:
    """Arrow columns in place of off-heap ones: no chain of addresses, only steps to time."""

    name = "pyarrow"
    version = pa.__version__
    kind: Kind = "peer"
    capabilities: Mapping[str, bool] = {}

    def chunks(self, request: ColumnRequest) -> list[ColumnChunk]:
        """Not offered."""
        raise RefusedError(f"pyarrow has no off-heap tables for {', '.join(request.fields)}")

    def live_blocks(self) -> int:
        """None: there are no blocks."""
        return 0

    def stages(self, batch: pa.RecordBatch) -> list[Stage]:
        """The steps `values-to-table`, `rows-to-table` and `objects-to-table`, into Arrow."""
        rows = list(zip(*(column.to_pylist() for column in batch.columns), strict=True))
        filled = _Filled(batch.schema, rows)
        return [
            Stage("values-to-table", filled.by_value, lambda found: found),
            Stage("rows-to-table", filled.by_row, lambda found: found),
            Stage("objects-to-table", filled.by_scalar, lambda found: found),
        ]


class _Filled:
    """Rows of Python values, on the way into a batch."""

    def __init__(self, schema: pa.Schema, rows: Sequence[Sequence[Any]]) -> None:
        self._schema = schema
        self._rows = rows

    def by_value(self) -> pa.RecordBatch:
        """One value after the other into lists; an array of each list."""
        columns: list[list[Any]] = [[] for _ in self._schema]
        appends = [column.append for column in columns]
        for row in self._rows:
            for append, item in zip(appends, row):  # noqa: B905 - the rows are as wide as this
                append(item)
        return self._batch(columns)

    def by_row(self) -> pa.RecordBatch:
        """Rows turned into columns at once; an array of each."""
        return self._batch(list(zip(*self._rows, strict=True)))

    def by_scalar(self) -> pa.RecordBatch:
        """Every value becomes a scalar of its column's type."""
        columns: list[list[Any]] = [[] for _ in self._schema]
        sinks = [
            (column.append, field.type) for column, field in zip(columns, self._schema, strict=True)
        ]
        for row in self._rows:
            for (append, kind), item in zip(sinks, row):  # noqa: B905 - the rows are as wide as this
                append(pa.scalar(item, kind))
        return self._batch(columns)

    def _batch(self, columns: Sequence[Sequence[Any]]) -> pa.RecordBatch:
        arrays = [
            pa.array(column, field.type)
            for column, field in zip(columns, self._schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)
