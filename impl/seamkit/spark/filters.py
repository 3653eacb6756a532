"""Filters of Spark's as conditions of a scan.

Spark applies every filter again, so a condition may keep rows that the filter would not, never the
other way round. Comparisons are taken over where Spark and Arrow order values alike: whole
numbers, dates, text. What is not taken over is left to Spark.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["condition_of"]

_COMPARISONS: dict[str, Callable[[pc.Expression, pc.Expression], pc.Expression]] = {
    "EqualTo": lambda a, b: a == b,
    "LessThan": lambda a, b: a < b,
    "LessThanOrEqual": lambda a, b: a <= b,
    "GreaterThan": lambda a, b: a > b,
    "GreaterThanOrEqual": lambda a, b: a >= b,
}


def condition_of(filters: Iterable[Any], schema: pa.Schema) -> pc.Expression | None:
    """A condition that every row passes which passes all filters.

    Args:
        filters: of `org.apache.spark.sql.sources`.
        schema: of the scan.

    Returns:
        None if no filter could be taken over.
    """
    parts = [part for one in filters if (part := _condition(one, schema)) is not None]
    if not parts:
        return None
    whole = parts[0]
    for part in parts[1:]:
        whole = whole & part
    return whole


def _condition(one: Any, schema: pa.Schema) -> pc.Expression | None:
    kind = str(one.getClass().getSimpleName())
    if kind == "And":
        return condition_of([one.left(), one.right()], schema)
    if kind == "Or":
        left, right = _condition(one.left(), schema), _condition(one.right(), schema)
        return None if left is None or right is None else left | right
    if kind == "IsNotNull":
        name = str(one.attribute())
        return pc.field(name).is_valid() if name in schema.names else None
    if kind in _COMPARISONS and str(one.attribute()) in schema.names:
        column = str(one.attribute())
        value = _scalar(one.value(), schema.field(column).type)
        return None if value is None else _COMPARISONS[kind](pc.field(column), value)
    return None


def _scalar(value: Any, kind: pa.DataType) -> pc.Expression | None:
    """A value of Java's as one of a column's type; None where the two may compare otherwise."""
    if pa.types.is_integer(kind):
        return pc.scalar(pa.scalar(int(value), kind))
    if pa.types.is_string(kind):
        return pc.scalar(pa.scalar(str(value), kind))
    if pa.types.is_date32(kind):
        return pc.scalar(pa.scalar(dt.date.fromisoformat(str(value)), kind))
    return None
