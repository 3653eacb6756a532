"""Arguments of tables and scans, checked where they come in: one sentence for what is wrong."""

from __future__ import annotations

import datetime as dt
import difflib
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import UsageError
from seamkit.scan.scan import Scan
from seamkit.scan.sql_scan import SqlScan, sql_condition

__all__ = ["check_choice", "check_flag", "chosen_columns", "filtered_scan", "instant_text"]


def check_choice(name: str, value: object, known: Sequence[str]) -> None:
    """Require that an argument is one of a few words.

    Raises:
        UsageError: it is another; the nearest word is named.
    """
    if value in known:
        return
    near = difflib.get_close_matches(str(value).replace("_", "-"), known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise UsageError(f"{name} is {value!r}: one of {', '.join(map(repr, known))} is meant{hint}")


def check_flag(name: str, value: object) -> None:
    """Require that an argument is True or False.

    Raises:
        UsageError: it is something else, which Python would take for one of them.
    """
    if not isinstance(value, bool):
        raise UsageError(f"{name} is {value!r}: True or False is meant")


def instant_text(name: str, value: object) -> str | None:
    """A moment as text: as it was given, or a `datetime` in ISO 8601.

    Raises:
        UsageError: it is something else.
    """
    if isinstance(value, dt.datetime):
        return value.isoformat()
    if value is None or isinstance(value, str):
        return value
    raise UsageError(f"{name} is {value!r}: an instant as text, or a datetime, is meant")


def chosen_columns(
    columns: Sequence[str] | None, schema: pa.Schema, default: Sequence[str], where: str
) -> list[str]:
    """The columns to hand out.

    Args:
        columns: those asked for; None for `default`.
        schema: all that the table has.
        default: see above.
        where: the table, for messages.

    Raises:
        UsageError: no list of names, an unknown one, or one that is there twice.
    """
    if columns is None:
        return list(default)
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        raise UsageError(f"columns is {columns!r}: a list of names is meant, such as ['a', 'b']")
    for name in columns:
        if name not in schema.names:
            near = difflib.get_close_matches(name, schema.names, n=3)
            hint = f"; did you mean {', '.join(near)}?" if near else ""
            raise UsageError(f"{where}: there is no column {name!r}{hint}")
    if len(set(columns)) != len(columns):
        raise UsageError(f"{where}: a column is asked for twice: {', '.join(columns)}")
    return list(columns)


def filtered_scan(
    make: Callable[[list[str], pc.Expression | None], Scan],
    columns: Sequence[str],
    filter: pc.Expression | str | None,  # noqa: A002  (pyarrow's name for it)
    schema: pa.Schema,
) -> Scan:
    """A scan of some columns with a filter of either kind.

    Args:
        make: plans a scan of columns with a condition.
        columns: those to hand out.
        filter: an expression of Arrow's, or a condition in SQL, which DuckDB reads.
        schema: all columns that a filter may name.

    Raises:
        UsageError: the filter is neither, or does not fit the columns.
        UnavailableError: it is SQL, and DuckDB is not installed.
    """
    if isinstance(filter, str):
        condition = sql_condition(filter, schema)
        if condition.is_whole:
            return make(list(columns), condition.implied)
        more = [name for name in condition.sql.columns if name not in columns]
        return SqlScan(make([*columns, *more], condition.implied), columns, condition.sql)
    if filter is not None and not isinstance(filter, pc.Expression):
        kind: Any = type(filter).__name__
        raise UsageError(
            f"filter is a {kind}: an expression such as pyarrow.compute.field('a') > 1 is meant, "
            "or a condition in SQL as text"
        )
    return make(list(columns), filter)
