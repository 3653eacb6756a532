"""What values of partitions say of the rows in them, held against pyiceberg's own transforms."""

import datetime as dt
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyiceberg.conversions import to_bytes
from pyiceberg.transforms import parse_transform
from pyiceberg.types import (
    DateType,
    DecimalType,
    LongType,
    PrimitiveType,
    StringType,
    TimestampType,
    TimestamptzType,
)

from seambase.values import decimal_of
from seamkit.files.statistics import that_may_match
from seamkit.tables.iceberg.metadata.document import PartitionField, PartitionSpec
from seamkit.tables.iceberg.metadata.entries import DATA, Entry, Partition
from seamkit.tables.iceberg.metadata.manifests import PartitionSummary
from seamkit.tables.iceberg.metadata.schema import Field, partition_value
from seamkit.tables.iceberg.pruning import guarantee, manifest_guarantee, parts_of

_DAYS = pa.date32()
_MICROS, _ZONED = pa.timestamp("us"), pa.timestamp("us", "UTC")
_WHOLE, _TEXT, _DECIMAL = pa.int64(), pa.string(), pa.decimal128(9, 2)
_LONG = pa.decimal128(38, 3)
_TYPES: dict[pa.DataType, PrimitiveType] = {
    _DAYS: DateType(),
    _MICROS: TimestampType(),
    _ZONED: TimestamptzType(),
    _WHOLE: LongType(),
    _TEXT: StringType(),
    _DECIMAL: DecimalType(9, 2),
    _LONG: DecimalType(38, 3),
}


def _day(dice: random.Random) -> dt.date:
    return dt.date(1970, 1, 1) + dt.timedelta(dice.randint(-3000, 30_000))


def _moment(dice: random.Random) -> dt.datetime:
    start = dt.datetime(1970, 1, 1)
    return start + dt.timedelta(
        dice.randint(-3000, 30_000), microseconds=dice.randrange(86 * 10**9)
    )


#: By type: a value by chance, and one that lies beyond all of these.
_DRAWN: dict[pa.DataType, tuple[Callable[[random.Random], Any], Any]] = {
    _DAYS: (_day, dt.date(2300, 1, 1)),
    _MICROS: (_moment, dt.datetime(2300, 1, 1)),
    _ZONED: (
        lambda dice: _moment(dice).replace(tzinfo=dt.UTC),
        dt.datetime(2300, 1, 1, tzinfo=dt.UTC),
    ),
    _WHOLE: (lambda dice: dice.randint(-500, 500), 5000),
    _TEXT: (lambda dice: "".join(dice.choices("abcé", k=dice.randrange(6))), None),
    _DECIMAL: (lambda dice: Decimal(dice.randint(-50_000, 50_000)).scaleb(-2), Decimal(5000)),
    _LONG: (lambda dice: decimal_of(dice.randint(-(10**37), 10**37), 3), decimal_of(10**38 - 1, 3)),
}
_CASES = [
    *(
        (transform, kind)
        for transform in ("year", "month", "day")
        for kind in (_DAYS, _MICROS, _ZONED)
    ),
    *(("hour", kind) for kind in (_MICROS, _ZONED)),
    *(("identity", kind) for kind in _TYPES),
    *(("truncate[7]", kind) for kind in (_WHOLE, _DECIMAL, _LONG)),
    *(("truncate[2]", kind) for kind in (_TEXT,)),
]


def _summary(transform: str, kind: pa.DataType, values: Sequence[Any]) -> PartitionSummary:
    """What pyiceberg makes of the values of a manifest's partitions."""
    made, source = parse_transform(transform), _TYPES[kind]
    stored = [
        None if one is None else pa.scalar(one, kind).cast(_stored(kind)).as_py() for one in values
    ]
    ends = [made.transform(source)(one) for one in stored if one is not None]
    result = made.result_type(source)
    least, most = (to_bytes(result, end) for end in (min(ends), max(ends)))
    return PartitionSummary(None in values, least, most)


def _stored(kind: pa.DataType) -> pa.DataType:
    """What pyiceberg's transforms take: whole numbers for dates and moments."""
    if kind == _DAYS:
        return pa.int32()
    return pa.int64() if pa.types.is_timestamp(kind) else kind


@pytest.mark.parametrize("with_null", [False, True], ids=["values", "with-null"])
@pytest.mark.parametrize(("transform", "kind"), _CASES, ids=str)
def test_no_value_of_a_partition_is_ruled_out(
    transform: str, kind: pa.DataType, *, with_null: bool
) -> None:
    """Each value that went in may match; one beyond all of them may not."""
    dice = random.Random(f"{transform} {kind}")
    draw, beyond = _DRAWN[kind]
    spec = PartitionSpec(0, [PartitionField(1000, 1, "part", transform)])
    schema, field = pa.schema([("x", kind)]), Field(1, "x", kind, required=False)
    for _ in range(8):
        values = [draw(dice) for _ in range(dice.randint(1, 3))] + [None] * with_null
        guarantee = manifest_guarantee([_summary(transform, kind, values)], spec, [field])

        def may_match(condition: pc.Expression) -> bool:
            return that_may_match([guarantee], condition, schema) == [0]  # noqa: B023

        for value in values:
            same = (
                pc.field("x").is_null()
                if value is None
                else pc.field("x") == pa.scalar(value, kind)
            )
            assert may_match(same), (values, value)
        if beyond is not None:
            assert guarantee is not None
            assert not may_match(pc.field("x") >= pa.scalar(beyond, kind))


@pytest.mark.parametrize(
    ("transform", "kind"), [*_CASES, *(("bucket[3]", kind) for kind in _TYPES)], ids=str
)
def test_ranges_of_a_file_fit_its_own_partition(transform: str, kind: pa.DataType) -> None:
    """Of rows that pyiceberg has in one partition, and hardly ever those of others.

    A file may have rows of the time before 1970 beside those of the period after, as old writers
    rounded them; of buckets, the files that have one value alone are told apart, but for decimals
    below zero, which may lie in any.
    """
    dice = random.Random(f"{transform} {kind}")
    draw, made, source = _DRAWN[kind][0], parse_transform(transform), _TYPES[kind]
    files = defaultdict[Any, list[pa.Scalar]](list)
    for value in (pa.scalar(draw(dice), kind) for _ in range(30)):
        stored = value.cast(_stored(kind)).as_py()
        files[made.transform(source)(stored)].append(value)
    spec = PartitionSpec(0, [PartitionField(1000, 1, "part", transform)])
    field = Field(1, "x", kind, required=False)
    result = kind if transform == "identity" else None
    told = 0
    for value in [*files, None]:
        own = {1000: partition_value(value, result, "here")}
        entry = Entry(
            DATA, "a", "PARQUET", Partition(0, own), 1, 1, 1, 1, is_new=True, manifest="here"
        )
        [part] = parts_of(entry, spec, [field])
        fits = part.fits
        assert (fits is None) == (value is None)
        for other, rows in files.items() if fits else ():
            column = pa.array([one.as_py() for one in rows], kind)
            ends = [pc.min(column), pc.max(column)]
            if transform.startswith("bucket"):
                ends = [ends[0]] * 2
            assert fits
            assert fits(None, None)
            assert fits(*ends) or other != value
            told += not fits(*ends)
    # Writers are known to put the values before 1970, and numbers below zero, a partition too high,
    # and to cut texts by their bytes.
    is_early = transform in ("year", "month", "day", "hour") or kind in (_WHOLE, _TEXT)
    least = 0 if transform.startswith("bucket") and pa.types.is_decimal(kind) else 1
    pairs = len(files) * (len(files) - 1)
    assert pairs * (0.8 if is_early else least) <= told <= pairs


def test_a_partition_says_nothing_of_what_it_is_not_made_of() -> None:
    """Of columns of other ids, of transforms that nobody knows, and of void ones."""
    for transform, source in (("identity", 2), ("void", 1), ("zorder", 1)):
        spec = PartitionSpec(0, [PartitionField(1000, source, "part", transform)])
        for value in (None, 1):
            own = {1000: value}
            entry = Entry(
                DATA, "a", "PARQUET", Partition(0, own), 1, 1, 1, 1, is_new=True, manifest="here"
            )
            field = Field(1, "x", _WHOLE, required=False)
            assert not parts_of(entry, spec, [field])
            assert guarantee(entry, spec, [field], ["x"]) is None
        summary = PartitionSummary(True, None, None)
        assert manifest_guarantee([summary], spec, [field]) is None


@pytest.mark.parametrize("width", [1, 7, 10, 999_999_999])
def test_what_was_truncated_in_32_bits_says_nothing_of_longs(width: int) -> None:
    """Of a column that was of ints; the longs beyond are told of as ever."""
    spec = PartitionSpec(0, [PartitionField(1000, 1, "part", f"truncate[{width}]")])
    field = Field(1, "x", _WHOLE, required=False)
    least = -(2**31)
    wrapped = (least // width * width + 2**31) % 2**32 - 2**31
    for value, is_told in ((wrapped, wrapped == least), (2**31 // width * width + width, True)):
        entry = Entry(
            DATA, "a", "AVRO", Partition(0, {1000: value}), 1, 1, 1, 1, is_new=True, manifest="here"
        )
        assert bool(parts_of(entry, spec, [field])) == is_told
        ends = [to_bytes(LongType(), end) for end in (least, value)]
        told = manifest_guarantee([PartitionSummary(False, *ends)], spec, [field])
        assert told is None or wrapped == least
