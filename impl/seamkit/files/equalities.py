"""Which values a filter leaves to a column, and which rows as far as some columns tell."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seamkit.files.expressions import Call, Column, Literal, Part, parts_of

_BOTH = ("and", "and_kleene")
_EITHER = ("or", "or_kleene")

Values = frozenset[Any] | None
"""Values of one column, as Python's; None for any."""


def named_values(condition: pc.Expression, column: str) -> Values:
    """The values of a column of which a row that meets a condition has one.

    None where the condition does not name them: by equality, as one of a list, or by several such
    tests joined with and, and or.
    """
    root = parts_of(condition)
    return None if root is None else _values(root, column)


def _values(part: Part, column: str) -> Values:
    if not isinstance(part, Call):
        return None
    if part.name == "equal":
        return _compared(part, column)
    if part.name == "is_in" and part.arguments == [Column(column)]:
        listed = part.options.get("value_set") if isinstance(part.options, dict) else None
        return None if listed is None else frozenset(listed)
    if part.name == "if_else" and part.arguments[2:] == [Literal(None)]:
        return _values(part.arguments[1], column)  # where the test is of no null, else null
    sides = [_values(side, column) for side in part.arguments]
    known = [side for side in sides if side is not None]
    if part.name in _BOTH and known:
        return frozenset.intersection(*known)
    if part.name in _EITHER and len(known) == len(sides):
        return frozenset.union(*known)
    return None


def _compared(part: Call, column: str) -> Values:
    sides = part.arguments
    literals = [side.value for side in sides if isinstance(side, Literal)]
    return frozenset(literals) if Column(column) in sides and len(literals) == 1 else None


@dataclass(frozen=True)
class RowTest:
    """What some columns tell of which rows meet a filter.

    Attributes:
        columns: the columns that it looks at.
        may_match: false for each row that surely does not meet the filter; never null. A null of a
            column counts as any value.
    """

    columns: frozenset[str]
    may_match: Callable[[pa.RecordBatch], pa.BooleanArray]


_ORDERED = {
    "equal": "equal",
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
}


def row_test(condition: pc.Expression, columns: pa.Schema) -> RowTest | None:
    """Which rows may meet a condition, as far as the columns whose values will be known tell.

    None where they tell nothing: only comparisons of whole numbers, texts and dates with values of
    their own kind, and lists of such, joined with and, and or, are understood.
    """
    root = parts_of(condition)
    return None if root is None else _test_of(root, columns)


def _test_of(part: Part, columns: pa.Schema) -> RowTest | None:
    if not isinstance(part, Call):
        return None
    if part.name in _ORDERED and len(part.arguments) == 2:
        return _comparison(part.name, part.arguments[0], part.arguments[1], columns)
    if part.name == "is_in" and isinstance(part.options, dict):
        return _is_in(part.arguments, part.options.get("value_set"), columns)
    if part.name == "if_else" and part.arguments[2:] == [Literal(None)]:
        return _test_of(part.arguments[1], columns)
    sides = [_test_of(side, columns) for side in part.arguments]
    known = [side for side in sides if side is not None]
    if part.name in _BOTH and known:
        return _joined(pc.and_, known)
    if part.name in _EITHER and known and len(known) == len(sides):
        return _joined(pc.or_, known)
    return None


def _joined(join: Callable[[Any, Any], pa.BooleanArray], sides: list[RowTest]) -> RowTest:
    columns = frozenset[str]().union(*(side.columns for side in sides))
    return RowTest(columns, lambda rows: functools.reduce(join, [s.may_match(rows) for s in sides]))


def _comparison(name: str, left: Part, right: Part, columns: pa.Schema) -> RowTest | None:
    if isinstance(left, Literal):
        name, left, right = _ORDERED[name], right, left
    if not isinstance(left, Column) or not isinstance(right, Literal):
        return None
    values = _values_like(left.name, [right.value], columns)
    if values is None:
        return None
    column, compare = left.name, getattr(pc, name)

    def may_match(rows: pa.RecordBatch) -> pa.BooleanArray:
        return pc.fill_null(compare(rows.column(column), values[0]), True)

    return RowTest(frozenset([column]), may_match)


def _is_in(arguments: list[Part], listed: Any, columns: pa.Schema) -> RowTest | None:
    if len(arguments) != 1 or not isinstance(arguments[0], Column) or listed is None:
        return None
    column = arguments[0].name
    values = _values_like(column, list(listed), columns)
    if values is None:
        return None

    def may_match(rows: pa.RecordBatch) -> pa.BooleanArray:
        own = rows.column(column)
        return pc.or_(pc.is_in(own, value_set=values), own.is_null())

    return RowTest(frozenset([column]), may_match)


def _values_like(column: str, values: list[Any], columns: pa.Schema) -> pa.Array | None:
    """Values in a column's type; None where one is of another kind."""
    if column not in columns.names:
        return None
    kind = columns.field(column).type
    if pa.types.is_integer(kind):
        fits = all(type(value) is int for value in values)
    elif pa.types.is_string(kind):
        fits = all(type(value) is str for value in values)
    else:
        fits = pa.types.is_date32(kind) and all(type(value) is dt.date for value in values)
    try:
        return pa.array(values, kind) if fits else None
    except (pa.ArrowException, OverflowError):
        return None
