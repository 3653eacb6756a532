"""A Hudi table: what it is, what to read of it. No row is touched here."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError, UsageError
from seambase.scan import META_COLUMNS, Query
from seamkit.avro import arrow_schema
from seamkit.files.promotion import nullable_throughout
from seamkit.files.storage import Storage
from seamkit.scan.options import ScanOptions
from seamkit.scan.scan import Scan
from seamkit.scan.unit_scan import UnitScan
from seamkit.tables.hudi.base_files import open_slice_base
from seamkit.tables.hudi.change_scan import ChangeScan
from seamkit.tables.hudi.config.properties import load_config
from seamkit.tables.hudi.listing.bootstrap import with_external_files
from seamkit.tables.hudi.listing.partitions import partition_schema
from seamkit.tables.hudi.listing.planning import ListingSource, Plan, plan_slices
from seamkit.tables.hudi.listing.slices import FileSlice, with_file_names
from seamkit.tables.hudi.merge.changes import LogSource
from seamkit.tables.hudi.timeline.timeline import (
    Timeline,
    changes_rows,
    load_timeline,
    parse_instant,
    replaced_groups,
    written_groups,
)
from seamkit.tables.hudi.timeline.window import COMMIT_TIME, NOW, Window, incremental_window
from seamkit.tables.hudi.units import Path, read_plan

__all__ = ["HudiTable"]


class HudiTable:
    """A table as its timeline shows it at the time of the call.

    Args:
        path: the table's folder, or its address on any storage that fsspec reaches.
        storage_options: arguments of the fsspec file system; a local folder has none.
        listing: where the names of files come from: `files` lists folders, `metadata` asks the
            metadata table, `auto` asks it where the table has one and looking is slow (any storage
            but a local folder), and lists folders if it is broken.

    Raises:
        InputError: the folder is no Hudi table, or its timeline is broken.
        RefusedError: a table version or feature that is not supported.
    """

    def __init__(
        self,
        path: str,
        storage_options: Mapping[str, Any] | None = None,
        *,
        listing: ListingSource = "auto",
    ) -> None:
        self._storage = Storage(str(path), storage_options)
        self.config = load_config(self._storage)
        self._timeline = load_timeline(self._storage, self.config)
        self._listing = listing

    @property
    def schema(self) -> pa.Schema:
        """The latest table schema, meta columns first."""
        return self._schema_at(NOW)

    def full(self, path: str) -> str:
        """The path of a file of the table, given below its folder."""
        return self._storage.full(path)

    def timeline(self) -> Timeline:
        """The instants of the table: active and archived, completed and pending."""
        return self._timeline

    def slices(self, as_of: str | None = None) -> list[FileSlice]:
        """The latest file slice of every file group, as of an instant or now.

        Args:
            as_of: 14 or 17 digits, or ISO 8601.
        """
        return self._plan(self._as_of(as_of)).slices

    def _plan(self, window: Window) -> Plan:
        plan = plan_slices(self._storage, self._timeline, window, self._listing)
        slices = with_external_files(plan.slices, self._storage, self.config)
        slices = with_file_names(slices, self._timeline, window)
        return dataclasses.replace(plan, slices=slices)

    def _as_of(self, instant: str | None) -> Window:
        return NOW if instant is None else Window(up_to=parse_instant(instant, self.config))

    def __repr__(self) -> str:
        return f"<HudiTable {self._storage.root}, table version {self.config.version}>"

    def scan(
        self,
        columns: Sequence[str] | None = None,
        *,
        filter: pc.Expression | None = None,  # noqa: A002  (pyarrow's name for it)
        query: Query = "snapshot",
        as_of: str | None = None,
        begin: str | None = None,
        end: str | None = None,
        batch_rows: int | None = None,
        threads: int | None = None,
        memory_limit_bytes: int | None = None,
        strict: bool = False,
        changes_alone: bool = False,
        path: Path = "auto",
        positions: bool = False,
    ) -> Scan:
        """Plan a read.

        Args:
            columns: names in the order wanted; None for all but the `_hoodie_*` columns. A `cdc`
                query has the columns `op` (`i`, `u`, `d`), `ts_ms` (the write's requested instant),
                `before` and `after` (the row as a struct, or null).
            filter: rows to keep, an expression over any columns of the table (of the query, where
                it is `cdc`).
            query: `snapshot` merges logs, `read-optimized` reads base files alone, `incremental`
                hands out the rows that changed after `begin` and up to `end`, `cdc` tells what
                changed then, row by row.
            as_of: instant up to which changes count: 14 or 17 digits, or ISO 8601.
            begin: exclusive; a requested time up to version 6, a completion time from 8 on. None
                for the table's beginning.
            end: inclusive, or None for now.
            batch_rows: most rows in a batch.
            threads: slices at once; one per core by default.
            memory_limit_bytes: what decoded logs and merged batches may take at once.
            strict: refuse damage in logs that Hudi's own reader skips.
            changes_alone: merge what changed without the rows that it changed, as Hudi does; by
                default an incremental query hands out rows as the table showed them at the end.
            path: `auto` chooses per slice: native where no log applies, merge otherwise.
            positions: match log records by their positions in the base file where they have them.
                No row changes by that, but where the base holds a key twice (docs/merge.md).

        Raises:
            UsageError: an unknown column, a filter that does not fit, a bad instant, a number below
                1.
            InputError: a file is missing or broken.
            RefusedError: legal, but not supported.
        """
        options = ScanOptions(batch_rows, threads, memory_limit_bytes)
        if query == "cdc":
            if as_of is not None or changes_alone:
                raise UsageError("a cdc query has begin and end, and nothing else")
            window = self._window("incremental", None, begin, end, False)
            views = partial(
                self._unit_scan, options=options, strict=strict, path=path, positions=positions
            )
            return self._changes(columns, filter, window, views)
        window = self._window(query, as_of, begin, end, changes_alone)
        names = _choose(columns, self._schema_at(window), self._storage.root)
        conditions = [c for c in (window.row_filter(), filter) if c is not None]
        return self._unit_scan(
            self._plan(window),
            window,
            names,
            functools.reduce(operator.and_, conditions) if conditions else None,
            options=options,
            strict=strict,
            path=path,
            positions=positions,
            merge_logs=query != "read-optimized",
        )

    def _unit_scan(
        self,
        plan: Plan,
        window: Window,
        names: Sequence[str],
        condition: pc.Expression | None = None,
        *,
        options: ScanOptions,
        strict: bool,
        path: Path,
        positions: bool,
        merge_logs: bool = True,
    ) -> UnitScan:
        schema = self._schema_at(window)
        source = LogSource(
            self._storage, self.config, self._timeline, schema, window, strict, positions
        )
        units = read_plan(plan, source, path, merge_logs=merge_logs)
        return UnitScan(units, names, condition, options)

    def _changes(
        self,
        columns: Sequence[str] | None,
        condition: pc.Expression | None,
        window: Window,
        scan: Callable[[Plan, Window, Sequence[str]], UnitScan],
    ) -> ChangeScan:
        """What changed in a window; `scan` reads the states before and after each write."""
        own = [name for name in self.schema.names if not name.startswith("_hoodie_")]
        names = [COMMIT_TIME, "_hoodie_partition_path", "_hoodie_record_key", *own]
        moments = []
        for instant, body in self._timeline.told(archived=True):
            if changes_rows(body) and window.sees(i := instant.requested) and window.hands_out(i):
                groups = written_groups(body) | set(replaced_groups(instant, body))
                later = self._timeline.completed_since(instant)
                views = [Window(hidden=hidden) for hidden in (later, later - {i})]
                reads = [partial(self._some, groups, view, names, scan) for view in views]
                moments.append((i, reads[0], reads[1]))
        schema = pa.schema([self.schema.field(name) for name in own])
        return ChangeScan(schema, moments, columns, condition)

    def _some(
        self,
        groups: set[tuple[str, str]],
        window: Window,
        names: Sequence[str],
        scan: Callable[[Plan, Window, Sequence[str]], UnitScan],
    ) -> UnitScan:
        """A scan of some file groups, in the latest schema."""
        plan = self._plan(window)
        slices = [s for s in plan.slices if (s.partition, s.file_id) in groups]
        return scan(replace(plan, slices=slices), window, names)

    def _window(
        self, query: Query, as_of: str | None, begin: str | None, end: str | None, alone: bool
    ) -> Window:
        """What the arguments of `scan` mean.

        Raises:
            UsageError: they contradict each other.
            RefusedError: the table does not keep what an incremental query needs.
        """
        if query != "incremental":
            if begin is not None or end is not None or alone:
                raise UsageError(f"a {query} query has no begin or end; an incremental one has")
            return self._as_of(as_of)
        if as_of is not None:
            raise UsageError("an incremental query has begin and end, not as-of")
        if self.config.raw.get("hoodie.populate.meta.fields", "").lower() == "false":
            raise RefusedError(
                f"{self._storage.root}: rows do not tell when they changed "
                "(hoodie.populate.meta.fields=false), so incremental queries are not possible"
            )
        bounds = [None if i is None else parse_instant(i, self.config) for i in (begin, end)]
        return incremental_window(self._timeline, bounds[0], bounds[1], alone=alone)

    def _schema_at(self, window: Window) -> pa.Schema:
        """The schema as of an instant; changes are told in the latest one."""
        text = self._timeline.latest_schema(None if window.is_incremental else window.up_to)
        if text is None:
            return self._schema_of_a_base_file()
        fields = {name: pa.field(name, pa.string()) for name in META_COLUMNS}
        fields |= {field.name: nullable_throughout(field) for field in arrow_schema(text)}
        return partition_schema(pa.schema(list(fields.values())), self.config)

    def _schema_of_a_base_file(self) -> pa.Schema:
        if not self._timeline.writes() and not self._timeline.archive.instants:
            return pa.schema([pa.field(name, pa.string()) for name in META_COLUMNS])
        for slice_ in self.slices():
            if slice_.base is not None:
                schema = open_slice_base(self._storage, slice_.base).schema
                return pa.schema([nullable_throughout(field) for field in schema])
        raise InputError(f"{self._storage.root}: no commit and no base file tells the schema")


def _choose(columns: Sequence[str] | None, schema: pa.Schema, where: str) -> list[str]:
    if columns is None:
        return [name for name in schema.names if not name.startswith("_hoodie_")]
    for name in columns:
        if schema.get_field_index(name) < 0:
            near = difflib.get_close_matches(name, schema.names, n=3)
            hint = f"; did you mean {', '.join(near)}?" if near else ""
            raise UsageError(f"{where}: there is no column '{name}'{hint}")
    if len(set(columns)) != len(columns):
        raise UsageError(f"{where}: a column is asked for twice: {', '.join(columns)}")
    return list(columns)
