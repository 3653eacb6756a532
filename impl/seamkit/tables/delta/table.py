"""A Delta table: what it is, what to read of it. No row is touched here."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal, Unpack, get_args

import pyarrow as pa

from seambase.description import TableDescription
from seambase.scan import ScanWarning
from seamkit.core.tasks import gc_paused
from seamkit.files.storage import Storage, table_address
from seamkit.scan.arguments import Filter, RunOptions, ScanOptions
from seamkit.scan.scan import Scan
from seamkit.scan.units import ReadPlan
from seamkit.tables.delta.changes import FEED_COLUMNS, load_feed
from seamkit.tables.delta.log.actions import TableFiles
from seamkit.tables.delta.log.folder import list_log
from seamkit.tables.delta.log.history import CommitTimes, first_stated, stated_operation
from seamkit.tables.delta.log.snapshot import Snapshot, load_snapshot
from seamkit.tables.delta.planning import Planner, row_tracking
from seamkit.tables.delta.schema import TableSchema, table_schema
from seamkit.tables.table import FolderTable, Moment, TableState, described, parsed_moment, utc_time

_Query = Literal["snapshot", "cdc"]


class DeltaTable(FolderTable):
    """A table as its log shows it at the time of the call.

    Args:
        path: the table's folder, or its address on any storage that fsspec reaches.
        storage_options: arguments of the fsspec file system; a local folder has none.
        allow: addresses of folders, such as `s3://other` or `file:///data`, in which files that the
            metadata names may lie although they are on another host or storage than the table.
        staged_commits: of a table that a catalog manages, the commits that it has ratified and
            that are not published: names of files in `_delta_log/_staged_commits`.
        version: of such a table the newest version, as its catalog tells it.

    Raises:
        UsageError: `staged_commits` without a version, or of other names.
        InputError: the folder is no Delta table, or its log is broken.
        RefusedError: the table asks for a reader version or feature that is not supported.
    """

    title = "Delta"
    queries = get_args(_Query)

    def __init__(
        self,
        path: str | os.PathLike[str],
        storage_options: Mapping[str, Any] | None = None,
        *,
        allow: Sequence[str] = (),
        staged_commits: Sequence[str] = (),
        version: int | None = None,
    ) -> None:
        self._storage = Storage(table_address(path), storage_options, allow=allow)
        self._files = TableFiles(self._storage)
        self._log = list_log(self._storage, staged_commits, version)

    @cached_property
    def _newest(self) -> Snapshot:
        return load_snapshot(self._log)

    @property
    def _times(self) -> CommitTimes:
        return CommitTimes(
            self._log,
            lambda: first_stated(self._newest.protocol, self._newest.metadata.configuration),
        )

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

    def _facts(self) -> str:
        return f"{self._storage.root}, version {self.version}"

    def _states(self) -> Iterator[TableState]:
        times = dict(self._times.listed())
        for version in self._log.readable():
            millis = times.get(version)
            path = self._log.commits.get(version)
            operation = "" if path is None else stated_operation(self._storage, path)
            yield TableState("version", version, utc_time(millis), operation)

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
            columns: names in the order wanted; None for all. Tables with row tracking also have
                `_row_id` and `_row_commit_version`, which are shown where they are named.
            filter: rows to keep, over any columns of the table (of the query, where it is `cdc`): a
                condition in SQL, for which DuckDB must be installed, an expression of
                `pyarrow.compute` or of Polars, or tuples as pyarrow takes them.
            query: `snapshot`; or `cdc`, the change feed: the rows that commits inserted, deleted
                or updated after `begin` and up to `end`, with `_change_type` (`insert`, `delete`,
                `update_preimage`, `update_postimage`), `_commit_version` and `_commit_timestamp`.
            as_of: a version, or a time (ISO 8601, or a `datetime`); None for the newest version.
            begin: likewise; its own changes are left out. None for the table's beginning.
            end: likewise, the last that counts; None for the newest version.
            **run: `batch_rows`, `threads` and `memory_limit_bytes` (see `RunOptions`), and
                `strict`: refuse a log that contradicts itself or its checksum file, where otherwise
                a warning is all.

        Raises:
            UsageError: an unknown column, a filter that does not fit, a version that is not there.
            InputError: a file is missing or broken.
            RefusedError: legal, but not supported.
            UnavailableError: a filter in SQL without DuckDB.
        """
        options = ScanOptions.of(type(self).scan, run)
        table = self._view(query, options, as_of=as_of, begin=begin, end=end)
        if query == "cdc":
            plan = table._changes(
                _moment("begin", begin), _moment("end", end), strict=options.strict
            )
            return table._scan(plan, columns, filter, options)
        moment = _moment("as_of", as_of)
        snapshot = table._newest if moment is None else table._at(moment)
        schema = self._schema_of(snapshot)
        plan = table._plan(snapshot, schema)
        return table._scan(plan, columns, filter, options, shown=schema.arrow.names)

    def _moved(self) -> None:
        self._files = TableFiles(self._storage)
        self._log = replace(self._log, storage=self._storage)

    def _at(self, as_of: int | dt.datetime) -> Snapshot:
        return load_snapshot(self._log, self._times.version(as_of))

    def _schema_of(self, snapshot: Snapshot) -> TableSchema:
        return table_schema(snapshot.protocol, snapshot.metadata, self._storage.root)

    @gc_paused()
    def _plan(self, snapshot: Snapshot, schema: TableSchema) -> ReadPlan:
        root = self._storage.root
        tracking = row_tracking(snapshot.protocol, snapshot.metadata.configuration, schema)
        planner = Planner(self._files, snapshot.protocol, schema, tracking)
        units = planner.units(snapshot.files)
        hidden = () if tracking is None else tracking.fields
        return ReadPlan(
            table=root,
            schema=_with_columns(schema.arrow, [pa.field(f.name, f.type) for f in hidden]),
            units=units,
            heading=f"version {snapshot.version}",
            warnings=snapshot.warnings,
        )

    def _changes(
        self, begin: int | dt.datetime | None, end: int | dt.datetime | None, *, strict: bool
    ) -> ReadPlan:
        """What the commits after one version and up to another did."""
        # The log's last version is held to its checksum file, another last version if it is
        # `strict`.
        window = self._times.window(begin, end)
        root = self._storage.root
        if not window:
            return ReadPlan(root, _with_columns(self.schema, FEED_COLUMNS), [], "no version")
        feed = load_feed(self._log, window)
        # Those of files, where a commit states none.
        lacks = any(commit.millis is None for commit in feed.commits)
        times = dict(self._times.listed(window[-1])) if lacks else {}
        units = list(feed.units(self._files, times))
        warnings: Sequence[ScanWarning] = ()
        if window[-1] == self.version:
            warnings = self._newest.warnings
        elif strict:
            warnings = load_snapshot(self._log, window[-1]).warnings
        return ReadPlan(
            table=root,
            schema=_with_columns(feed.schema.arrow, FEED_COLUMNS),
            units=units,
            heading=f"changes of versions {window[0]} to {window[-1]}",
            warnings=warnings,
        )


def _with_columns(schema: pa.Schema, further: Iterable[pa.Field]) -> pa.Schema:
    return pa.schema([*schema, *further])


def _moment(name: str, value: Moment | None) -> int | dt.datetime | None:
    meant = "a version (7) or a time (2024-12-31T23:59:59.999Z)"
    return None if value is None else parsed_moment(value, name, meant)
