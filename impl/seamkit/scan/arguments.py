"""Arguments of tables and scans, and how a scan is run; each checked where it comes in.

Filters are of the kinds that users write: Arrow's, tuples, SQL, Polars'.
"""

from __future__ import annotations

import datetime as dt
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

import pyarrow as pa
import pyarrow.compute as pc

from seambase import wording
from seambase.errors import UsageError
from seambase.wording import counted
from seamkit.scan.hints import did_you_mean
from seamkit.scan.scan import Scan
from seamkit.scan.sql_scan import EngineCondition, SqlScan, sql_condition

if TYPE_CHECKING:
    import polars as pl

Filter: TypeAlias = (
    "pc.Expression | pl.Expr | str | Sequence[tuple[str, str, Any]]"
    " | Sequence[Sequence[tuple[str, str, Any]]]"
)
"""Rows to keep: an expression of `pyarrow.compute`, or one of Polars that tests each row by itself
and means what it means in Polars; a condition in SQL, for which DuckDB must be installed; or tuples
as `pyarrow.parquet.read_table` takes them: `[("price", ">", 1), ("day", "in", days)]`, all of which
hold, or a list of such lists, of which one holds. A day or a time may be a text: `"2024-01-31"`."""


#: Of a test as a tuple: a column, a word and a value.
_PARTS = 3


def read_filter(given: object, schema: pa.Schema) -> pc.Expression | EngineCondition | None:
    """A user's filter as Arrow's expression, or as what an engine tests; None keeps all rows.

    The schema has all columns that it may name.
    """
    if given is None or isinstance(given, pc.Expression):
        return given
    if isinstance(given, str):
        if not given.strip():
            raise UsageError("filter is an empty text: a condition in SQL is meant, or None")
        return sql_condition(given, schema)
    if isinstance(given, list | tuple):
        return _of_tuples(given, schema)
    polars = sys.modules.get("polars")  # whoever has made an expression of Polars has imported it
    if polars is not None and isinstance(given, polars.Expr):
        return _polars_condition(given, schema)
    raise UsageError(
        f"filter is a {type(given).__name__}: an expression such as pyarrow.compute.field('a') > 1 "
        "is meant, one of Polars, tuples such as [('a', '>', 1)], or a condition in SQL as text"
    )


def _of_tuples(given: Sequence[Any], schema: pa.Schema) -> pc.Expression:
    from pyarrow.parquet import filters_to_expression

    if _is_test(given):
        raise UsageError(f"filter is {given!r}: a list of such is meant, [{tuple(given)!r}]")
    for name, word, value in _tests(given):
        if str(word).replace("not ", "") == "in" and isinstance(value, str | bytes):
            raise UsageError(
                f"filter has {(name, word, value)!r}: a list is meant, such as [{value!r}]; of a "
                "text each letter would be looked for"
            )
    try:
        return filters_to_expression(_with_times(given, schema))
    except (ValueError, TypeError, LookupError, AttributeError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UsageError(
            f"filter is {given!r}: tuples such as [('a', '>', 1), ('b', 'in', [1, 2])] are meant, "
            f"or lists of them, of which one holds ({reason})"
        ) from error


def _with_times(given: Sequence[Any], schema: pa.Schema) -> list[Any]:
    """The tuples of a filter, with texts as what they mean in columns of days and of times."""
    if not _is_test(given):
        return [_with_times(one, schema) if isinstance(one, list | tuple) else one for one in given]
    name, word, value = given
    at = schema.get_field_index(name)
    kind = schema.field(at).type if at >= 0 else None
    if kind is None or not (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        return [*given]
    if isinstance(value, list | tuple | set | frozenset):
        return [name, word, [_as_time(one, name, kind) for one in value]]
    return [name, word, _as_time(value, name, kind)]


def _as_time(value: object, name: str, kind: pa.DataType) -> object:
    """A text as a day or a time, to its last digit; any other value as it is."""
    if not isinstance(value, str):
        return value
    try:
        return pa.scalar(value).cast(kind)
    except pa.ArrowInvalid as error:
        meant = "a day such as '2024-01-31'"
        if pa.types.is_timestamp(kind) and kind.tz:
            meant = "a time with its zone such as '2024-01-31T23:59:59Z'"
        elif pa.types.is_timestamp(kind):
            meant = "a day or a time without zone such as '2024-01-31T23:59:59'"
        raise UsageError(
            f"filter has {value!r} for column {name!r}, a {kind}: {meant} is meant"
        ) from error


def _is_test(given: Sequence[Any]) -> bool:
    return len(given) == _PARTS and all(isinstance(part, str) for part in given[:2])


def _tests(given: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """The tuples of a filter, wherever they stand."""
    for one in given:
        if isinstance(one, list | tuple):
            yield from [one] if _is_test(one) else _tests(one)


@dataclass(frozen=True)
class _PolarsTest:
    """A condition that Polars tests, by its own rules: NaN equals itself and is greatest."""

    expression: pl.Expr
    columns: tuple[str, ...]

    def __str__(self) -> str:
        return f"Polars: {self.expression}"

    @contextmanager
    def test(self) -> Iterator[Callable[[pa.RecordBatch], pa.Array]]:
        """See `RowTest.test`."""
        from seamkit.engines.in_polars import frame_of

        def keep(batch: pa.RecordBatch) -> pa.Array:
            frame = frame_of(batch.select(self.columns))
            return frame.select(self.expression.alias("keep"))["keep"].to_arrow()

        yield keep


def _polars_condition(given: pl.Expr, schema: pa.Schema) -> EngineCondition:
    """What Polars itself pushes into a scan: a condition that needs no other row."""
    import polars as pl
    from polars.io.plugins import register_io_source

    from seambase.dataset import without_views
    from seamkit.engines.in_polars import frame_of, worded

    shown = without_views(schema)
    empty = frame_of(pa.Table.from_batches([], shown))
    pushed: list[pl.Expr | None] = []

    def note(
        names: list[str] | None, condition: pl.Expr | None, _most: object, _batch_rows: object
    ) -> Iterator[pl.DataFrame]:
        pushed.append(condition)
        yield empty if names is None else empty.select(names)

    rows = register_io_source(note, schema=empty.schema).filter(given)
    try:
        is_whole = not rows.explain().startswith("FILTER")
        rows.collect()
    except pl.exceptions.PolarsError as error:
        reason = wording.filter_problem(str(error).strip().splitlines()[0], schema.names)
        raise UsageError(f"the filter {given} does not fit the columns: {reason}") from error
    condition = pushed[0] if len(pushed) == 1 else None
    if condition is None or not is_whole or not condition.meta.root_names():
        raise UsageError(
            f"filter is {given}: a condition that reads columns of one row at a time is meant; "
            "lazy().filter() takes any of Polars"
        )
    test = _PolarsTest(condition, tuple(dict.fromkeys(condition.meta.root_names())))
    return EngineCondition(test, worded(condition, shown), is_whole=False)


DEFAULT_BATCH_ROWS = 256 * 1024
"""Large enough that its columns lie on huge pages and per-batch work does not show; a batch of wide
rows stays below 100 MB."""


class RunOptions(TypedDict, total=False):
    """How to run a scan, as keywords of every table's `scan`; see `ScanOptions`."""

    batch_rows: int | None
    threads: int | None
    memory_limit_bytes: int | None
    strict: bool


@dataclass(frozen=True)
class ScanOptions:
    """How to run a scan.

    Attributes:
        batch_rows: most rows in a batch, or None for `DEFAULT_BATCH_ROWS`.
        threads: units at once, or None for one per core, several where files are far away.
        memory_limit_bytes: what the tracked allocator may hand out at once, or None: decoded rows
            of logs, keys and index, merged batches, and what Parquet blocks of logs claim to take
            when they are decoded. Changes that would take too much of it wait on local disk. Nor
            may any compressed piece of a file (a block, a page, a line, a vector) become more; None
            allows it a gigabyte, and pages of Parquet what they have. It does not bound the
            process: base files that pyarrow decodes (a batch and a row group's pages for each
            thread), bodies of the timeline and the files' own bytes come on top.
        strict: damage is refused wherever it can be told, so no engine's own reader, which checks
            less, takes over a file, and values of Parquet are held against their footers' bounds.
    """

    batch_rows: int | None = None
    threads: int | None = None
    memory_limit_bytes: int | None = None
    strict: bool = False

    def __post_init__(self) -> None:
        for name in ("batch_rows", "threads", "memory_limit_bytes"):
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise UsageError(f"{name} is {value!r}: a whole number of at least 1 is meant")
            if value >> 63:
                raise UsageError(
                    f"{name} has {counted(value.bit_length(), 'bit')}: at most 63 are meant"
                )

    @classmethod
    def of(cls, scan: Callable[..., object], run: RunOptions) -> ScanOptions:
        """What is left of the keywords of a call, each of which must be an option."""
        known = keywords_of(scan)
        for name in run:
            if name not in known:
                hint = did_you_mean(name, known, _INSTEAD) or f"; it has {', '.join(known)}"
                raise UsageError(f"{scan.__qualname__}() has no keyword {name!r}{hint}")
        check_flag("strict", run.get("strict", False))
        return cls(**run)

    @property
    def most_rows(self) -> int:
        """Most rows in a batch."""
        return self.batch_rows or DEFAULT_BATCH_ROWS

    @property
    def n_threads(self) -> int:
        """Units at once."""
        return self.threads or len(os.sched_getaffinity(0))


_AS_OF = "say as_of=, which takes the name of whatever history() lists"
#: Keywords that others have, and what does the same here.
_INSTEAD = {
    **dict.fromkeys(("cdc", "changes", "incremental"), "say query=, begin= and end="),
    "batch_size": "say batch_rows=",
    "filters": "say filter=",
    "limit": "call scan(...).limit(rows)",
    "predicate": "say filter=",
    "row_filter": "say filter=",
    "select": "say columns=",
    "selected_fields": "say columns=",
    "snapshot_id": _AS_OF,
    "tag": _AS_OF,
    "timestamp": _AS_OF,
    "version": _AS_OF,
    "where": "say filter=",
}


@cache
def keywords_of(scan: Callable[..., object]) -> Sequence[str]:
    """The keywords of a class's `scan`: of tables, it would keep them for ever."""
    named = inspect.signature(scan).parameters.values()
    own = (one.name for one in named if one.kind is not one.VAR_KEYWORD and one.name != "self")
    return (*own, *RunOptions.__annotations__)


def check_choice(name: str, value: object, known: Sequence[str]) -> None:
    """Require that an argument is one of a few words."""
    if value in known:
        return
    hint = wording.did_you_mean(str(value).replace("_", "-"), known)
    raise UsageError(f"{name} is {value!r}: one of {', '.join(map(repr, known))} is meant{hint}")


def check_flag(name: str, value: object) -> None:
    """Require that an argument is True or False."""
    if not isinstance(value, bool):
        raise UsageError(f"{name} is {value!r}: True or False is meant")


def instant_text(name: str, value: object) -> str | None:
    """A moment as text: as it was given, or a `datetime` or `date` in ISO 8601.

    A `datetime` has all its digits: a second of which a text tells no fraction may be a whole one.
    """
    if isinstance(value, dt.datetime):
        return value.isoformat(timespec="microseconds")
    if isinstance(value, dt.date):
        return value.isoformat()
    if value is None or isinstance(value, str):
        return value
    raise UsageError(f"{name} is {value!r}: an instant as text, or a datetime, is meant")


def chosen_columns(
    columns: Sequence[str] | None, schema: pa.Schema, default: Sequence[str], where: str
) -> list[str]:
    """The columns of a table's schema to hand out; None asks for the default ones."""
    if columns is None:
        return list(default)
    is_list = isinstance(columns, Iterable) and not isinstance(columns, str)
    names = [*columns] if is_list else []
    if not is_list or not all(isinstance(name, str) for name in names):
        raise UsageError(f"columns is {columns!r}: a list of names is meant, such as ['a', 'b']")
    for name in names:
        if name not in schema.names:
            raise UsageError(f"{where}: {wording.no_column(name, schema.names)}")
    if len(set(names)) != len(names):
        raise UsageError(f"{where}: a column is asked for twice: {', '.join(names)}")
    return names


def filtered_scan(
    make: Callable[[list[str], pc.Expression | None], Scan],
    columns: Sequence[str],
    filter: Filter | None,  # noqa: A002  (pyarrow's name for it)
    schema: pa.Schema,
) -> Scan:
    """A scan of some columns with a filter of any kind, over any of the schema."""
    condition = read_filter(filter, schema)
    if not isinstance(condition, EngineCondition):
        return make(list(columns), condition)
    if condition.is_whole:
        return make(list(columns), condition.implied)
    more = [name for name in condition.test.columns if name not in columns]
    return SqlScan(make([*columns, *more], condition.implied), columns, condition.test)
