"""Partition values: texts in the log, by the type of their column.

Spark's CONVERT TO DELTA takes them from names of folders as they are, so they are read in the forms
that its cast takes, but for blanks around them and parts of a day or time alone.
Null is a JSON null or, but for columns of texts and bytes, the empty text: Spark, against the
protocol's words, reads an empty text of these as it stands. Bytes are the characters, as Spark has
them; all of them escaped, as the protocol says and delta-rs writes, they are refused.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError

_WHOLE = re.compile(r"[+-]?\d{1,19}", re.ASCII)
#: What Spark's cast takes; delta-rs writes `-inf` where Spark writes `-Infinity`.
_REAL = re.compile(
    r"[+-]?(\d+\.?\d*(e[+-]?\d{1,4})?|\.\d+(e[+-]?\d{1,4})?|inf(inity)?)|nan",
    re.ASCII | re.IGNORECASE,
)
_DAY = r"[+-]?\d{4,7}-\d{1,2}-\d{1,2}"
_DATE = re.compile(_DAY, re.ASCII)
_TIME = re.compile(
    rf"({_DAY})[ T](\d{{1,2}}):(\d{{1,2}})(?::(\d{{1,2}})(?:\.(\d{{1,9}}))?)?"
    r"(Z|[+-]\d{2}:?\d{2})?",
    re.ASCII,
)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
_TRUE, _FALSE = {"true", "t", "yes", "y", "1"}, {"false", "f", "no", "n", "0"}
_ESCAPED = re.compile(r"(\\u[0-9a-fA-F]{4})+", re.ASCII)
_OF_CHARACTERS = (pa.string(), pa.binary())
_EPOCH = dt.date(1970, 1, 1)
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097


def partition_value(text: str | None, kind: pa.DataType, where: str) -> pa.Scalar:
    """A value of a partition column, from its text in the log."""
    if text is None or pa.types.is_null(kind) or (text == "" and kind not in _OF_CHARACTERS):
        return pa.scalar(None, kind)
    if pa.types.is_binary(kind) and _ESCAPED.fullmatch(text):
        raise RefusedError(
            f"{where}: the partition value {text!r} is bytes, of which each is escaped by the "
            "protocol's rule, and to Spark those of its characters"
        )
    try:
        return _parse(text, kind)
    except (ValueError, InvalidOperation, OverflowError) as error:
        raise InputError(f"{where}: the partition value {text!r} is no {kind}") from error


def _parse(text: str, kind: pa.DataType) -> pa.Scalar:
    if pa.types.is_timestamp(kind):
        return pa.scalar(_micros(text, zoned=kind.tz is not None), pa.int64()).cast(kind)
    if pa.types.is_decimal(kind):
        return _decimal(text, kind)
    if pa.types.is_date32(kind):
        _require(_DATE.fullmatch(text))
        return pa.scalar(_days(text), pa.int32()).cast(kind)
    if pa.types.is_integer(kind):
        _require(_WHOLE.fullmatch(text))
        return pa.scalar(int(text), kind)
    if pa.types.is_floating(kind):
        _require(_REAL.fullmatch(text))
        return pa.scalar(float(text), pa.float64()).cast(kind, safe=False)
    return _PARSERS[kind](text)


def _boolean(text: str) -> pa.Scalar:
    _require(text.lower() in _TRUE | _FALSE)
    return pa.scalar(text.lower() in _TRUE)


_PARSERS: Mapping[pa.DataType, Callable[[str], pa.Scalar]] = {
    pa.bool_(): _boolean,
    pa.string(): lambda text: pa.scalar(text, pa.string()),
    pa.binary(): lambda text: pa.scalar(text.encode(), pa.binary()),
}


def _decimal(text: str, kind: pa.Decimal128Type) -> pa.Scalar:
    """The number at the column's scale, if no digit is lost by that."""
    _require(_NUMBER.fullmatch(text))
    return pc.cast(pa.scalar(Decimal(text)), kind)


def _days(text: str) -> int:
    """Days since 1970; years that Python has not are counted as those 400 years apart."""
    year, month, day = map(int, text.rsplit("-", 2))
    cycles, rest = divmod(year - 2000, _CYCLE_YEARS)
    return (dt.date(2000 + rest, month, day) - _EPOCH).days + cycles * _CYCLE_DAYS


def _micros(text: str, *, zoned: bool) -> int:
    """Microseconds since 1970; a text without a zone is UTC where the column is an instant."""
    # The writer's zone, in which such a text is meant, is not in the table. A date is its midnight:
    # the column was one of dates when the text was written, or a folder had that name.
    if _DATE.fullmatch(text):
        text += " 00:00"
    match = _TIME.fullmatch(text)
    if match is None or (match[6] and not zoned):
        raise ValueError(text)
    days = _days(match[1])
    hours, minutes, seconds = (int(match[n] or 0) for n in (2, 3, 4))
    _require(hours < 24 and minutes < 60 and seconds < 60)
    micros = int(((match[5] or "") + "000000")[:6])
    zone = match[6] or "Z"
    if zone != "Z":
        sign = -1 if zone[0] == "-" else 1
        minutes -= sign * (int(zone[1:3]) * 60 + int(zone[-2:]))
    return ((days * 24 + hours) * 60 + minutes) * 60_000_000 + seconds * 1_000_000 + micros


def _require(fits: object) -> None:
    if not fits:
        raise ValueError
