"""A Delta table: what it is, what to read of it. No row is touched here."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any, get_args

import pyarrow as pa
import pyarrow.compute as pc

from seambase.description import TableDescription
from seambase.errors import InputError, RefusedError, UsageError
from seambase.scan import Query, ScanWarning
from seamkit.files.storage import Storage
from seamkit.scan.arguments import check_choice, check_flag, chosen_columns, filtered_scan
from seamkit.scan.describe import described
from seamkit.scan.options import ScanOptions
from seamkit.scan.scan import Scan
from seamkit.scan.unit_scan import UnitScan
from seamkit.scan.units import DataFile, Mask, ReadPlan, ReadUnit
from seamkit.tables.delta.data_files import open_data_file
from seamkit.tables.delta.log.actions import AddFile
from seamkit.tables.delta.log.folder import LOG, list_log
from seamkit.tables.delta.log.paths import TableFiles
from seamkit.tables.delta.log.protocol import VECTORS, WIDENING, has_feature
from seamkit.tables.delta.log.snapshot import Snapshot, load_snapshot
from seamkit.tables.delta.partition_values import partition_value
from seamkit.tables.delta.schema import TableSchema, table_schema
from seamkit.tables.delta.stats import counted, guarantee
from seamkit.tables.delta.time_travel import asked_version
from seamkit.tables.delta.vectors import read_vector, stored_vector
from seamkit.tables.delta.widening import DeltaTypes

__all__ = ["DeltaTable"]


class DeltaTable:
    """A table as its log shows it at the time of the call.

    Args:
        path: the table's folder, or its address on any storage that fsspec reaches.
        storage_options: arguments of the fsspec file system; a local folder has none.

    Raises:
        InputError: the folder is no Delta table, or its log is broken.
        RefusedError: the table asks for a reader version or feature that is not supported.
    """

    def __init__(self, path: str, storage_options: Mapping[str, Any] | None = None) -> None:
        self._storage = Storage(str(path), storage_options)
        self._files = TableFiles(self._storage)
        self._log = list_log(self._storage)

    @cached_property
    def _newest(self) -> Snapshot:
        return load_snapshot(self._storage, self._log)

    @property
    def version(self) -> int:
        """The newest version."""
        return self._log.newest

    @property
    def schema(self) -> pa.Schema:
        """The columns of the newest version."""
        return self._schema_of(self._newest).arrow

    @property
    def properties(self) -> Mapping[str, str]:
        """The table properties of the newest version."""
        return dict(self._newest.metadata.configuration)

    def __repr__(self) -> str:
        return f"<DeltaTable {self._storage.root}, version {self.version}>"

    def describe(self) -> TableDescription:
        """What the table is, and the files that a snapshot reads; no row is read."""
        protocol = self._newest.protocol
        features = ", ".join(protocol.reader_features or ())
        return described(
            self.scan(),
            format_name="delta",
            version=f"reader version {protocol.min_reader_version}",
            state=f"version {self.version}",
            properties={"reader features": features} if features else {},
        )

    def scan(
        self,
        columns: Sequence[str] | None = None,
        *,
        filter: pc.Expression | str | None = None,  # noqa: A002  (pyarrow's name for it)
        query: Query = "snapshot",
        as_of: int | str | dt.datetime | None = None,
        batch_rows: int | None = None,
        threads: int | None = None,
        memory_limit_bytes: int | None = None,
        strict: bool = False,
    ) -> Scan:
        """Plan a read.

        Args:
            columns: names in the order wanted; None for all.
            filter: rows to keep, over any columns of the table: an expression of
                `pyarrow.compute`, or a condition in SQL, for which DuckDB must be installed.
            query: `snapshot`; a Delta table has no other view here.
            as_of: a version, or a time (ISO 8601, or a `datetime`); None for the newest version.
            batch_rows: most rows in a batch.
            threads: files at once; one per core by default.
            memory_limit_bytes: bytes that the scan's own allocator may hand out at once.
            strict: refuse a log that its checksum file contradicts, where otherwise a warning is
                all.

        Raises:
            UsageError: an unknown column, a filter that does not fit, a version that is not there.
            InputError: a file is missing or broken.
            RefusedError: legal, but not supported.
            UnavailableError: a filter in SQL without DuckDB.
        """
        check_choice("query", query, get_args(Query))
        check_flag("strict", strict)
        if query != "snapshot":
            raise RefusedError(
                f"{self._storage.root}: {query} queries of Delta tables are not supported"
            )
        options = ScanOptions(batch_rows, threads, memory_limit_bytes, strict)
        snapshot = self._newest if as_of is None else self._at(as_of)
        schema = self._schema_of(snapshot)
        root, whole = self._storage.root, schema.arrow
        names = chosen_columns(columns, whole, whole.names, root)
        if strict and snapshot.warnings:
            _refuse(snapshot.warnings[0])
        plan = self._plan(snapshot, schema)

        def make(columns: list[str], condition: pc.Expression | None) -> Scan:
            return UnitScan(plan, columns, condition, options)

        return filtered_scan(make, names, filter, whole)

    def _at(self, as_of: int | str | dt.datetime) -> Snapshot:
        if isinstance(as_of, bool) or not isinstance(as_of, int | str | dt.datetime):
            raise UsageError(f"as_of is {as_of!r}: a version or a time is meant")
        properties: Mapping[str, str] = {}
        if not isinstance(as_of, int):
            properties = self._newest.metadata.configuration
        version = asked_version(as_of, self._storage, self._log, properties)
        return load_snapshot(self._storage, self._log, version)

    def _schema_of(self, snapshot: Snapshot) -> TableSchema:
        return table_schema(snapshot.protocol, snapshot.metadata, self._storage.root)

    def _plan(self, snapshot: Snapshot, schema: TableSchema) -> ReadPlan:
        types = DeltaTypes(has_feature(snapshot.protocol, *WIDENING))
        units = [self._unit(add, snapshot, schema, types) for add in snapshot.files]
        return ReadPlan(
            table=self._storage.root,
            schema=schema.arrow,
            units=units,
            heading=f"version {snapshot.version}, {len(units)} files",
            warnings=snapshot.warnings,
        )

    def _unit(
        self, add: AddFile, snapshot: Snapshot, schema: TableSchema, types: DeltaTypes
    ) -> ReadUnit:
        """One data file, with the rows that its deletion vector takes out."""
        mask = None
        if add.vector is not None:
            if not has_feature(snapshot.protocol, VECTORS):
                raise InputError(
                    f"{self._storage.root}/{LOG}: {add.path} has a deletion vector, and the "
                    f"table's protocol lacks the feature {VECTORS!r}"
                )
            mask = Mask(partial(read_vector, self._files, add.vector))
        opened = partial(open_data_file, self._files, add, schema, types)
        plain = [
            f for f in schema.fields if not f.children and f.name not in schema.partition_columns
        ]
        return ReadUnit(
            name=add.path,
            files=[DataFile(add.path, add.size_bytes, opened, rows=counted(add)[0])],
            partition=self._partition(add, schema),
            changes=mask,
            reason="" if add.vector is None else f"{add.vector.cardinality} rows are deleted",
            guarantee=guarantee(add, plain),
            changed_by=[] if add.vector is None else [stored_vector(self._files, add.vector)],
            group="/".join(f"{name}={value}" for name, value in add.partition_values.items()),
        )

    def _partition(self, add: AddFile, schema: TableSchema) -> Mapping[str, pa.Scalar]:
        values = {}
        for name in schema.partition_columns:
            field = schema.field(name)
            where = f"{self._storage.root}/{LOG}: {add.path}, column {name!r}"
            if field.physical not in add.partition_values:
                raise InputError(f"{where}: the log has no partition value")
            values[name] = partition_value(add.partition_values[field.physical], field.type, where)
        return values


def _refuse(warning: ScanWarning) -> None:
    raise InputError(f"{warning.file}: {warning.reason}")
