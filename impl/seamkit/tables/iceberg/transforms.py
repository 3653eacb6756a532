"""What transforms of partitions say of the columns that they are made of.

A file may hold such a column, too, and then its values are those of its partition: what its footer
says of them tells of another file in its place.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seamkit.core.arrow_data import repeated
from seamkit.core.bucket_hash import iceberg_buckets
from seamkit.tables.agreement import Part, is_compared, part_of_one
from seamkit.tables.iceberg.metadata.document import PartitionSpec
from seamkit.tables.iceberg.metadata.manifests import Entry
from seamkit.tables.iceberg.metadata.schema import Field, constant

_TRUNCATE = re.compile(r"truncate\[(\d{1,9})\]")
_BY_NUMBER = re.compile(r"(truncate|bucket)\[\d{1,9}\]")
BUCKET = re.compile(r"bucket\[([1-9]\d{0,8})\]")
_EPOCH = dt.datetime(1970, 1, 1)
_FIRST_YEAR, _LAST_YEAR = 1, 9998


def values_of(
    transform: str, value: Any, kind: pa.DataType
) -> tuple[pa.Scalar, pa.Scalar | None] | None:
    """The first value that a transform turns into another, and the first one beyond."""
    if match := _TRUNCATE.fullmatch(transform):
        return _truncated(int(match[1]), value, kind)
    if transform not in STARTS or not (pa.types.is_date32(kind) or pa.types.is_timestamp(kind)):
        return None
    start = STARTS[transform]
    first = value
    if value <= 0 and not (transform == "day" and pa.types.is_date32(kind)):
        # Iceberg up to 0.10 rounded moments before 1970 up, so those of the period before may be
        # in it; see the library's `ProjectionUtil.fixInclusiveTimeProjection`.
        first -= 1
    return _moment(start(first), kind), _moment(start(value + 1), kind)


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


STARTS: Mapping[str, Callable[[int], dt.datetime]] = {
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


def is_spelled_once(kind: pa.DataType) -> bool:
    """Whether Python's value and the column's hash alike."""
    tests = pa.types
    return bool(
        tests.is_integer(kind)
        or tests.is_string(kind)
        or tests.is_date32(kind)
        or tests.is_decimal(kind)
        or kind in (pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.binary())
    )


def parts_of(entry: Entry, spec: PartitionSpec, fields: Sequence[Field]) -> Sequence[Part]:
    """What a file's partition says of columns that the file may hold, too."""
    by_id = {field.id: field for field in fields}
    found = []
    for one in spec.fields:
        source = by_id.get(-1 if one.source_id is None else one.source_id)
        if source is None or source.stated or not is_compared(source.type):
            continue
        value = entry.partition.values[one.id]
        field, shown = pa.field(source.name, source.type), f"{value} by {one.transform}"
        if one.transform == "identity":
            where = f"{entry.where}, column {field.name!r}"
            found.append(part_of_one(field, constant(value, field.type, where)))
        elif value is None and (one.transform in STARTS or _BY_NUMBER.fullmatch(one.transform)):
            found.append(Part(field, shown, None))
        elif value is not None and (fits := _fits(one.transform, value, source)):
            found.append(Part(field, shown, fits))
    return found


def _fits(
    transform: str, value: Any, source: Field
) -> Callable[[pa.Scalar | None, pa.Scalar | None], bool] | None:
    """Tells whether a column with some range may have a transformed value; None if nothing does."""
    if match := BUCKET.fullmatch(transform):
        if not is_spelled_once(source.type):
            return None
        return partial(_may_be_in, int(match[1]), value)
    if (match := _TRUNCATE.fullmatch(transform)) and pa.types.is_string(source.type):
        return partial(_may_begin, int(match[1]), value)
    try:
        known = values_of(transform, value, source.type)
    except (ValueError, OverflowError, TypeError, pa.ArrowException):
        return None
    return None if known is None else partial(_may_lie_in, *known)


def _may_be_in(
    count: int, number: int, least: pa.Scalar | None, greatest: pa.Scalar | None
) -> bool:
    """Whether values may be of a bucket, which one value tells if it is the only one."""
    if least is None or greatest is None or not least.equals(greatest):
        return True
    return bool(iceberg_buckets(repeated(least, 1), count)[0].as_py() == number)


def _may_begin(width: int, begin: str, least: pa.Scalar | None, greatest: pa.Scalar | None) -> bool:
    """Whether texts between two may begin so, and be no longer where that is shorter than usual."""
    if greatest is not None and greatest.as_py() < begin:
        return False
    return least is None or bool(least.as_py()[:width] <= begin)


def _may_lie_in(
    first: pa.Scalar,
    beyond: pa.Scalar | None,
    least: pa.Scalar | None,
    greatest: pa.Scalar | None,
) -> bool:
    """Whether values may lie between two, of which the second is none of theirs."""
    if greatest is not None and pc.less(greatest, first).as_py():
        return False
    return least is None or beyond is None or bool(pc.less(least, beyond).as_py())
