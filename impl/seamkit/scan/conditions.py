"""Filters of the kinds that users write: Arrow's, tuples, SQL, Polars'."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import UsageError
from seamkit.scan.sql_scan import EngineCondition, sql_condition

if TYPE_CHECKING:
    import polars as pl

Filter: TypeAlias = (
    "pc.Expression | pl.Expr | str | Sequence[tuple[str, str, Any]]"
    " | Sequence[Sequence[tuple[str, str, Any]]]"
)
"""Rows to keep: an expression of `pyarrow.compute`, or one of Polars that tests each row by itself
and means what it means in Polars; a condition in SQL, for which DuckDB must be installed; or tuples
as `pyarrow.parquet.read_table` takes them: `[("price", ">", 1), ("day", "in", days)]`, all of which
hold, or a list of such lists, of which one holds."""


def read_filter(given: object, schema: pa.Schema) -> pc.Expression | EngineCondition | None:
    """A filter as Arrow's expression, or as what an engine tests.

    Args:
        given: by the user; None keeps all rows.
        schema: all columns that it may name.
    """
    if given is None or isinstance(given, pc.Expression):
        return given
    if isinstance(given, str):
        return sql_condition(given, schema)
    if isinstance(given, list | tuple):
        return _of_tuples(given)
    polars = sys.modules.get("polars")  # whoever has made an expression of Polars has imported it
    if polars is not None and isinstance(given, polars.Expr):
        return _polars_condition(given, schema)
    raise UsageError(
        f"filter is a {type(given).__name__}: an expression such as pyarrow.compute.field('a') > 1 "
        "is meant, one of Polars, tuples such as [('a', '>', 1)], or a condition in SQL as text"
    )


def _of_tuples(given: Sequence[Any]) -> pc.Expression:
    from pyarrow.parquet import filters_to_expression

    try:
        return filters_to_expression(list(given))
    except (ValueError, TypeError, LookupError, AttributeError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UsageError(
            f"filter is {given!r}: tuples such as [('a', '>', 1), ('b', 'in', [1, 2])] are meant, "
            f"or lists of them, of which one holds ({reason})"
        ) from error


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
        is_whole = "FILTER" not in rows.explain()
        rows.collect()
    except pl.exceptions.PolarsError as error:
        reason = str(error).strip().splitlines()[0]
        raise UsageError(f"the filter {given} does not fit the columns: {reason}") from error
    condition = pushed[0] if len(pushed) == 1 else None
    if condition is None or not is_whole or not condition.meta.root_names():
        raise UsageError(
            f"filter is {given}: a condition that reads columns of one row at a time is meant; "
            "lazy().filter() takes any of Polars"
        )
    test = _PolarsTest(condition, tuple(dict.fromkeys(condition.meta.root_names())))
    return EngineCondition(test, worded(condition, shown), is_whole=False)
