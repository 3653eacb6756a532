"""Statistics of data files in the log: what holds for all rows of a file.

Minima and maxima bound the values, and need not be values themselves: with deletion vectors they
may be wide, texts are cut (the maximum upwards), and timestamps are cut down to milliseconds or
seconds, their zones to minutes. So they serve to leave files out, and for nothing else.
Floating-point numbers are passed over: writers differ in what NaN does to them. Long decimals are
widened where they could be of a double: delta-rs makes one of each decimal, so that a minimum may
lie above the values.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Collection, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError
from seambase.values import EXACT, decimal_of
from seamkit.files.statistics import ColumnRange, FileStatistics
from seamkit.tables.delta.log.actions import AddFile
from seamkit.tables.delta.partition_values import partition_value
from seamkit.tables.delta.schema import Field, TableSchema

_DECODER = json.JSONDecoder(parse_float=Decimal)
_ROWS_FIRST = re.compile(r'\{"numRecords":(\d{1,18})[,}]')
#: Decimal digits that a double holds whatever they are, and at most needs to be told from others.
_DOUBLE_KEEPS, _DOUBLE_SHOWS = 15, 17
#: How far a decimal made a double may be off: roundings of its digits, of ten's power and of both.
_DOUBLE_IS_OFF = Decimal("1e-15")
#: What delta-rs says of decimals without digits behind the point that are beyond it.
_FIRST_INT64, _LAST_INT64 = -(2**63), 2**63 - 1
_OLD_MARK = "\ufffd"
_MILLISECOND, _SECOND = dt.timedelta(milliseconds=1), dt.timedelta(seconds=1)
_MINUTE = dt.timedelta(minutes=1)
#: Since when all zones of the world are whole minutes from UTC: Liberia's was the last, in 1972.
_WHOLE_MINUTES = dt.datetime(1973, 1, 1, tzinfo=dt.UTC).timestamp() * 1e6
#: What broken statistics raise: numbers of no type, fields in another's place, endless nesting.
_BROKEN = (
    *(InputError, ValueError, ArithmeticError),
    *(KeyError, TypeError, AttributeError, RecursionError),
)


def stated_counts(add: AddFile) -> tuple[int | None, Mapping[str, Any], int]:
    """The rows of a file, if its statistics tell, and how many nulls its columns have.

    These are by physical name; of a struct there are those of its fields. Last is the number below
    which they tell that there are values: that of the rows that are not deleted, which tight
    statistics count; of wide ones 0 alone does (PROTOCOL.md, "Per-file Statistics").
    """
    try:
        stats = json.loads(add.stats or "null")
        rows, nulls = int(stats["numRecords"]), stats.get("nullCount")
    except _BROKEN:
        return None, {}, 0
    left = rows - (0 if add.vector is None else add.vector.cardinality)
    fewer = left if stats.get("tightBounds") is not False else min(left, 1)
    return rows, nulls if isinstance(nulls, dict) else {}, fewer


def stated_rows(add: AddFile) -> int | None:
    """The rows of a file, if its statistics tell; where they come first the rest is not parsed."""
    first = None if add.stats is None else _ROWS_FIRST.match(add.stats)
    return stated_counts(add)[0] if first is None else int(first[1])


def file_statistics(add: AddFile, schema: TableSchema, names: Collection[str]) -> FileStatistics:
    """What the log says of some columns of a file, those with `names` that are not nested.

    Statistics that are broken say nothing: they are optional.
    """
    if add.stats is None:
        return FileStatistics()
    try:
        stats = _DECODER.decode(add.stats)
        rows = stats["numRecords"]
        if not isinstance(rows, int):
            return FileStatistics()
        chosen = [field for field in schema.plain if field.name in names]
        is_tight = stats.get("tightBounds") is not False and add.vector is None
        for name in schema.miscounted:
            (stats.get("nullCount") or {}).pop(name, None)
        return FileStatistics(rows, {one.name: _of_column(stats, one, is_tight) for one in chosen})
    except _BROKEN:
        return FileStatistics()


def _of_column(stats: Mapping[str, Any], field: Field, is_tight: bool) -> ColumnRange:
    nulls = (stats.get("nullCount") or {}).get(field.physical)
    if not isinstance(nulls, int) or (nulls and not is_tight):
        nulls = None
    kind = field.type
    low = _value((stats.get("minValues") or {}).get(field.physical), kind, ROUND_FLOOR)
    high = _value((stats.get("maxValues") or {}).get(field.physical), kind, ROUND_CEILING)
    loose = pa.types.is_timestamp(kind) or pa.types.is_string(kind) or _is_long(kind)
    exact = is_tight and not loose
    return ColumnRange(nulls, low, high, (exact, exact))


def _instant(text: str, kind: pa.DataType, outwards: str) -> pa.Scalar:
    """A bound of timestamps, as far out as its writer may have cut it."""
    # All cut down, Spark to milliseconds and XTable to seconds. Of times long ago Spark tells the
    # zone that they are in without its seconds, and XTable first cuts them to milliseconds,
    # upwards.
    bound = partition_value(text, kind, "statistics")
    off = _MINUTE if bound.value < _WHOLE_MINUTES else dt.timedelta()  # microseconds
    if outwards == ROUND_FLOOR:
        return pc.subtract_checked(bound, pa.scalar(off, pa.duration("us"))) if off else bound
    off += _MILLISECOND if "." in text else _SECOND
    return pc.add_checked(bound, pa.scalar(off, pa.duration("us")))


def _is_long(kind: pa.DataType) -> bool:
    """Whether values of a type may have more digits than a double keeps."""
    return pa.types.is_decimal(kind) and bool(kind.precision > _DOUBLE_KEEPS)


def _may_be_double(bound: Decimal) -> bool:
    """Whether a bound is what a double is printed as, in short or as a whole number."""
    short = len(bound.normalize(EXACT).as_tuple().digits) <= _DOUBLE_SHOWS
    return short or Decimal(float(bound)) == bound


def _after_cut(greatest: str) -> str | None:
    """A text that lies behind all that a maximum was cut from; itself where there is no doubt."""
    # Before version 3.3 Delta put U+FFFD behind what it kept, and UTF-8 has characters behind that;
    # of one that the cut had halved a question mark was left. Where the last character has no
    # successor the statistics say nothing.
    if not greatest.endswith(_OLD_MARK):
        return greatest
    kept = greatest.removesuffix(_OLD_MARK).removesuffix("?")
    return kept[:-1] + chr(ord(kept[-1]) + 1) if kept else None


def _value(value: Any, kind: pa.DataType, outwards: str) -> pa.Scalar | None:
    """A minimum or maximum, rounded outwards; None where there is none that could be relied on."""
    if value is None:
        return None
    if pa.types.is_integer(kind) and isinstance(value, int):
        return pa.scalar(value, kind)
    if pa.types.is_decimal(kind) and isinstance(value, (int, Decimal)):
        bound = Decimal(value)
        if bound == (_LAST_INT64 if outwards == ROUND_CEILING else _FIRST_INT64):
            return None
        if _is_long(kind) and _may_be_double(bound):
            away = EXACT.multiply(bound.copy_abs(), _DOUBLE_IS_OFF)
            widen = EXACT.add if outwards == ROUND_CEILING else EXACT.subtract
            bound = widen(bound, away).quantize(decimal_of(1, kind.scale), outwards, EXACT)
        return pc.cast(pa.scalar(bound), kind)
    if pa.types.is_string(kind) and isinstance(value, str):
        text = _after_cut(value) if outwards == ROUND_CEILING else value
        return None if text is None else pa.scalar(text, kind)
    if pa.types.is_timestamp(kind) and isinstance(value, str):
        return _instant(value, kind, outwards)
    if pa.types.is_date(kind) and isinstance(value, str):
        return partition_value(value, kind, "statistics")
    return None
