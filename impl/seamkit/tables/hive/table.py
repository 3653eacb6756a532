"""A Hive table: what it is, what to read of it. No row is touched here."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal, Unpack, get_args

import pyarrow as pa
import pyarrow.compute as pc

from seambase.description import TableDescription
from seambase.errors import UsageError
from seambase.filters import filter_columns
from seambase.scan import ScanWarning
from seambase.wording import counted
from seamkit.core.tasks import gc_paused
from seamkit.files.storage import Storage, table_address
from seamkit.scan.arguments import Filter, RunOptions, ScanOptions
from seamkit.scan.pruning import units_that_may_match
from seamkit.scan.scan import Scan
from seamkit.scan.units import DataFile, ReadPlan, ReadUnit
from seamkit.tables.hive.data_files import open_data_file
from seamkit.tables.hive.listing import Folders, Listed, Values, list_files, list_folders
from seamkit.tables.hive.row_format import (
    Description,
    RowFormat,
    describe,
    describe_partition,
    read_descriptor,
    row_format,
)
from seamkit.tables.table import FolderTable, TableState, described

_Query = Literal["snapshot"]

#: Formats whose empty files are files without rows: Hive's writer of ORC leaves one where a task
#: had none, and its readers of both pass over them.
_MAY_HAVE_NO_BYTES = ("orc", "avro")


class HiveTable(FolderTable):
    """A folder of files as Hive reads it at the time of the call.

    Without `columns` a descriptor in the folder says what the table is; see
    `seamkit.tables.hive.row_format`.

    Args:
        path: the table's folder, or its address on any storage that fsspec reaches.
        storage_options: arguments of the fsspec file system; a local folder has none.
        columns: Hive's types of the columns in files, by name, in order.
        partitions: likewise of the columns in names of folders, the outermost first.
        file_format: `text`, `csv`, `json`, `sequence`, `parquet`, `orc` or `avro`, or the class of
            a serde.
        properties: of the table and its serde, as `CREATE TABLE` states them.
        folders: gives the partitions where they are not listed but known. Each may lie anywhere,
            and have a format and columns of its own.
        allow: addresses of folders, such as `s3://other` or `file:///data`, in which files that the
            metadata names may lie although they are on another host or storage than the table.

    Raises:
        UsageError: what is said of the table makes no sense.
        InputError: there is no such folder, or its descriptor is missing or broken.
        RefusedError: a format, a type or a property that is not supported.
    """

    title = "Hive"
    is_folders_alone = True
    queries = get_args(_Query)

    def __init__(
        self,
        path: str | os.PathLike[str],
        storage_options: Mapping[str, Any] | None = None,
        *,
        columns: Mapping[str, str] | None = None,
        partitions: Mapping[str, str] | None = None,
        file_format: str = "text",
        properties: Mapping[str, str] | None = None,
        folders: Folders | None = None,
        allow: Sequence[str] = (),
    ) -> None:
        self._storage = Storage(table_address(path), storage_options, allow=allow)
        root = self._storage.root
        if columns is None and (partitions or properties):
            raise UsageError(f"{root}: partitions or properties of a table without columns")
        self._description: Description = (
            read_descriptor(self._storage)
            if columns is None
            else describe(root, file_format, columns, partitions or {}, properties or {})
        )
        if self._description.location is not None:
            self._storage = self._storage.elsewhere(_placed(root, self._description.location))
        self._folders = folders
        self._rows: RowFormat = row_format(self._description, root)

    @property
    def schema(self) -> pa.Schema:
        """The table's columns; those of partitions come last."""
        return self._description.schema

    @property
    def file_format(self) -> str:
        """What its files are."""
        return self._description.format

    @property
    def properties(self) -> Mapping[str, str]:
        """Properties of the table and its serde."""
        return dict(self._description.properties)

    def _facts(self) -> str:
        return f"{self._storage.root}, {self.file_format}"

    def _states(self) -> Iterator[TableState]:
        return iter(())

    def describe(self) -> TableDescription:
        """What the table is, and its files; no row is read."""
        return described(
            self.scan(), format_name="hive", version=self.file_format, state="its files as they are"
        )

    def scan(  # type: ignore[override] # keywords of other formats are mistakes here
        self,
        columns: Sequence[str] | None = None,
        *,
        filter: Filter | None = None,  # noqa: A002  (pyarrow's name for it)
        query: _Query = "snapshot",
        as_of: None = None,
        **run: Unpack[RunOptions],
    ) -> Scan:
        """Plan a read.

        Args:
            columns: names in the order wanted; None for all.
            filter: rows to keep, over any columns of the table: a condition in SQL, for which
                DuckDB must be installed, an expression of `pyarrow.compute` or of Polars, or tuples
                as pyarrow takes them.
            query: `snapshot`; a Hive table has no other view.
            as_of: None: a Hive table has no past.
            **run: `batch_rows`, `threads` and `memory_limit_bytes` (see `RunOptions`), and
                `strict`: refuse what is passed over with a warning otherwise.

        Raises:
            UsageError: an unknown column, a filter that does not fit.
            InputError: a file is missing or broken.
            RefusedError: legal, but not supported.
            UnavailableError: a filter in SQL without DuckDB.
        """
        if as_of is not None:
            raise UsageError(
                f"{self._storage.root}: as_of is {as_of!r}, and a Hive table has no past"
            )
        options = ScanOptions.of(type(self).scan, run)
        table = self._view(query, options)
        unlisted = ReadPlan(table=self._storage.root, schema=self.schema, units=[])
        return table._scan(unlisted, columns, filter, options, narrowed=table._plan)

    @gc_paused()
    def _plan(self, condition: pc.Expression | None) -> ReadPlan:
        """All files but those of partitions that a filter leaves out: these are not listed."""
        filter_columns(condition, self.schema)  # before anything believes it
        warnings: list[ScanWarning] = []
        partitions, left_out = self._description.partitions, 0

        def wanted(values: Sequence[Values]) -> Sequence[bool]:
            nonlocal left_out
            folders = [ReadUnit(name="", files=(), partition=own) for own in values]
            found = units_that_may_match(folders, condition, self.schema)
            left_out += found.count(False)
            return found

        if self._folders is None:
            files = list_files(self._storage, partitions, wanted, warnings)
        else:
            files = list_folders(self._storage, partitions, self._folders(), wanted)
        said = f"unlisted   {counted(left_out, 'folder')} of other partitions"
        return ReadPlan(
            table=self._storage.root,
            schema=self.schema,
            units=list(self._units(files)),
            heading=self.file_format,
            notes=[said] if left_out else [],
            warnings=warnings,
        )

    def _units(self, files: Sequence[Listed]) -> Iterator[ReadUnit]:
        """Each file is one; how rows are written is worked out once a partition."""
        known: dict[int, tuple[Description, RowFormat]] = {}
        for file in files:
            folder, stored = file.folder, (self._description, self._rows)
            if folder and (folder.file_format, folder.columns) != (None, None):
                if id(folder) not in known:
                    own = describe_partition(self._description, folder)
                    known[id(folder)] = own, row_format(own, folder.location)
                stored = known[id(folder)]
            if file.size_bytes or stored[0].format not in _MAY_HAVE_NO_BYTES:
                yield self._unit(file, *stored)

    def _unit(self, file: Listed, description: Description, rows: RowFormat) -> ReadUnit:
        storage = file.storage or self._storage
        name = file.path if file.storage is None else storage.full(file.path)
        opener = partial(open_data_file, storage, file.path, description, rows)
        has_footer = description.format in ("parquet", "orc")
        data = DataFile(storage.full(file.path), file.size_bytes, opener, has_footer=has_footer)
        group = name.rpartition("/")[0]
        return ReadUnit(name=name, files=[data], partition=file.partition, group=group)


def _placed(root: str, location: str) -> str:
    """The folder of the files of a table whose descriptor lies in `root`."""
    absolute = "://" in location or location.startswith("/")
    return location if absolute else f"{root.rstrip('/')}/{location}"
