"""What the metadata of a data file says of all of its rows.

Bounds need not be values themselves: texts are cut, the upper one rounded up. So they serve to
leave files out, and for nothing else. Bounds of columns that hold nulls are passed over, and those
of numbers with a floating point, which say nothing of what is not a number.
"""

from __future__ import annotations

import datetime as dt
import functools
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seamkit.tables.iceberg.content.values import bound_value
from seamkit.tables.iceberg.metadata.document import PartitionField, PartitionSpec
from seamkit.tables.iceberg.metadata.manifests import Entry
from seamkit.tables.iceberg.metadata.schema import Field

__all__ = ["guarantee"]

_TRUNCATE = re.compile(r"truncate\[(\d{1,9})\]")
_EPOCH = dt.datetime(1970, 1, 1)
_FIRST_YEAR, _LAST_YEAR = 1, 9998


def guarantee(entry: Entry, spec: PartitionSpec, fields: Sequence[Field]) -> pc.Expression | None:
    """What holds for all rows of a file; None where nothing is known.

    Args:
        entry: the file.
        spec: of its partition.
        fields: the columns, none of them nested or with one value in the file.
    """
    by_id = {field.id: field for field in fields}
    parts = [part for field in fields for part in _of_column(entry, field)]
    for one in spec.fields:
        source = by_id.get(-1 if one.source_id is None else one.source_id)
        if source is not None:
            parts += _of_partition(one, entry.partition[one.id], source)
    return functools.reduce(operator.and_, parts) if parts else None


def _of_column(entry: Entry, field: Field) -> Iterator[pc.Expression]:
    nulls, values = entry.null_counts.get(field.id), entry.value_counts.get(field.id)
    if nulls is None or values is None:
        return
    column = pc.field(field.name)
    if nulls == values == entry.records and values:
        yield column.is_null()
    if nulls:
        # pyarrow does not reason about ranges of columns that may hold nulls.
        return
    lower, upper = entry.lower.get(field.id), entry.upper.get(field.id)
    if lower is not None and (least := bound_value(lower, field.type)) is not None:
        yield column >= least
    if upper is not None and (most := bound_value(upper, field.type)) is not None:
        yield column <= most


def _of_partition(one: PartitionField, value: Any, source: Field) -> list[pc.Expression]:
    """What a transformed value says of the column that it is made of."""
    column = pc.field(source.name)
    if one.transform == "void":
        return []
    if value is None:
        return [column.is_null()]
    try:
        ends = _range(one.transform, value, source.type)
    except (ValueError, OverflowError, TypeError, pa.ArrowException):
        return []
    if ends is None:
        return []
    least, beyond = ends
    found = [column >= least]
    return found if beyond is None else [*found, column < beyond]


def _range(
    transform: str, value: Any, kind: pa.DataType
) -> tuple[pa.Scalar, pa.Scalar | None] | None:
    """The first value that a transform turns into another, and the first one beyond."""
    if match := _TRUNCATE.fullmatch(transform):
        return _truncated(int(match[1]), value, kind)
    if transform not in _STARTS or not (pa.types.is_date32(kind) or pa.types.is_timestamp(kind)):
        return None
    number = (value - dt.date(1970, 1, 1)).days if isinstance(value, dt.date) else value
    start = _STARTS[transform]
    return _moment(start(number), kind), _moment(start(number + 1), kind)


def _truncated(
    width: int, value: Any, kind: pa.DataType
) -> tuple[pa.Scalar, pa.Scalar | None] | None:
    if pa.types.is_integer(kind):
        return pa.scalar(value, kind), pa.scalar(value + width, kind)
    if pa.types.is_decimal(kind):
        step = Decimal(width).scaleb(-kind.scale)
        return pa.scalar(value, kind), pa.scalar(value + step, kind)
    if pa.types.is_string(kind):
        return pa.scalar(value, kind), None
    return None


def _month(number: int) -> dt.datetime:
    return dt.datetime(1970 + number // 12, number % 12 + 1, 1)


_STARTS: Mapping[str, Callable[[int], dt.datetime]] = {
    "year": lambda number: dt.datetime(1970 + number, 1, 1),
    "month": _month,
    "day": lambda number: _EPOCH + dt.timedelta(days=number),
    "hour": lambda number: _EPOCH + dt.timedelta(hours=number),
}


def _moment(moment: dt.datetime, kind: pa.DataType) -> pa.Scalar:
    if not _FIRST_YEAR < moment.year < _LAST_YEAR:
        raise ValueError
    if pa.types.is_date32(kind):
        return pa.scalar(moment.date(), kind)
    zoned = moment.replace(tzinfo=dt.UTC) if kind.tz else moment
    return pa.scalar(zoned, pa.timestamp("us", kind.tz)).cast(kind)
