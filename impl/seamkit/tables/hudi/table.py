"""A Hudi table: what it is, what to read of it. No row is touched here."""

from __future__ import annotations

import dataclasses
import datetime as dt
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Unpack, get_args

import pyarrow as pa

from seambase.description import TableDescription
from seambase.errors import InputError, RefusedError, UsageError
from seambase.scan import Query
from seambase.wording import counted
from seamkit.avro.schema import parse_schema
from seamkit.core.tasks import gc_paused
from seamkit.files.promotion import nullable_throughout
from seamkit.files.reader import check_names
from seamkit.files.storage import Storage, table_address
from seamkit.scan.arguments import (
    Filter,
    RunOptions,
    ScanOptions,
    check_choice,
    check_flag,
    instant_text,
)
from seamkit.scan.scan import Scan
from seamkit.scan.units import ReadPlan, ReadUnit
from seamkit.tables.hudi.base_files import open_slice_base, with_external_files
from seamkit.tables.hudi.changes import KEY, WriteChanges
from seamkit.tables.hudi.config.properties import (
    EXCLUDED,
    PROPERTIES,
    TIMELINE,
    load_config,
    stated_buckets,
)
from seamkit.tables.hudi.config.value_types import shown_schema
from seamkit.tables.hudi.listing.files import FileSlice, partition_schema, with_file_names
from seamkit.tables.hudi.merge.keys import LogSource
from seamkit.tables.hudi.planning import ListingSource, Path, Plan, Planner, read_plan
from seamkit.tables.hudi.table_format import HIDDEN, META_COLUMNS
from seamkit.tables.hudi.timeline.instants import instant_time, parse_instant
from seamkit.tables.hudi.timeline.timeline import (
    Timeline,
    changes_rows,
    load_timeline,
    replaced_groups,
    written_groups,
)
from seamkit.tables.hudi.timeline.window import COMMIT_TIME, NOW, Window, incremental_window
from seamkit.tables.states import image_schema
from seamkit.tables.table import FolderTable, TableState, described

#: Properties by which rows may lack what tells their changes, and with which values.
_LACK_META: Mapping[str, Callable[[str], bool]] = {
    "hoodie.populate.meta.fields": lambda text: text.lower() == "false",
    EXCLUDED: lambda text: any(name in text for name in (COMMIT_TIME, *KEY)),
}


class HudiTable(FolderTable):
    """A table as its timeline shows it at the time of the call.

    Args:
        path: the table's folder, or its address on any storage that fsspec reaches.
        storage_options: arguments of the fsspec file system; a local folder has none.
        listing: where the names of files come from: `files` lists folders, `metadata` asks the
            metadata table, `auto` asks it where the table has one and looking is slow (any storage
            but a local folder), or its rows have no meta columns, and lists folders if it is
            broken.
        allow: addresses of folders, such as `s3://other` or `file:///data`, in which files that the
            metadata names may lie although they are on another host or storage than the table.

    Raises:
        InputError: the folder is no Hudi table, or its timeline is broken.
        RefusedError: a table version or feature that is not supported.
    """

    title = "Hudi"
    queries = get_args(Query)

    def __init__(
        self,
        path: str | os.PathLike[str],
        storage_options: Mapping[str, Any] | None = None,
        *,
        listing: ListingSource = "auto",
        allow: Sequence[str] = (),
    ) -> None:
        check_choice("listing", listing, get_args(ListingSource))
        address = table_address(path)
        self._storage = Storage(address, storage_options, allow=allow)
        self._anew = partial(
            HudiTable, address, storage_options, listing=listing, allow=tuple(allow)
        )
        self._storage.ahead([PROPERTIES], [TIMELINE])
        self.config = load_config(self._storage)
        self._timeline = load_timeline(self._storage, self.config)
        self._listing = listing

    @property
    def schema(self) -> pa.Schema:
        """The latest table schema, meta columns first."""
        return self._schema_at(NOW)

    @property
    def columns(self) -> list[str]:
        """The names of the user's columns; Hudi's own are read where they are named."""
        return _without_meta(self.schema.names)

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
        with gc_paused():
            return self._plan(self._as_of(as_of)).slices

    def _plan(self, window: Window, *, strict: bool = False) -> Plan:
        return self._complete(self._planner(strict).plan(window), window)

    def _planner(self, strict: bool) -> Planner:
        return Planner(self._storage, self._timeline, self._listing, strict=strict)

    def _complete(self, plan: Plan, window: Window) -> Plan:
        """The plan with files outside the table, and with what files call their columns."""
        slices = with_external_files(plan.slices, self._storage, self.config)
        slices = with_file_names(slices, self._timeline, window)
        return dataclasses.replace(plan, slices=slices)

    def _as_of(self, instant: str | None) -> Window:
        return NOW if instant is None else Window(up_to=parse_instant(instant, self.config))

    def _facts(self) -> str:
        return f"{self._storage.root}, table version {self.config.version}"

    def _states(self) -> Iterator[TableState]:
        newest = sorted(self._timeline.instants, key=lambda one: one.requested, reverse=True)
        for one in newest:
            if one.action == "savepoint" and one.state == "completed":
                time = instant_time(one.requested, self.config)
                yield TableState("savepoint", one.requested, time)
        for one, body in self._timeline.newest_writes():
            operation = body.get("operationType") or one.action
            time = instant_time(one.completed or one.requested, self.config)
            yield TableState("instant", one.requested, time, str(operation))

    def describe(self) -> TableDescription:
        """What the table is, and the file slices that a snapshot reads; no row is read."""
        kind = "merge-on-read" if self.config.merge_on_read else "copy-on-write"
        return described(
            self.scan(),
            format_name="hudi",
            version=f"table version {self.config.version}, {kind}",
            state=f"instant {self._timeline.last_completed() or 'none'}",
            key=self.config.record_keys,
            unit_word="file slice",
            properties={
                "merge mode": self.config.merge.mode,
                "ordering": ", ".join(self.config.ordering_fields) or "none",
                "pending compactions": str(len(self._timeline.pending_compactions())),
            },
        )

    def scan(  # type: ignore[override] # keywords of other formats are mistakes here
        self,
        columns: Sequence[str] | None = None,
        *,
        filter: Filter | None = None,  # noqa: A002  (pyarrow's name for it)
        query: Query = "snapshot",
        as_of: str | dt.date | None = None,
        begin: str | dt.date | None = None,
        end: str | dt.date | None = None,
        changes_alone: bool = False,
        path: Path = "auto",
        positions: bool = False,
        buckets: int | None = None,
        **run: Unpack[RunOptions],
    ) -> Scan:
        """Plan a read.

        Args:
            columns: names in the order wanted; None for all but Hudi's own. A `cdc`
                query has the columns `op` (`i`, `u`, `d`), `ts_ms` (the write's requested instant),
                `before` and `after` (the row as a struct, or null).
            filter: rows to keep, over any columns of the table (of the query, where it is `cdc`): a
                condition in SQL, for which DuckDB must be installed, an expression of
                `pyarrow.compute` or of Polars, or tuples as pyarrow takes them.
            query: `snapshot` merges logs, `read-optimized` reads base files alone, `incremental`
                hands out the rows that changed after `begin` and up to `end`, `cdc` tells what
                changed then, row by row.
            as_of: instant up to which changes count: 14 or 17 digits, ISO 8601, or a `datetime`.
            begin: exclusive; a requested time up to version 6, a completion time from 8 on. None
                for the table's beginning.
            end: inclusive, or None for now.
            changes_alone: merge what changed without the rows that it changed, as Hudi does; by
                default an incremental query hands out rows as the table showed them at the end.
            path: `auto` chooses per slice: native where no log applies, merge otherwise.
            positions: match log records by their positions in the base file where they have them.
                No row changes by that, but where the base holds a key twice (docs/merge.md).
            buckets: how many the table's simple bucket index has, which Hudi does not write into
                the table (`hoodie.bucket.index.num.buckets` of its writers): a filter that names
                record keys then opens their file groups alone. A wrong number leaves nothing out.
            **run: `batch_rows`, `threads` and `memory_limit_bytes` (see `RunOptions`), and
                `strict`: refuse damage that Hudi's own reader skips, and ask the archive as well
                for files that should be there.

        Raises:
            UsageError: an unknown column, a filter that does not fit, a bad instant or word, a
                number below 1.
            UnavailableError: a filter in SQL without DuckDB.
            InputError: a file is missing or broken.
            RefusedError: legal, but not supported.
        """
        check_choice("path", path, get_args(Path))
        for name, value in (("changes_alone", changes_alone), ("positions", positions)):
            check_flag(name, value)
        options = ScanOptions.of(type(self).scan, run)
        table = self._view(query, options, as_of=as_of, begin=begin, end=end)
        if changes_alone and query != "incremental":
            raise UsageError(f"a query {query} has no changes_alone: it goes with incremental")
        request = _Query(
            query,
            instant_text("as_of", as_of),
            instant_text("begin", begin),
            instant_text("end", end),
            changes_alone,
            path,
            positions,
            stated_buckets(self.config, buckets),
            options,
        )
        if query == "cdc":
            return table._changes(request, columns, filter)
        plan, rows = request.plan(table), request.window(table).row_filter()
        own = _without_meta(plan.schema.names)
        return table._scan(plan, columns, filter, options, shown=own, rows=rows)

    def _changes(
        self, request: _Query, columns: Sequence[str] | None, condition: Filter | None
    ) -> Scan:
        """What changed in a window, the oldest write first: each is a unit, and read alone."""
        window = request.window(self)
        writes = self._timeline.completed_writes(archived=True)
        planner = self._planner(request.options.strict)
        units, states, overwrites = list[ReadUnit](), {}, list[str]()
        for instant, body in writes:
            i = instant.requested
            if not body and window.hands_out(i):
                raise InputError(
                    f"{self._storage.full(instant.path)}: an empty file where a write says what it "
                    "changed"
                )
            if changes_rows(body) and window.sees(i) and window.hands_out(i):
                replaced = set(replaced_groups(instant, body))
                groups = written_groups(body) | replaced
                overwrites += [i] if replaced else []
                since = instant.completed or i
                later = {w.requested for w, _ in writes if (w.completed or w.requested) > since}
                hidden = (Window(hidden=frozenset(one)) for one in (later | {i}, later))
                before, after = (
                    request.units(self, self._complete(planner.plan_groups(one, groups), one), one)
                    for one in hidden
                )
                states[i] = before, after
                files = [file for unit in (*before.units, *after.units) for file in unit.files]
                reason = "what it touched is compared, before and after"
                known = {"ts_ms": pa.scalar(i)}
                units.append(ReadUnit(i, files, known, reason=reason, made=True))
        own = self.columns
        schema = image_schema(pa.schema([self.schema.field(name) for name in own]))
        plan = ReadPlan(self._storage.root, schema, units, counted(len(units), "write"))
        read = WriteChanges(states, own, request.options, overwrites)
        one_by_one = dataclasses.replace(request.options, threads=1)
        return self._scan(plan, columns, condition, one_by_one, read_by=("changes", read))

    def _schema_at(self, window: Window) -> pa.Schema:
        """The schema as of an instant; changes have the latest one."""
        text = self._timeline.latest_schema(None if window.is_incremental else window.up_to)
        if text is None:
            return self._schema_of_a_base_file()
        where = f"{self._storage.root}: a commit's schema"
        own = shown_schema(parse_schema(text), where)
        check_names(own.names, META_COLUMNS, where, "column")
        fields = {name: pa.field(name, pa.string()) for name in META_COLUMNS}
        fields |= {field.name: nullable_throughout(field) for field in own}
        return partition_schema(pa.schema(list(fields.values())), self.config)

    def _schema_of_a_base_file(self) -> pa.Schema:
        if not self._timeline.writes() and not self._timeline.archive.instants:
            return pa.schema([pa.field(name, pa.string()) for name in META_COLUMNS])
        for slice_ in self.slices():
            if slice_.base is not None:
                schema = open_slice_base(self._storage, slice_.base).schema
                return pa.schema([nullable_throughout(field) for field in schema])
        raise InputError(f"{self._storage.root}: no commit and no base file tells the schema")


@dataclasses.dataclass(frozen=True)
class _Query:
    """A query of a table, but for columns and a filter; see `HudiTable.scan`."""

    kind: Query
    as_of: str | None
    begin: str | None
    end: str | None
    changes_alone: bool
    path: Path
    positions: bool
    buckets: int | None
    options: ScanOptions

    @gc_paused()
    def plan(self, table: HudiTable) -> ReadPlan:
        """What is read of the table as it was when it was opened."""
        window, strict = self.window(table), self.options.strict
        table._planner(strict).ahead()
        units = self.units(table, table._plan(window, strict=strict), window)
        return dataclasses.replace(units, again=partial(_plan_anew, self, table._anew))

    def units(self, table: HudiTable, plan: Plan, window: Window) -> ReadPlan:
        """Slices as read units."""
        source = LogSource(
            table._storage,
            table.config,
            table._timeline,
            table._schema_at(window),
            window,
            self.options.strict,
            self.positions,
        )
        merges = self.kind != "read-optimized"
        return read_plan(plan, source, self.path, merge_logs=merges, buckets=self.buckets)

    def window(self, table: HudiTable) -> Window:
        """Which instants count."""
        if self.kind not in ("incremental", "cdc"):
            return table._as_of(self.as_of)
        for name, lacks in _LACK_META.items():
            if (text := table.config.raw.get(name, "")) and lacks(text):
                raise RefusedError(
                    f"{table._storage.root}: rows do not tell when they changed, or which they are "
                    f"({name}={text}), so incremental queries are not possible"
                )
        times = (self.begin, self.end)
        begin, end = (None if i is None else parse_instant(i, table.config) for i in times)
        return incremental_window(table._timeline, begin, end, alone=self.changes_alone)


def _plan_anew(request: _Query, make: Callable[[], HudiTable]) -> ReadPlan:
    """The plan of the same query of the table as it is now."""
    return request.plan(make()._within(request.options))


def _without_meta(names: Sequence[str]) -> list[str]:
    return [name for name in names if name not in HIDDEN]
