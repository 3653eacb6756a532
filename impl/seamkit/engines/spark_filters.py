"""Filters of Spark's as conditions of a scan.

Spark applies every filter again, so a condition may keep rows that the filter would not, never the
other way round. Comparisons are taken over where Spark and Arrow order values alike: whole
numbers, decimals, dates, text. What is not taken over is left to Spark.
"""

from __future__ import annotations

import datetime as dt
import decimal
import functools
import json
import operator
from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_COMPARISONS: dict[str, Callable[[pc.Expression, pc.Expression], pc.Expression]] = {
    "EqualTo": operator.eq,
    "LessThan": operator.lt,
    "LessThanOrEqual": operator.le,
    "GreaterThan": operator.gt,
    "GreaterThanOrEqual": operator.ge,
}


def condition_of(filters: str, schema: pa.Schema) -> pc.Expression | None:
    """A condition that every row passes which passes all filters.

    Args:
        filters: as `java/FilterText.java` writes them.
        schema: of the scan.

    Returns:
        None if no filter could be taken over.
    """
    return _all(json.loads(filters), schema)


def _all(filters: Iterable[Any], schema: pa.Schema) -> pc.Expression | None:
    parts = [part for one in filters if (part := _condition(one, schema)) is not None]
    return functools.reduce(operator.and_, parts) if parts else None


def _condition(one: Any, schema: pa.Schema) -> pc.Expression | None:
    if one is None:
        return None
    kind, *held = one
    if kind == "And":
        return _all(held, schema)
    if kind == "Or":
        left, right = (_condition(side, schema) for side in held)
        return None if left is None or right is None else left | right
    name, *values = held
    if name not in schema.names:
        return None
    column = pc.field(name)
    if kind == "IsNotNull":
        return column.is_valid()
    known = [_scalar(value, schema.field(name).type) for value in values]
    scalars = [scalar for scalar in known if scalar is not None]
    if len(scalars) < len(known):
        return None
    if kind == "In":
        return column.isin(pa.array([s.as_py() for s in scalars], schema.field(name).type))
    return _COMPARISONS[kind](column, pc.scalar(scalars[0]))


def _scalar(text: str | None, kind: pa.DataType) -> pa.Scalar | None:
    """A value of Java's as one of a column's type; None where the two may compare otherwise."""
    if text is None:
        return None
    if pa.types.is_integer(kind):
        return pa.scalar(int(text), kind)
    if pa.types.is_string(kind):
        return pa.scalar(text, kind)
    try:
        if pa.types.is_decimal(kind):
            return pa.scalar(decimal.Decimal(text), kind)
        if pa.types.is_date32(kind):
            return pa.scalar(dt.date.fromisoformat(text), kind)
    except (ValueError, ArithmeticError):  # a year beyond Python's, more digits than the column has
        return None
    return None
