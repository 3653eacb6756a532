"""What every table has, whatever its format: a scan, what is made of one, its states and files.

`FolderTable` has what those share that are folders: moments that name a state, arguments of scans,
plans as scans. The files of a planned scan, as descriptions and lists of files name them.
"""

from __future__ import annotations

import copy
import datetime as dt
import functools
import inspect
import itertools
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import (
    TYPE_CHECKING,
    ClassVar,
    Literal,
    ParamSpec,
    Self,
    TypedDict,
    TypeVar,
    Unpack,
    get_args,
)

import pyarrow as pa
import pyarrow.compute as pc

from seambase.description import StoredFile, TableDescription, UnitDescription
from seambase.errors import InputError, RefusedError, SeambenchError, UsageError
from seambase.filters import all_of
from seambase.scan import Query
from seamkit.files.storage import Storage
from seamkit.scan.arguments import Filter, ScanOptions, check_choice, chosen_columns, filtered_scan
from seamkit.scan.hints import Hinted
from seamkit.scan.scan import Scan
from seamkit.scan.shown import Listing, html_of, schema_lines
from seamkit.scan.unit_scan import UnitScan
from seamkit.scan.unit_tasks import ReadRows
from seamkit.scan.units import ReadPlan, ReadUnit, Runs, UnitFile

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

_P = ParamSpec("_P")
_R = TypeVar("_R")

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)

Moment = int | str | dt.date
"""A number (or a text of its digits), a time (a `datetime`, or ISO 8601; UTC unless it says
otherwise), or a day, whose first moment is meant."""


def utc_time(millis: int | None) -> dt.datetime | None:
    """A time from milliseconds since 1970; None stays None, and is what no `datetime` can be."""
    try:
        return None if millis is None else _EPOCH + dt.timedelta(milliseconds=millis)
    except OverflowError:
        return None


def parsed_moment(value: Moment, name: str, meant: str) -> int | dt.datetime:
    """The number that a moment is, or the time; `name` and `meant` are for messages."""
    if isinstance(value, str):
        if value.isascii() and value.isdigit():
            return int(value)
        try:
            value = dt.datetime.fromisoformat(value)
        except ValueError as error:
            raise UsageError(f"{name} is {value!r}: {meant} is meant") from error
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)
    if isinstance(value, bool) or not isinstance(value, int | dt.datetime):
        raise UsageError(f"{name} is {' '.join(repr(value)[:60].split())}: {meant} is meant")
    return value if isinstance(value, int) or value.tzinfo else value.replace(tzinfo=dt.UTC)


def too_early(what: str, moment: dt.datetime, oldest: tuple[int, int] | None) -> UsageError:
    """A moment before any state of which `what` tells, beside the oldest: its number, its time."""
    ending = f"; the oldest, {oldest[0]}, is of {utc_time(oldest[1])}" if oldest else ""
    return UsageError(f"{what} is as old as {moment}{ending}")


def micros(time: dt.datetime) -> int:
    """Microseconds from 1970 to a time."""
    return (time - _EPOCH) // dt.timedelta(microseconds=1)


_CHANGE_QUERIES = ("incremental", "cdc")


class ScanKeywords(TypedDict, total=False):
    """The keywords of `scan` of tables of all formats; each refuses those that are not its own."""

    filter: Filter | None
    query: Query
    as_of: Moment | None
    begin: Moment | None
    end: Moment | None
    batch_rows: int | None
    threads: int | None
    memory_limit_bytes: int | None
    strict: bool
    changes_alone: bool
    path: Literal["auto", "native", "merge"]
    positions: bool
    buckets: int | None
    mode: Literal["auto", "delta", "changelog", "diff"]
    row_kinds: bool


@dataclass(frozen=True)
class TableState:
    """A state of a table that can be read.

    Attributes:
        kind: `version` of Delta, `snapshot` of Iceberg and Paimon, `instant` of Hudi; or a
            `branch`, a `tag`, a `savepoint`.
        name: its number or name: what `scan(as_of=...)` takes. A branch of Paimon is opened
            instead: `open_table(path, branch=name)`.
        time: when it was made, in UTC; of a branch or a tag when what it names was; None where the
            table does not tell.
        operation: what made it, in the format's words; empty where the table does not tell.
    """

    kind: Literal["version", "snapshot", "instant", "branch", "tag", "savepoint"]
    name: int | str
    time: dt.datetime | None
    operation: str = ""


@dataclass(frozen=True)
class TableFile:
    """A file of a state of a table, or the part of one that holds what is meant.

    Attributes:
        path: whole, or an address: what opens it; of a vector that stands in Delta's log, the log.
        kind: in the format's words: `data file`, `log`, `deletion vector`, ...
        rows: that it holds (of deletes: rows that they take out), as the metadata tells; None where
            it does not.
        size_bytes: of the file, or of the part.
        changed_by: paths of the files that replace its rows, take some out or add others.
    """

    path: str
    kind: str
    rows: int | None
    size_bytes: int
    changed_by: tuple[str, ...] = ()


_WRITES = ("append", "delete", "insert", "merge", "overwrite", "update", "write")
_CHANGES = "call scan(query=...), begin= and end= with it; table.queries names what there is"
_INSTEAD = {
    **dict.fromkeys(_WRITES, "tables are read here, not written"),
    **dict.fromkeys(("cdc", "cdf", "changes", "diff", "incremental", "load_cdf"), _CHANGES),
    **dict.fromkeys(("detail", "info", "inspect", "partitions", "protocol"), "call describe()"),
    **dict.fromkeys(("current_snapshot", "current_version", "snapshot"), "call history(1)"),
    **dict.fromkeys(("first", "show", "take"), "call head()"),
    **dict.fromkeys(("is_empty", "isEmpty"), "call count_rows()"),
    **dict.fromkeys(("printSchema", "print_schema"), "ask schema"),
    **dict.fromkeys(("refresh", "reload", "update_incremental"), "call open_table(path) again"),
    **dict.fromkeys(("location", "name", "path", "table_uri", "uri"), "call describe().table"),
    "[]": "call scan(['a', 'b']) for columns, head(10) for first rows",
    "as_of": "call scan(as_of=...)",
    "branches": "call history()",
    "collect": "call to_arrow() or to_polars()",
    "count": "call count_rows()",
    "dataset": "call scan().dataset()",
    "df": "call to_pandas()",
    "dtypes": "ask schema.types",
    "explain": "call scan().explain()",
    "file_uris": "call files()",
    "filter": "call scan().filter()",
    "iter_batches": "call scan().to_batches()",
    "lazy": "call scan().lazy()",
    "limit": "call scan().limit()",
    "load": "call to_arrow(), or scan() with columns and a filter",
    "metadata": "call describe()",
    "num_rows": "call count_rows(), which reads",
    "read": "call to_arrow(), or scan() with columns and a filter",
    "refs": "call history()",
    "relation": "call scan().relation(connection)",
    "sample": "rows have no order: call head(), or scan().lazy()",
    "select": "call scan().select()",
    "shape": "call count_rows(), which reads, and ask columns",
    "snapshots": "call history()",
    "statistics": "call scan().statistics()",
    "sql": "call register(connection, name, table) of seamkit, with a connection of DuckDB",
    "tags": "call history()",
    "tail": "rows have no order: call head()",
    "toDF": "call to_pandas() or to_polars()",
    "to_batches": "call scan().to_batches()",
    "to_dataframe": "call to_pandas() or to_polars()",
    "to_df": "call to_pandas() or to_polars()",
    "to_duckdb": "call scan().relation(connection)",
    "to_parquet": "call to_polars().write_parquet(), or `seamkit scan TABLE -o FILE.parquet`",
    "to_lazy": "call scan().lazy()",
    "to_pyarrow_dataset": "call scan().dataset()",
    "to_pyarrow_table": "call to_arrow()",
    "to_reader": "call scan().to_reader()",
    "to_table": "call to_arrow()",
    "version": "call history(1)",
    "versions": "call history()",
    "where": "call scan().filter()",
}


def by_name(method: Callable[_P, _R]) -> Callable[_P, _R]:
    """A method that says which arguments stand by position where more are given so."""
    known = [
        one.name
        for one in inspect.signature(method).parameters.values()
        if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]

    shown = [name for name in known if name != "self"]

    @functools.wraps(method)
    def called(*given: _P.args, **named: _P.kwargs) -> _R:
        if len(given) > len(known):
            more = given[len(known)]
            value = repr(more) if isinstance(more, str | list | tuple) else "..."
            raise UsageError(
                f"{method.__qualname__}() takes {', '.join(shown) or 'nothing'} by position "
                f"and all else by name: say filter={value} if a filter is meant"
            )
        return method(*given, **named)

    return called


class Table(Hinted, ABC):
    """A table of any format. What is read goes through `scan`; `to_pandas` and others call it.

    Attributes:
        is_folders_alone: whether nothing but its folders tells which files it has.
    """

    instead = _INSTEAD
    is_folders_alone: ClassVar[bool] = False

    # Hidden from type checkers, who know by its abstract methods that it cannot be made.
    if not TYPE_CHECKING:

        def __new__(cls, *_: object, **__: object) -> Table:
            """Only tables of a format are made."""
            if cls is Table:
                raise TypeError("Table is what tables of all formats are: call open_table(path)")
            return super().__new__(cls)

        def __init_subclass__(cls, **options: object) -> None:
            super().__init_subclass__(**options)
            if "scan" in vars(cls):
                cls.scan = by_name(cls.scan)

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """The table's columns as they are now."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns that rows have where none are named."""
        return list(self.schema.names)

    @property
    def shown_schema(self) -> pa.Schema:
        """The columns that rows have where none are named, with their types."""
        schema = self.schema
        return pa.schema([schema.field(name) for name in self.columns])

    @abstractmethod
    def describe(self) -> TableDescription:
        """What the table is, and what a snapshot of it reads; no row is read."""

    @abstractmethod
    def scan(self, columns: Sequence[str] | None = None, **keywords: Unpack[ScanKeywords]) -> Scan:
        """Plans a read. `help(seamkit)` lists the options of all; each format may have more."""

    @abstractmethod
    def _states(self) -> Iterator[TableState]:
        """What `history` lists, in its order."""

    @abstractmethod
    def _facts(self) -> str:
        """What a line about the table says besides its class; no row is read."""

    def history(self, limit: int | None = None) -> Listing[TableState]:
        """The states that the table can be read in, and their names.

        Branches, tags and savepoints come first, by name; then versions, snapshots or instants, the
        newest first. A Hive table has no past, so the list is empty.

        Args:
            limit: most states to look for; None for all.

        Raises:
            UsageError: a negative limit.
            InputError: metadata is missing or broken.
        """
        if limit is not None and (
            isinstance(limit, bool) or not isinstance(limit, int) or limit < 0
        ):
            raise UsageError(f"limit is {limit!r}: a whole number from 0 on is meant")
        return Listing(
            TableState, itertools.islice(self._states(), limit and min(limit, sys.maxsize))
        )

    def files(self, as_of: Moment | None = None) -> Listing[TableFile]:
        """The files that a snapshot reads, each once, those that change others behind them.

        Args:
            as_of: the state that is meant, as `scan` takes it; None for the newest.

        Raises:
            UsageError: no such state.
            InputError: metadata is missing or broken.
            RefusedError: legal, but not supported.
        """
        found: dict[tuple[str, int | None, str], TableFile] = {}

        def put(file: StoredFile, changes: Sequence[StoredFile] = ()) -> None:
            by = tuple(dict.fromkeys(one.path for one in changes))
            found.setdefault(
                file.identity, TableFile(file.path, file.kind, file.rows, file.size_bytes, by)
            )

        for unit in described_units(plan_of(self.scan(as_of=as_of))):
            for file in unit.files:
                put(file, unit.changes)
            for file in unit.changes:
                put(file)
        return Listing(TableFile, found.values())

    @by_name
    def to_arrow(
        self, columns: Sequence[str] | None = None, **keywords: Unpack[ScanKeywords]
    ) -> pa.Table:
        """All rows, or those that `scan` gives with the same arguments."""
        return self.scan(columns, **keywords).to_table()

    @by_name
    def to_pandas(
        self, columns: Sequence[str] | None = None, **keywords: Unpack[ScanKeywords]
    ) -> pd.DataFrame:
        """The same as a pandas data frame."""
        return self.scan(columns, **keywords).to_pandas()

    @by_name
    def to_polars(
        self, columns: Sequence[str] | None = None, **keywords: Unpack[ScanKeywords]
    ) -> pl.DataFrame:
        """The same as a Polars data frame."""
        return self.scan(columns, **keywords).to_polars()

    @by_name
    def head(
        self, rows: int = 10, columns: Sequence[str] | None = None, **keywords: Unpack[ScanKeywords]
    ) -> pa.Table:
        """The first rows that come of those that `scan` gives; the rest is not read."""
        return self.scan(columns, **keywords).head(rows)

    @by_name
    def count_rows(self, **keywords: Unpack[ScanKeywords]) -> int:
        """How many rows `scan` gives; they are read, without a column that no filter needs."""
        return self.scan([], **keywords).count_rows()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.scan().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self.shown_schema.__arrow_c_schema__()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self.scan().to_batches()

    def __repr__(self) -> str:
        return "\n".join([f"<{type(self).__name__} {self._facts()}>", *self._schema_lines()])

    def _repr_html_(self) -> str:
        title = f"{type(self).__name__} {self._facts()}"
        try:
            return html_of(title, self.scan().schema, self.head)
        except SeambenchError as error:
            return html_of(f"{title}: {error}", pa.schema([]), lambda _: pa.table({}))

    def _schema_lines(self) -> list[str]:
        try:
            named = [name for name in self.schema.names if name not in self.columns]
            more = [f"  and when they are named: {', '.join(named)}"] if named else []
            return schema_lines(self.shown_schema) + more
        except SeambenchError as error:  # a broken table is still shown
            return [f"  {error}"]


class FolderTable(Table):
    """A table that is a folder on some storage.

    Attributes:
        title: of its format, in sentences.
        queries: those that its tables answer.
    """

    title: ClassVar[str]
    queries: ClassVar[Sequence[Query]]

    _storage: Storage

    def _view(self, query: Query, options: ScanOptions, **moments: object) -> Self:
        """The table for a read, once it is sure that the read makes sense."""
        # `moments` are `as_of`, which changes do not have, or `begin` and `end`, which they alone
        # have; None where one was not given.
        check_choice("query", query, get_args(Query))
        if query not in self.queries:
            raise RefusedError(
                f"{self._storage.root}: {query} queries of {self.title} tables are not supported"
            )
        for name, value in moments.items():
            if isinstance(value, TableState):
                raise UsageError(f"{name} is a TableState: give its name, {name}={value.name!r}")
            if value is not None and (name == "as_of") == (query in _CHANGE_QUERIES):
                others = [
                    one
                    for one in self.queries
                    if (one in _CHANGE_QUERIES) != (query in _CHANGE_QUERIES)
                ]
                raise UsageError(
                    f"a query {query} has no {name}: it goes with {' or '.join(others)}"
                )
        return self._within(options)

    def _scan(
        self,
        plan: ReadPlan,
        columns: Sequence[str] | None,
        filter: Filter | None,  # noqa: A002  (pyarrow's name for it)
        options: ScanOptions,
        *,
        shown: Sequence[str] | None = None,
        rows: pc.Expression | None = None,
        narrowed: Callable[[pc.Expression | None], ReadPlan] | None = None,
        read_by: tuple[str, ReadRows] | None = None,
    ) -> Scan:
        """A scan of what was planned; a strict one has nothing to warn of."""
        # `shown` are the columns handed out unless `columns` tells others, `rows` what every row
        # must meet besides the filter; `narrowed` plans anew under a condition, and `read_by` says
        # how units are read where that is not a snapshot's way (`UnitScan.read_by`).
        every = plan.schema.names if shown is None else shown
        names = chosen_columns(columns, plan.schema, every, self._storage.root)

        def make(columns: list[str], condition: pc.Expression | None) -> Scan:
            own = plan if narrowed is None else narrowed(condition)
            if options.strict and own.warnings:
                raise InputError(f"{own.warnings[0].file}: {own.warnings[0].reason}")
            whole = condition if rows is None else all_of(rows, condition)
            scan = UnitScan(own, columns, whole, options)
            return scan if read_by is None else scan.read_by(*read_by)

        return filtered_scan(make, names, filter, plan.schema)

    def _within(self, options: ScanOptions) -> Self:
        """The same table for a read with a limit of memory, or a strict one, of its files."""
        if options.memory_limit_bytes is None and not options.strict:
            return self
        other = copy.copy(self)
        other._storage = self._storage.within(options.memory_limit_bytes, strict=options.strict)
        other._moved()
        return other

    def _moved(self) -> None:
        """Makes anew what holds the storage, which is another one now."""


def described(
    scan: Scan,
    *,
    format_name: str,
    version: str,
    state: str,
    key: Sequence[str] = (),
    unit_word: str = "file",
    properties: Mapping[str, str] = MappingProxyType({}),
) -> TableDescription:
    """Describe the table of a scan of all columns without a filter; `key` tells rows apart."""
    plan = plan_of(scan)
    return TableDescription(
        table=plan.table,
        format=format_name,
        version=version,
        state=state,
        key=list(key),
        units=described_units(plan),
        unit_word=unit_word,
        properties=dict(properties),
        warnings=list(plan.warnings),
    )


def plan_of(scan: Scan) -> ReadPlan:
    """What a scan of a snapshot reads."""
    assert isinstance(scan, UnitScan)
    return scan.plan


def described_units(plan: ReadPlan) -> list[UnitDescription]:
    """The units of a plan, with their files and what changes these."""
    return [_unit(unit) for unit in plan.units]


def _unit(unit: ReadUnit) -> UnitDescription:
    """Of sorted runs the first, the oldest, counts as data; those above it change its rows."""
    files, later = list(unit.files), []
    if isinstance(unit.changes, Runs):
        files = list(unit.changes.runs[0])
        later = [_stored(file, "sorted run") for run in unit.changes.runs[1:] for file in run]
    return UnitDescription(
        name=unit.name,
        group=unit.group,
        files=[_stored(file, "data file") for file in files],
        changes=[*later, *unit.changed_by],
        reason=unit.reason,
    )


def _stored(file: UnitFile, kind: str) -> StoredFile:
    return StoredFile(kind, file.name, file.size_bytes, file.rows)
