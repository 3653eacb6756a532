"""Decimals and dates of columns that were numbers or texts when a file was written.

`ALTER TABLE ... ALTER COLUMN ... TYPE` with `hoodie.schema.on.read.enable` allows such changes.
Hudi 1.2.0 goes by the text of a value (0.3f is 0.3), rounds half up what a decimal has no digits
for, and gives null where its digits do not suffice; in base files under merge-on-read it goes by
the double that a float equals, which rounds some halves down. A text that is no number or date is
null in its base files and an error in its logs; here it is an error.
"""

from __future__ import annotations

import datetime as dt
import re
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation

import pyarrow as pa
import pyarrow.compute as pc

from seamkit.tables.hudi.types.java_text import java_text

__all__ = ["becomes", "cast_as_java"]

_DIGITS = Context(prec=400)
_INT64_DIGITS = 19
_MOST_DIGITS = 38
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")


def becomes(have: pa.DataType, want: pa.DataType) -> bool:
    """Whether a column of one type may have turned into one of the other in this way."""
    if pa.types.is_decimal128(want):
        numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_string)
        return any(test(have) for test in numbers)
    return bool(pa.types.is_date32(want) and pa.types.is_string(have))


def cast_as_java(column: pa.Array, want: pa.DataType) -> pa.Array:
    """The column in the type that it became.

    Args:
        column: integers, floats, doubles or texts.
        want: a decimal, or from texts a date.

    Raises:
        ValueError: a text is no number or date.
    """
    if pa.types.is_date32(want):
        days = [None if text is None else _date(text) for text in column.to_pylist()]
        return pa.array(days, want)
    digits = _INT64_DIGITS + want.scale
    if pa.types.is_integer(column.type) and digits <= _MOST_DIGITS:
        return _narrowed(pc.cast(column, pa.decimal128(digits, want.scale)), want)
    texts = java_text(column) if pa.types.is_floating(column.type) else column.cast(pa.string())
    found = [None if text is None else _decimal(text, want) for text in texts.to_pylist()]
    return pa.array(found, want)


def _narrowed(column: pa.Array, want: pa.Decimal128Type) -> pa.Array:
    """Decimals of the same scale; null where the digits do not suffice."""
    if want.precision < column.type.precision:
        limit = pa.scalar(Decimal(10) ** (want.precision - want.scale), column.type)
        fits = pc.less(pc.abs(column), limit)
        column = pc.if_else(fits, column, pa.scalar(None, column.type))
    return pa.Array.from_buffers(
        want, len(column), column.buffers(), column.null_count, column.offset
    )


def _decimal(text: str, want: pa.Decimal128Type) -> Decimal | None:
    try:
        exact = Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text!r} is no number") from None
    if not exact.is_finite():
        return None
    if exact.adjusted() >= want.precision - want.scale and exact:
        return None
    rounded = exact.quantize(Decimal(1).scaleb(-want.scale), ROUND_HALF_UP, _DIGITS)
    return None if rounded.adjusted() >= want.precision - want.scale and rounded else rounded


def _date(text: str) -> dt.date:
    match = _DATE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no date")
    year, month, day = (int(part or 1) for part in match.groups())
    return dt.date(year, month, day)
