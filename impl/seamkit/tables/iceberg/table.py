"""An Iceberg table: what it is, what to read of it. No row is touched here."""

from __future__ import annotations

import datetime as dt
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, Unpack, get_args

import pyarrow as pa
import pyarrow.compute as pc

from seambase.description import TableDescription
from seambase.errors import InputError, UsageError
from seambase.filters import filter_columns
from seambase.scan import ScanWarning
from seamkit.catalogs.iceberg import SCHEME, metadata_address
from seamkit.files.storage import Storage, table_address
from seamkit.scan.arguments import Filter, RunOptions, ScanOptions
from seamkit.scan.scan import Scan
from seamkit.scan.units import ReadPlan, ReadUnit
from seamkit.tables.iceberg.changes import (
    CHANGE_COLUMNS,
    CommitChanges,
    appended_files,
    changed_units,
    line_between,
    snapshots_between,
)
from seamkit.tables.iceberg.data_files import FileOpener, NameMapping, name_mapping
from seamkit.tables.iceberg.metadata.document import (
    Reference,
    Snapshot,
    TableFiles,
    TableMetadata,
    load,
    load_newest,
    split_address,
)
from seamkit.tables.iceberg.metadata.schema import LINEAGE, Schema
from seamkit.tables.iceberg.planning import Planner
from seamkit.tables.states import refuse_taken_names
from seamkit.tables.table import (
    FolderTable,
    Moment,
    TableState,
    described,
    micros,
    parsed_moment,
    too_early,
    utc_time,
)

_MAPPING = "schema.name-mapping.default"
_XTABLE = "XTABLE_METADATA"
_LINEAGE_VERSION = 3
_MOST_SKEW = 60_000

REFERENCE = "ref:"
"""In front of the name of a branch or a tag that could be taken for a number or a time."""

_Query = Literal["snapshot", "incremental", "cdc"]


class IcebergTable(FolderTable):
    """A table as one of its metadata files shows it.

    Args:
        path: the table's folder, whose newest metadata file counts, or one of its metadata files;
            or the address of either on any storage that fsspec reaches; or its name in a catalog,
            `iceberg://CATALOG/NAMESPACE.TABLE` (see `seamkit.catalogs.iceberg`).
        storage_options: arguments of the fsspec file system; a local folder has none. Of a table
            in a catalog they count in the place of what its catalog says.
        allow: addresses of folders, such as `s3://other` or `file:///data`, in which files that the
            metadata names may lie although they are on another host or storage than the table.

    Raises:
        InputError: the folder is no Iceberg table, or its metadata is broken.
        UsageError: only the table's catalog knows which metadata file is the newest.
        RefusedError: a version of the format that is not supported.
        UnavailableError: its catalog does not answer, or what asks it is not installed.
    """

    title = "Iceberg"
    queries = get_args(_Query)

    def __init__(
        self,
        path: str | os.PathLike[str],
        storage_options: Mapping[str, Any] | None = None,
        *,
        allow: Sequence[str] = (),
    ) -> None:
        address = table_address(path)
        catalogs_options: Mapping[str, Any] | None = None
        if address.startswith(SCHEME):
            address, catalogs_options = metadata_address(address)
        root, file = split_address(address)
        self._storage = Storage(root, storage_options or catalogs_options, allow=allow)
        self._metadata = load(self._storage, file) if file else load_newest(self._storage)
        self._files = TableFiles(self._storage, self._metadata.location)

    @property
    def metadata_file(self) -> str:
        """The metadata file that is read."""
        return self._metadata.where

    @property
    def format_version(self) -> int:
        """Of the table."""
        return self._metadata.version

    @property
    def snapshot_id(self) -> int | None:
        """The current snapshot; None for a table without rows yet."""
        return self._metadata.current_snapshot_id

    @property
    def references(self) -> Mapping[str, Reference]:
        """Branches and tags by name."""
        return dict(self._metadata.references)

    @property
    def schema(self) -> pa.Schema:
        """The columns of the current schema."""
        return self._metadata.schema().arrow

    @property
    def properties(self) -> Mapping[str, str]:
        """The table properties."""
        return dict(self._metadata.properties)

    def _facts(self) -> str:
        return f"{self._storage.root}, snapshot {self.snapshot_id}"

    def _states(self) -> Iterator[TableState]:
        snapshots = self._metadata.snapshots
        for name, reference in sorted(self.references.items()):
            known = snapshots.get(reference.snapshot_id)
            if known is not None:
                kind: Literal["branch", "tag"] = "tag" if reference.kind == "tag" else "branch"
                yield TableState(kind, name, utc_time(known.time_millis), known.operation)
        newest = sorted(
            snapshots.values(), key=lambda one: (one.time_millis or 0, one.sequence_number or 0)
        )
        for one in reversed(newest):
            yield TableState("snapshot", one.id, utc_time(one.time_millis), one.operation)

    def describe(self) -> TableDescription:
        """What the table is, and the files that a snapshot reads; no row is read."""
        return described(
            self.scan(),
            format_name="iceberg",
            version=f"format version {self.format_version}",
            state=f"snapshot {self.snapshot_id or 'none'}",
            key=self._metadata.identifiers(),
            properties={"metadata file": self.metadata_file},
        )

    def scan(  # type: ignore[override] # keywords of other formats are mistakes here
        self,
        columns: Sequence[str] | None = None,
        *,
        filter: Filter | None = None,  # noqa: A002  (pyarrow's name for it)
        query: _Query = "snapshot",
        as_of: Moment | None = None,
        begin: Moment | None = None,
        end: Moment | None = None,
        **run: Unpack[RunOptions],
    ) -> Scan:
        """Plan a read.

        Args:
            columns: names in the order wanted; None for all. Tables of version 3 also have
                `_row_id` and `_last_updated_sequence_number`, which are shown where they are named.
            filter: rows to keep, over any columns of the table: a condition in SQL, for which
                DuckDB must be installed, an expression of `pyarrow.compute` or of Polars, or tuples
                as pyarrow takes them.
            query: `snapshot`; or `incremental`, the rows that were appended after `begin` and up to
                `end`, whatever became of them since; or `cdc`, the rows that were inserted or
                deleted in between, with the columns of `CHANGE_COLUMNS`.
            as_of: a snapshot id, a branch, a tag (`ref:NAME` where it looks like something else),
                or a time (ISO 8601, or a `datetime`); None for the current snapshot.
            begin: a snapshot as for `as_of`, whose own rows are left out; None for the beginning.
            end: the last snapshot that counts; None for the current one. Rows are shown with the
                current schema, whichever it is.
            **run: `batch_rows`, `threads` and `memory_limit_bytes` (see `RunOptions`), and
                `strict`: refuse metadata that say otherwise elsewhere, where a warning is all:
                totals of snapshots, statistics of manifests.

        Raises:
            UsageError: an unknown column, a filter that does not fit, a snapshot that is not there.
            InputError: a file is missing or broken.
            RefusedError: legal, but not supported.
            UnavailableError: a filter in SQL without DuckDB.
        """
        options = ScanOptions.of(type(self).scan, run)
        table = self._view(query, options, as_of=as_of, begin=begin, end=end)
        if query == "snapshot":
            view = chosen_view(self._metadata, as_of)
            return table._scan(
                table._plan(view, (), ()),
                columns,
                filter,
                options,
                shown=view.schema.arrow.names,
                narrowed=partial(table._of_snapshot, view),
            )
        # As Iceberg's own incremental scans have it, wherever they end.
        view = replace(chosen_view(self._metadata, end), schema=self._metadata.schema())
        shown = view.schema.arrow.names
        if query == "incremental":
            plan = table._appended(view, first_before(self._metadata, begin))
            return table._scan(plan, columns, filter, options, shown=shown)
        first = None if begin is None else chosen_view(self._metadata, begin).snapshot
        plan, read = table._changed(view, None if first is None else first.id)
        shown = [*shown, *CHANGE_COLUMNS.names]
        by = ("changes", read)
        return table._scan(plan, columns, filter, options, shown=shown, read_by=by)

    def _moved(self) -> None:
        self._files = TableFiles(self._storage, self._metadata.location)

    def _of_snapshot(self, view: View, condition: pc.Expression | None) -> ReadPlan:
        """All that a filter may leave of a snapshot."""
        if condition is not None:  # before anything believes it
            filter_columns(condition, self._whole(view.schema))
        units, left_out, doubts = self._planner(view).units(view.snapshot, condition)
        return self._plan(view, units, left_out, doubts)

    def _appended(self, view: View, begin: int | None) -> ReadPlan:
        window = snapshots_between(self._metadata, begin, view.snapshot)
        found, doubts = appended_files(self._files, window.appends, self._metadata)
        return self._plan(view, self._planner(view).untouched(found), window.notes, doubts)

    def _changed(self, view: View, begin: int | None) -> tuple[ReadPlan, CommitChanges]:
        line = line_between(self._metadata, begin, view.snapshot)
        plan = self._plan(view, (), ())
        refuse_taken_names(plan.schema, CHANGE_COLUMNS.names, self._storage.root)
        schema = pa.schema([*plan.schema, *CHANGE_COLUMNS])
        planner = self._planner(view)
        units, read = changed_units(planner, line, schema)
        return replace(self._plan(view, units, (), [*planner.doubts]), schema=schema), read

    def _planner(self, view: View) -> Planner:
        # XTable up to 0.2 gave manifests decimals of Delta and Hudi without the zeros at their end,
        # 20.00 as 2.00: what it says of them counts for nothing.
        has_decimals = _XTABLE not in self._metadata.properties
        opener = FileOpener(self._files, self._mapping(), has_decimals)
        return Planner(self._metadata, view.schema, opener)

    def _plan(
        self,
        view: View,
        units: Sequence[ReadUnit],
        notes: Sequence[str],
        doubts: Sequence[str] = (),
    ) -> ReadPlan:
        return ReadPlan(
            table=self._storage.root,
            schema=self._whole(view.schema),
            units=units,
            heading=view.name,
            notes=notes,
            warnings=[
                ScanWarning(self.metadata_file, -1, doubt)
                for doubt in (*self._metadata.doubts, *doubts)
            ],
        )

    def _whole(self, schema: Schema) -> pa.Schema:
        """The columns of a schema, and those of row lineage, where tables have that."""
        arrow = schema.arrow
        if self._metadata.version >= _LINEAGE_VERSION:
            for field in LINEAGE:
                if field.name not in arrow.names:
                    arrow = arrow.append(pa.field(field.name, field.type))
        return arrow

    def _mapping(self) -> NameMapping | None:
        text = self._metadata.properties.get(_MAPPING)
        return None if text is None else name_mapping(text, self._metadata.where)


@dataclass(frozen=True)
class View:
    """A snapshot, and the schema with which its rows are shown."""

    snapshot: Snapshot | None  # None for a table without rows yet
    schema: Schema
    name: str  # what plans call it


def chosen_view(metadata: TableMetadata, as_of: Moment | None) -> View:
    """The snapshot that a user means.

    It is a snapshot id (a number, or a text of digits), the name of a branch or a tag (if need be
    with `REFERENCE` in front), or a time: ISO 8601 in UTC unless it says otherwise. None is the
    current snapshot.
    """
    if as_of is None:
        current = metadata.current
        name = "no snapshot" if current is None else f"snapshot {current.id}"
        return View(current, metadata.schema(), name)
    if isinstance(as_of, str):
        if as_of.startswith(REFERENCE):
            return _by_name(metadata, as_of.removeprefix(REFERENCE))
        if as_of in metadata.references:
            return _by_name(metadata, as_of)
    known = ", ".join(sorted(metadata.references)) or "none"
    meant = f"a snapshot id, a time (2024-12-31T23:59:59.999Z), a branch or a tag (it has {known})"
    moment = parsed_moment(as_of, "as_of", meant)
    return _by_id(metadata, moment) if isinstance(moment, int) else _by_time(metadata, moment)


def first_before(metadata: TableMetadata, begin: Moment | None) -> int | None:
    """The snapshot after which appends are read, which may be gone where its child is left.

    What was appended since stands in the child's own manifests, so Iceberg's `IncrementalScan`
    takes it, too.
    """
    parents = {one.parent_id for one in metadata.snapshots.values() if one.parent_id is not None}
    known = {str(id_): id_ for id_ in parents}
    if str(begin) in known and str(begin) not in metadata.references:
        return known[str(begin)]
    snapshot = None if begin is None else chosen_view(metadata, begin).snapshot
    return None if snapshot is None else snapshot.id


def _by_id(metadata: TableMetadata, number: int) -> View:
    if number not in metadata.snapshots:
        raise UsageError(f"{metadata.where}: there is no snapshot {number}")
    return _at(metadata, number, f"snapshot {number}")


def _by_name(metadata: TableMetadata, name: str) -> View:
    reference = metadata.references.get(name)
    if reference is None:
        known = ", ".join(sorted(metadata.references)) or "none"
        raise UsageError(f"{metadata.where}: there is no branch or tag {name!r}; it has {known}")
    if reference.kind not in ("branch", "tag"):
        raise InputError(f"{metadata.where}: {name!r} is a {reference.kind!r}, no branch or tag")
    view = _at(metadata, reference.snapshot_id, f"{reference.kind} {name}")
    return View(view.snapshot, metadata.schema(), view.name) if reference.kind == "branch" else view


def _by_time(metadata: TableMetadata, as_of: dt.datetime) -> View:
    millis, times = micros(as_of) // 1000, [time for time, _ in metadata.log]
    back = max((one - other for one, other in itertools.pairwise(times)), default=0)
    if back > _MOST_SKEW:  # Iceberg's library refuses the table
        raise InputError(
            f"{metadata.where}: its snapshot log goes back by {back} ms, so that it does not tell "
            f"which snapshot was the current one at {as_of}"
        )
    ids = [number for time, number in metadata.log if time <= millis]
    if not ids:
        left = ((number, time) for time, number in metadata.log if number in metadata.snapshots)
        raise too_early(f"{metadata.where}: no snapshot that is left", as_of, next(left, None))
    return _at(metadata, ids[-1], f"snapshot {ids[-1]}, the current one at {as_of}")


def _at(metadata: TableMetadata, number: int, name: str) -> View:
    snapshot = metadata.snapshots.get(number)
    if snapshot is None:
        raise InputError(f"{metadata.where}: {name} is not among the snapshots")
    return View(snapshot, metadata.schema(snapshot.schema_id), name)
