"""What metadata says of all rows of a data file or a manifest, by which a filter leaves them out.

Bounds need not be values themselves: texts are cut, the upper one rounded up. So they serve to
leave files out, and for nothing else. Those of numbers with a floating point are passed over: they
say nothing of what is not a number. By bucket transforms a filter that names values of a column
leaves files of their buckets alone.

What transforms say of the columns that partitions are made of: a file may hold such a column, too,
and then its values are those of its partition. What its footer says of them tells of another file
in its place.

Iceberg's bucket transform (table specification, appendix B), by the hashes of the core.
"""

from __future__ import annotations

import datetime as dt
import re
import struct
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import RefusedError, UsageError
from seambase.filters import all_of
from seambase.values import EXACT, decimal_of
from seamkit.core._seam import ffi, lib
from seamkit.core.border import ExportedBatch, call, repeated
from seamkit.core.memory import TrackedAllocator
from seamkit.files.expressions import named_values
from seamkit.files.statistics import or_null, that_may_match
from seamkit.tables.agreement import Part, is_compared, part_of_one
from seamkit.tables.iceberg.metadata.document import PartitionField, PartitionSpec, TableMetadata
from seamkit.tables.iceberg.metadata.entries import Entry
from seamkit.tables.iceberg.metadata.manifests import Manifest, PartitionSummary
from seamkit.tables.iceberg.metadata.schema import (
    LINEAGE,
    Field,
    Schema,
    bounds_of,
    constant,
    text_after,
)

_TRUNCATE = re.compile(r"truncate\[(\d{1,9})\]")
#: Transforms that make null of null alone; of others, `void` and such as nobody knows, it is
#: anything.
_KEEPS_NULL = re.compile(r"identity|year|month|day|hour|(truncate|bucket)\[\d{1,9}\]")
BUCKET = re.compile(r"bucket\[([1-9]\d{0,8})\]")
_EPOCH = dt.datetime(1970, 1, 1)
_SECOND = dt.timedelta(seconds=1)
_FIRST_YEAR, _LAST_YEAR = 1, 9998
_MOST_INT = (1 << 31) - 1
_DECIMAL_BYTES = 16
_CUT_BYTES = 13  # of a text of 16, without what the last character lacks


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
    beyond = start(value + 1)
    if beyond == _EPOCH:  # times of the second before it, as files in ORC give them back
        beyond += _SECOND
    return _moment(start(first), kind), _moment(beyond, kind)


def _truncated(
    width: int, value: Any, kind: pa.DataType
) -> tuple[pa.Scalar, pa.Scalar | None] | None:
    if pa.types.is_integer(kind):
        # iceberg-go up to 0.4 rounded numbers below zero up.
        first = value if value > 0 else value - width
        return pa.scalar(first, kind), pa.scalar(value + width, kind)
    if pa.types.is_decimal(kind):
        beyond = EXACT.add(value, decimal_of(width, kind.scale))
        return pa.scalar(value, kind), pa.scalar(beyond, kind)
    if pa.types.is_string(kind):
        return pa.scalar(value, kind), None
    return None


def _may_hold_least_ints(transform: str, ends: tuple[Any, Any], kind: pa.DataType) -> bool:
    """Whether values near -2^31 may lie between two that `truncate` gave longs."""
    # Writers truncate ints in 32 bits, where what is below -2^31 comes out as one of the greatest:
    # the column may have been of ints. Of a column that still is, the values beyond overflow.
    match = _TRUNCATE.fullmatch(transform)
    if match is None or not pa.types.is_int64(kind):
        return False
    least, most = ends
    return bool(least <= _MOST_INT < most + int(match[1]))


STARTS: Mapping[str, Callable[[int], dt.datetime]] = {
    "year": lambda number: dt.datetime(1970 + number, 1, 1),
    "month": lambda number: dt.datetime(1970 + number // 12, number % 12 + 1, 1),
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
    found = []
    for one, value, source in entry.partition.told(spec, fields):
        if source.stated or not is_compared(source.type):
            continue
        field, shown = pa.field(source.name, source.type), f"{value} by {one.transform}"
        if one.transform == "identity":
            where = f"{entry.where}, column {field.name!r}"
            found.append(part_of_one(field, constant(value, field.type, where)))
        elif value is None and _KEEPS_NULL.fullmatch(one.transform):
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
        if _may_hold_least_ints(transform, (value, value), source.type):
            return None
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
    if _has_other_hashes(least.as_py()):
        return True
    return number in _buckets_of(repeated(least, 1), count)


def _may_begin(width: int, begin: str, least: pa.Scalar | None, greatest: pa.Scalar | None) -> bool:
    """Whether texts between two may begin so, and be no longer where that is shorter than usual."""
    if greatest is not None and greatest.as_py() < begin:
        return False
    if least is None or least.as_py()[:width] <= begin:
        return True
    # iceberg-go up to 0.6 counted bytes.
    return bool(least.as_py().startswith(begin) and len(begin.encode()) == width)


def _may_lie_in(
    first: pa.Scalar, beyond: pa.Scalar | None, least: pa.Scalar | None, greatest: pa.Scalar | None
) -> bool:
    """Whether values may lie between two, of which the second is none of theirs."""
    if greatest is not None and pc.less(greatest, first).as_py():
        return False
    return least is None or beyond is None or bool(pc.less(least, beyond).as_py())


def guarantee(
    entry: Entry, spec: PartitionSpec, fields: Sequence[Field], names: Collection[str]
) -> pc.Expression | None:
    """What a file's partition says of all its rows; None where it says nothing.

    None of the fields is nested or has one value in the file; only `names` are of interest.
    """
    parts: list[pc.Expression] = []
    named = [field for field in fields if field.name in names]
    for one, value, source in entry.partition.told(spec, named):
        parts += _of_partition(one, (value, value), source)
    return all_of(*parts)


def manifest_guarantee(
    summaries: Sequence[PartitionSummary], spec: PartitionSpec, fields: Sequence[Field]
) -> pc.Expression | None:
    """What holds for all rows of all files of a manifest; None where nothing is known.

    There is no summary, or one for each field of the spec.
    """
    parts: list[pc.Expression] = []
    known = dict(zip((one.id for one in spec.fields), summaries, strict=True) if summaries else ())
    for one, source in spec.sources(fields):
        if one.id in known and not source.children and not source.stated:
            parts += _of_summary(one, known[one.id], source)
    return all_of(*parts)


def _of_summary(
    one: PartitionField, summary: PartitionSummary, source: Field
) -> Sequence[pc.Expression]:
    if pa.types.is_floating(source.type):
        return []  # what is not a number is neither null nor within bounds
    if summary.lower is None or summary.upper is None:
        return _of_partition(one, (None, None), source) if summary.has_null else []
    if pa.types.is_binary(source.type) or pa.types.is_fixed_size_binary(source.type):
        # Where files of a manifest were deleted, the bounds of those that stay may be other bytes:
        # Iceberg's library up to 1.10.1 kept them in buffers that it read the next value into.
        return []
    kind = pa.int32() if one.transform in STARTS else source.type
    lower, upper = bounds_of(summary.lower, summary.upper, kind)
    if lower is None or upper is None:
        return []
    column = pc.field(source.name)
    if one.transform == "identity":
        found = [column >= lower, *_up_to(column, upper, len(summary.upper))]
    else:
        found = [*_of_partition(one, (lower.as_py(), upper.as_py()), source)]
    return [or_null(each, column, nullable=summary.has_null) for each in found]


def _up_to(column: pc.Expression, upper: pa.Scalar, size: int) -> Sequence[pc.Expression]:
    """That values do not lie behind one of so many bytes, or begin with it where it is long."""
    # DuckDB up to 1.5.4 cuts the greatest text of a manifest's partitions to 16 bytes, and does not
    # round it up.
    if size < _CUT_BYTES or not pa.types.is_string(upper.type):
        return [column <= upper]
    after = text_after(upper.as_py())
    return [column < after] if after else []


def _of_partition(
    one: PartitionField, ends: tuple[Any, Any], source: Field
) -> Sequence[pc.Expression]:
    """What the least and the greatest transformed value say of the column they are made of."""
    column = pc.field(source.name)
    least, most = ends
    if least is None:
        return [column.is_null()] if _KEEPS_NULL.fullmatch(one.transform) else []
    try:
        if _may_hold_least_ints(one.transform, ends, source.type):
            return []
        first, last = (values_of(one.transform, end, source.type) for end in (least, most))
    except (ValueError, OverflowError, TypeError, pa.ArrowException):
        return []
    if first is None or last is None:
        return []
    found = [column >= first[0]]
    return found if last[1] is None else [*found, column < last[1]]


_MOST_VALUES = 1000


@dataclass(frozen=True)
class ColumnBuckets:
    """How rows are spread by one column; see `seamkit.scan.units.Buckets`."""

    column: str
    type: pa.DataType
    count: int

    def numbers(self, condition: pc.Expression) -> Collection[int] | None:
        """Of the values that a condition names; None for all where it names none, or is in doubt.

        Nulls are in no bucket: files of theirs have no number.
        """
        named = named_values(condition, self.column)
        if named is None or len(named) > _MOST_VALUES:
            return None
        try:
            values = pa.array([value for value in named if value is not None], self.type)
            if any(map(_has_other_hashes, values.to_pylist())):
                return None
            return _buckets_of(values, self.count)
        except (pa.ArrowException, TypeError, ValueError, OverflowError, RefusedError):
            return None  # a value that the column cannot have, or that has several spellings


def bucket_fields(
    spec: PartitionSpec, fields: Sequence[Field]
) -> Sequence[tuple[int, ColumnBuckets]]:
    """The ids of a spec's fields by which files of other buckets can be left out, and how."""
    found = []
    for one, source in spec.sources(fields):
        match = BUCKET.fullmatch(one.transform)
        if match and is_spelled_once(source.type):
            found.append((one.id, ColumnBuckets(source.name, source.type, int(match[1]))))
    return found


def manifests_that_may_match(
    listed: Sequence[Manifest],
    metadata: TableMetadata,
    schema: Schema,
    counted: Sequence[Field],
    condition: pc.Expression,
) -> Sequence[Manifest]:
    """The manifests that may have files with rows that meet a condition.

    A delete applies to data files of its own partition under the same spec, or its spec has no
    fields and its manifest no summaries: what is left out takes no row out of what is kept.
    `schema` has the columns that the condition names, those of row lineage besides; `counted` are
    those of which manifests say what files hold.
    """
    arrow = schema.arrow
    for own in LINEAGE:
        arrow = arrow if own.name in arrow.names else arrow.append(pa.field(own.name, own.type))
    guarantees = [
        manifest_guarantee(one.summaries, metadata.specs[one.spec_id], counted) for one in listed
    ]
    left = set(that_may_match(guarantees, condition, arrow))
    return [
        one
        for number, one in enumerate(listed)
        if number in left and _has_buckets(one, metadata, schema, condition)
    ]


def _has_buckets(
    manifest: Manifest, metadata: TableMetadata, schema: Schema, condition: pc.Expression
) -> bool:
    """Whether a manifest may have files of buckets in which rows may meet a condition."""
    spec = metadata.specs[manifest.spec_id]
    if not manifest.summaries:
        return True
    summaries = dict(zip((one.id for one in spec.fields), manifest.summaries, strict=True))
    for id_, buckets in bucket_fields(spec, schema.fields):
        own = summaries[id_]
        if own.has_null or own.lower is None or own.upper is None:
            continue
        if len(own.lower) != 4 or len(own.upper) != 4:
            continue
        [least, most] = struct.unpack("<ii", own.lower + own.upper)
        numbers = buckets.numbers(condition)
        if numbers is not None and not any(least <= number <= most for number in numbers):
            return False
    return True


def _has_other_hashes(value: Any) -> bool:
    """Whether writers are known to have hashed a value otherwise than they should have."""
    # Iceberg up to 0.11 did so of texts with characters beyond U+FFFF, and of decimals below zero
    # iceberg-go up to 0.4 and iceberg-rust up to 0.8. Times of the first second of 1970 may have
    # been given to a writer of ORC as those of the second before.
    if isinstance(value, dt.datetime):
        return _EPOCH <= value.replace(tzinfo=None) < _EPOCH + _SECOND
    if isinstance(value, Decimal):
        return value < 0
    return isinstance(value, str) and max(value, default="") > "\uffff"


def _buckets_of(values: pa.Array, count: int) -> frozenset[int]:
    """The buckets in which values may lie, none of which is null."""
    # Of decimals iceberg-rust up to 0.8 left out a zero at the begin that tells the sign.
    found = iceberg_buckets(values, count).to_pylist()
    if len(values) and pa.types.is_decimal128(values.type):
        stored = values.buffers()[1].to_pybytes()
        ends = range(_DECIMAL_BYTES, _DECIMAL_BYTES * len(values) + 1, _DECIMAL_BYTES)
        each = [stored[end - _DECIMAL_BYTES : end][::-1].lstrip(b"\0") or b"\0" for end in ends]
        found += iceberg_buckets(pa.array(each, pa.binary()), count).to_pylist()
    return frozenset(found)


def iceberg_buckets(column: pa.Array, buckets: int) -> pa.Array:
    """The bucket of each value: an int32 array, null for nulls."""
    if buckets < 1:
        raise UsageError(f"a table has at least one bucket, not {buckets}")
    kind = ffi.new("struct seam_column_type *")
    column, kind.kind = _hashed(column)
    if pa.types.is_decimal(column.type):
        kind.precision, kind.scale = column.type.precision, column.type.scale
    exported = ExportedBatch(pa.RecordBatch.from_arrays([column], ["value"]))
    hashes, allocator = np.empty(len(column), dtype=np.int32), TrackedAllocator()
    call(
        lib.seam_partition_iceberg,
        allocator.pointer,
        kind,
        exported.schema,
        exported.array,
        ffi.cast("int32_t *", hashes.ctypes.data),
    )
    return pa.array(hashes % buckets, mask=hashes < 0)


def _hashed(column: pa.Array) -> tuple[pa.Array, int]:
    """Values as they are hashed, and the kind of the core: whole numbers are all long."""
    kind, tests = column.type, pa.types
    if tests.is_date32(kind):
        column, kind = column.cast(pa.int32()), pa.int32()
    if tests.is_timestamp(kind):
        column = pc.cast(column, pa.timestamp("us", kind.tz))
    if tests.is_integer(kind) or tests.is_timestamp(kind):
        return column.cast(pa.int64()), lib.SEAM_COLUMN_LONG
    for test, number in (
        (tests.is_decimal128, lib.SEAM_COLUMN_DECIMAL128),
        (tests.is_string, lib.SEAM_COLUMN_STRING),
        (tests.is_binary, lib.SEAM_COLUMN_BINARY),
    ):
        if test(kind):
            return column, number
    raise RefusedError(f"Iceberg's bucket transform does not take a {kind}")
