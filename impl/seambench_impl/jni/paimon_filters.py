"""Filters for Paimon's core: what of a condition may rule out rows of a unit, as a small JSON.

The scan tests all rows exactly afterwards, so what goes down may keep rows that the condition would
not, never the other way round. Values are compared where Arrow and Paimon order them alike: whole
numbers, decimals, dates, texts, booleans. The rest of a condition stays with the scan.
"""

from __future__ import annotations

import datetime as dt
import decimal
import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seamkit.files.expressions import Call, Column, Literal, Part, parts_of

_COMPARISONS = {
    "equal": "equal",
    "not_equal": "notEqual",
    "less": "lessThan",
    "less_equal": "lessOrEqual",
    "greater": "greaterThan",
    "greater_equal": "greaterOrEqual",
}
_TURNED = {
    "lessThan": "greaterThan",
    "lessOrEqual": "greaterOrEqual",
    "greaterThan": "lessThan",
    "greaterOrEqual": "lessOrEqual",
}
_EPOCH = dt.date(1970, 1, 1)
_Test = list[Any]


def ruling_out(condition: pc.Expression | None, columns: pa.Schema) -> str | None:
    """A test that every row passes which meets a condition.

    It is as `PaimonPredicates.java` takes it, by columns by which rows may be ruled out; None where
    nothing of the condition is left.
    """
    root = None if condition is None else parts_of(condition)
    test = None if root is None else _test(root, columns)
    return None if test is None else json.dumps(test)


def _test(part: Part, columns: pa.Schema) -> _Test | None:
    if not isinstance(part, Call):
        return None
    if part.name in ("and", "and_kleene"):
        known = [side for one in part.arguments if (side := _test(one, columns)) is not None]
        return ["and", *known] if len(known) > 1 else known[0] if known else None
    if part.name in ("or", "or_kleene"):
        sides = [_test(one, columns) for one in part.arguments]
        return None if None in sides else ["or", *sides]
    if part.name == "if_else" and part.arguments[2:] == [Literal(None)]:
        return _test(part.arguments[1], columns)  # where the test is of no null, else null
    if part.name in ("is_null", "is_valid"):
        return _null_test(part, columns)
    if part.name == "is_in":
        return _listed(part, columns)
    return _compared(part, columns) if part.name in _COMPARISONS else None


def _kind(part: Part, columns: pa.Schema) -> pa.DataType | None:
    """The type of a column by whose values rows may be ruled out."""
    if isinstance(part, Column) and part.name in columns.names:
        return columns.field(part.name).type
    return None


def _null_test(part: Call, columns: pa.Schema) -> _Test | None:
    [side] = part.arguments
    kind = _kind(side, columns)
    if kind is None or pa.types.is_floating(kind):  # NaN may count as null
        return None
    assert isinstance(side, Column)
    return ["isNull" if part.name == "is_null" else "isNotNull", side.name]


def _listed(part: Call, columns: pa.Schema) -> _Test | None:
    side, kind = part.arguments[0], _kind(part.arguments[0], columns)
    listed = part.options.get("value_set") if isinstance(part.options, dict) else None
    if kind is None or not listed:
        return None
    assert isinstance(side, Column)
    texts = [_text(value, kind) for value in listed]
    return None if None in texts else ["in", side.name, *texts]


def _compared(part: Call, columns: pa.Schema) -> _Test | None:
    left, right = part.arguments
    word = _COMPARISONS[part.name]
    if isinstance(left, Literal):
        left, right, word = right, left, _TURNED.get(word, word)
    kind = _kind(left, columns)
    text = _text(right.value, kind) if isinstance(right, Literal) and kind is not None else None
    if text is None:
        return None
    assert isinstance(left, Column)
    return [word, left.name, text]


def _text(value: Any, kind: pa.DataType) -> str | None:
    """A value as one of a column's type; None where it is none, or not compared alike."""
    for holds, written in _WRITTEN:
        if holds(kind):
            try:
                return written(value, kind)
            except (pa.ArrowException, ArithmeticError, TypeError, ValueError):
                return None
    return None


def _whole(value: Any, kind: pa.DataType) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return str(pa.scalar(value, kind).as_py())  # fails where the type is too narrow


def _decimal(value: Any, kind: pa.DataType) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | decimal.Decimal):
        return None
    return format(pa.scalar(decimal.Decimal(value), kind).as_py(), "f")


def _date(value: Any, _: pa.DataType) -> str | None:
    exact = isinstance(value, dt.date) and not isinstance(value, dt.datetime)
    return str((value - _EPOCH).days) if exact else None


def _of_texts(value: Any, _: pa.DataType) -> str | None:
    return value if isinstance(value, str) else None


def _truth(value: Any, _: pa.DataType) -> str | None:
    return str(value).lower() if isinstance(value, bool) else None


_WRITTEN: tuple[
    tuple[Callable[[pa.DataType], bool], Callable[[Any, pa.DataType], str | None]], ...
] = (
    (pa.types.is_signed_integer, _whole),
    (pa.types.is_decimal, _decimal),
    (pa.types.is_date32, _date),
    (pa.types.is_string, _of_texts),
    (pa.types.is_boolean, _truth),
)
