"""A Paimon table: what it is, what to read of it. No row is touched here."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal, Unpack, get_args

import pyarrow as pa

from seambase.description import TableDescription
from seambase.errors import InputError, RefusedError, UsageError
from seambase.scan import Query, ScanWarning
from seambase.wording import counted
from seamkit.core.tasks import gc_paused
from seamkit.files.storage import Storage, table_address
from seamkit.scan.arguments import Filter, RunOptions, ScanOptions, check_choice, check_flag
from seamkit.scan.scan import Scan
from seamkit.scan.units import ReadPlan, ReadUnit
from seamkit.tables.paimon.changes import ChangePlanner, Planned
from seamkit.tables.paimon.metadata.manifests import FileEntry, live_files
from seamkit.tables.paimon.metadata.schemas import FALLBACK, Schemas, read_options
from seamkit.tables.paimon.metadata.snapshots import (
    MAIN,
    ChangeMode,
    Point,
    Snapshot,
    SnapshotFolder,
    branch_address,
    branch_folder,
    branch_names,
    list_snapshots,
    snapshot_at,
    window,
)
from seamkit.tables.paimon.planning import Planner
from seamkit.tables.table import FolderTable, TableState, described, utc_time


class PaimonTable(FolderTable):
    """A table as its snapshots show it at the time of the call.

    Args:
        path: the table's folder, or its address on any storage that fsspec reaches.
        storage_options: arguments of the fsspec file system; a local folder has none.
        branch: name of a branch; `main`, and the address `TABLE/branch/branch-NAME`, are known too.
        allow: addresses of folders, such as `s3://other` or `file:///data`, in which files that the
            metadata names may lie although they are on another host or storage than the table.

    Raises:
        UsageError: no such branch, or an address of another one.
        InputError: the folder is no Paimon table, or its metadata is broken.
        RefusedError: the table has a feature that is not supported.
    """

    title = "Paimon"
    queries = get_args(Query)

    def __init__(
        self,
        path: str | os.PathLike[str],
        storage_options: Mapping[str, Any] | None = None,
        *,
        branch: str | None = None,
        allow: Sequence[str] = (),
    ) -> None:
        root, self._branch = branch_address(table_address(path), branch)
        self._storage = Storage(root, storage_options, allow=allow)
        metadata = branch_folder(self._storage, self._branch)
        self._schemas = Schemas(metadata)
        self._newest_schema = self._schemas.newest()
        self._snapshots = list_snapshots(metadata)

    @property
    def branch(self) -> str:
        """Name of the branch that is read."""
        return self._branch

    @property
    def folder(self) -> str:
        """Path or address of the table, the same for all its branches."""
        return self._storage.full("").rstrip("/")

    @property
    def snapshot_id(self) -> int | None:
        """Number of the newest snapshot; None if nothing was ever written."""
        return self._snapshots.newest

    def snapshot_number(self, as_of: Point | None) -> int | None:
        """Number of the snapshot that `as_of` means, as `scan` takes it; None if there is none."""
        snapshot = self._snapshot(as_of)
        return None if snapshot is None else snapshot.id

    @property
    def schema(self) -> pa.Schema:
        """The columns of the newest schema."""
        return self._newest_schema.arrow

    @property
    def primary_keys(self) -> Sequence[str]:
        """Columns of the primary key; none in append tables."""
        return self._newest_schema.primary_keys

    @property
    def properties(self) -> Mapping[str, str]:
        """The options of the newest schema."""
        return dict(self._newest_schema.options)

    @property
    def tags(self) -> Sequence[str]:
        """Names of the tags, which `as_of` takes."""
        return sorted(self._snapshots.tags)

    @property
    def _fallback(self) -> str:
        """The branch whose partitions stand in for those that this one lacks; empty for none."""
        return self._newest_schema.options.get(FALLBACK, "").strip()

    def _facts(self) -> str:
        branch = "" if self._branch == MAIN else f", branch {self._branch}"
        return f"{self._storage.root}{branch}, snapshot {self.snapshot_id}"

    def _states(self) -> Iterator[TableState]:
        for name in branch_names(self._storage):
            yield TableState("branch", name, None)
        for name in self.tags:
            yield _state("tag", name, self._snapshots.tagged(name))
        for number in sorted(self._snapshots.paths, reverse=True):
            yield _state("snapshot", number, self._snapshots.load(number))

    def describe(self) -> TableDescription:
        """What the table is, and the files and sections that a snapshot reads; no row is read."""
        engine = self.properties.get("merge-engine", "deduplicate")
        return described(
            self.scan(),
            format_name="paimon",
            version=f"schema {self._newest_schema.id}",
            state=f"snapshot {self.snapshot_id or 'none'}",
            key=self.primary_keys,
            unit_word="section",
            properties={"merge engine": engine} if self.primary_keys else {},
        )

    def scan(  # type: ignore[override] # keywords of other formats are mistakes here
        self,
        columns: Sequence[str] | None = None,
        *,
        filter: Filter | None = None,  # noqa: A002  (pyarrow's name for it)
        query: Query = "snapshot",
        as_of: Point | None = None,
        begin: Point | None = None,
        end: Point | None = None,
        mode: ChangeMode = "auto",
        row_kinds: bool = False,
        **run: Unpack[RunOptions],
    ) -> Scan:
        """Plan a read.

        Args:
            columns: names in the order wanted; None for all.
            filter: rows to keep, over any columns of the table: a condition in SQL, for which
                DuckDB must be installed, an expression of `pyarrow.compute` or of Polars, or tuples
                as pyarrow takes them.
            query: `snapshot`; `read-optimized`, the files of the highest level alone, each
                bucket as its last full compaction left it; `incremental`, rows that were written
                after `begin` and up to `end`, without retracts unless `row_kinds`; or `cdc`,
                the changes themselves, with the columns `op` (`i`, `u`, `d`), `ts_ms` (time of the
                commit), `before` and `after` (rows as structs; of an update without its old row
                `before` is null).
            as_of: a snapshot's number, a tag's name, or a time (ISO 8601, UTC unless it says
                otherwise, or a `datetime`); None for the newest snapshot.
            begin: exclusive bound of an incremental or `cdc` query, given as `as_of` is; None, 0
                or a time before the first snapshot for the beginning of the table.
            end: inclusive bound; None for the newest snapshot.
            mode: where changes are taken from: `delta`, the files that appends added; `changelog`,
                changelog files; `diff`, a comparison of both snapshots, each partition at once in
                memory; `auto`, Paimon's own choice: `diff` between tags, else `changelog` if the
                table keeps one, else `delta`.
            row_kinds: hand out all rows of an incremental query in the mode `delta` or `changelog`,
                retracts too, and in front of the columns `rowkind`: `+I`, `-U`, `+U` or `-D`, as in
                Paimon's table `audit_log`.
            **run: `batch_rows`, `threads` and `memory_limit_bytes` (see `RunOptions`), and
                `strict`: refuse a snapshot whose number of rows is not that of its files, where
                otherwise a warning is all.

        Raises:
            UsageError: an unknown column, a filter that does not fit, a snapshot that is not there.
            InputError: a file is missing or broken.
            RefusedError: legal, but not supported.
            UnavailableError: a filter in SQL without DuckDB.
        """
        check_choice("mode", mode, get_args(ChangeMode))
        check_flag("row_kinds", row_kinds)
        options = ScanOptions.of(type(self).scan, run)
        table = self._view(query, options, as_of=as_of, begin=begin, end=end)
        if row_kinds and query != "incremental":
            raise UsageError(f"a query {query} has no row_kinds: an incremental one has")
        if table._fallback and (query != "snapshot" or as_of is not None):
            raise RefusedError(
                f"{table._newest_schema.where}: with {FALLBACK} only the newest rows can be read"
            )
        if query == "incremental" or query == "cdc":
            plan, read = table._changes(query, begin, end, mode, row_kinds)
            return table._scan(plan, columns, filter, options, read_by=read)
        if mode != "auto":
            raise UsageError(f"a query {query} has no mode: it goes with incremental or cdc")
        return table._scan(table._plan(as_of, query), columns, filter, options)

    def _snapshot(self, as_of: Point | None) -> Snapshot | None:
        """The snapshot that is meant; None in a table that was never written to."""
        snapshots = self._snapshots
        if as_of is None:
            return None if snapshots.newest is None else snapshots.load(snapshots.newest)
        return snapshot_at(snapshots, as_of, "as_of")

    def _changes(
        self,
        query: Literal["incremental", "cdc"],
        begin: Point | None,
        end: Point | None,
        mode: ChangeMode,
        row_kinds: bool,
    ) -> Planned:
        """The plan of a query of changes, in the columns of the newest schema."""
        bounds = window(self._snapshots, begin, end)
        planner = ChangePlanner(
            self._storage, self._schemas, self._newest_schema, self._snapshots, bounds
        )
        return planner.plan(query, mode, row_kinds=row_kinds)

    @gc_paused()
    def _plan(self, as_of: Point | None, query: Query) -> ReadPlan:
        snapshot, schema = self._snapshot(as_of), self._newest_schema
        if as_of is not None and snapshot is not None:
            schema = self._schemas.load(snapshot.schema_id)
        if snapshot is not None and snapshot.schema_id > self._newest_schema.id:
            raise InputError(
                f"{snapshot.where}: it has the schema {snapshot.schema_id}, and the newest that is "
                f"there is {self._newest_schema.id}"
            )
        options = read_options(schema)
        planner = Planner(self._storage, self._schemas, schema, options, snapshot, self._snapshots)
        files = [] if snapshot is None else live_files(self._storage, snapshot)
        units, notes = planner.units(files, read_optimized=query == "read-optimized")
        warnings = [*_doubts(self._snapshots, snapshot, files), *planner.warnings]
        if name := self._fallback:
            there = {file.partition for file in files if planner.sees(file)}
            further, doubts = self._of_branch(name, there)
            units, warnings = units + further, warnings + doubts
        return ReadPlan(
            table=self._storage.root,
            schema=schema.arrow,
            units=units,
            heading="nothing was written yet" if snapshot is None else f"snapshot {snapshot.id}",
            notes=notes,
            warnings=warnings,
        )

    def _of_branch(
        self, name: str, there: Collection[bytes]
    ) -> tuple[list[ReadUnit], list[ScanWarning]]:
        """The units of a branch's newest snapshot, but for those of partitions that are there."""
        if name != MAIN and name not in branch_names(self._storage):
            raise InputError(f"{self._newest_schema.where}: {FALLBACK} is {name!r}, no branch")
        metadata = branch_folder(self._storage, name)
        schemas, snapshots = Schemas(metadata), list_snapshots(metadata)
        schema, own = schemas.newest(), self._newest_schema
        keys = [(one.partition_keys, one.primary_keys) for one in (schema, own)]
        if schema.arrow != own.arrow or keys[0] != keys[1]:
            raise RefusedError(
                f"{own.where}: its columns or keys are not those of {schema.where}, of the branch "
                f"that {FALLBACK} names"
            )
        if snapshots.newest is None:
            return [], _doubts(snapshots, None, [])
        snapshot = snapshots.load(snapshots.newest)
        files = live_files(self._storage, snapshot)
        options = read_options(schema)
        planner = Planner(self._storage, schemas, schema, options, snapshot, snapshots)
        parts = planner.units_by_partition(files)
        units = [unit for key, found in parts.items() if key not in there for unit in found]
        return units, [*_doubts(snapshots, snapshot, files), *planner.warnings]


def _state(kind: Literal["tag", "snapshot"], name: int | str, snapshot: Snapshot) -> TableState:
    return TableState(kind, name, utc_time(snapshot.time_millis), snapshot.kind)


def _doubts(
    snapshots: SnapshotFolder, snapshot: Snapshot | None, files: Sequence[FileEntry]
) -> list[ScanWarning]:
    """What is wrong where the newest snapshot is lost, or one says another number of rows."""
    found = []
    if lost := snapshots.lost:
        found.append(ScanWarning(snapshots.hint_path, -1, lost))
    rows = sum(file.rows for file in files)
    if snapshot is not None and snapshot.total_records not in (None, rows):
        reason = f"it says {counted(snapshot.total_records, 'row')}, its files have {rows}"
        found.append(ScanWarning(snapshot.where, -1, reason))
    return found
