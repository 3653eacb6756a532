"""Columns and rows of older files in the table's types; every pair that Hudi promotes."""

import datetime as dt
import re
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from seambase.errors import InputError
from seamkit.connector.plain_values import row_converter
from seamkit.files.promotion import LOSSLESS, TypeRules, resolve_column
from seamkit.tables.delta.schema import DeltaTypes
from seamkit.tables.hive.data_files import HiveTypes
from seamkit.tables.hudi.config.value_types import HUDI_TYPES
from seamkit.tables.iceberg.data_files import ICEBERG_TYPES
from seamkit.tables.paimon.data_files import PaimonTypes

NOON = dt.datetime(2020, 7, 1, 12, 0, 0, 123000, dt.UTC)
LABELLED = dt.datetime(1970, 1, 1, 0, 0, 1, 600_000, dt.UTC)
MEANT = dt.datetime(1970, 1, 1, 0, 26, 40, 0, dt.UTC)
# Type of the file, type of the table, value as it stands and as it is read. Texts are Java's.
PROMOTIONS: list[tuple[pa.DataType, pa.DataType, Any, Any]] = [
    (pa.int32(), pa.int64(), -5, -5),
    (pa.int32(), pa.float32(), 16777217, 16777216.0),
    (pa.int64(), pa.float64(), 2**53 + 1, 9007199254740992.0),
    (pa.int32(), pa.string(), -5, "-5"),
    (pa.float32(), pa.float64(), 0.30000001192092896, 0.3),
    (pa.float32(), pa.float64(), float("inf"), float("inf")),
    (pa.float32(), pa.string(), 0.30000001192092896, "0.3"),
    (pa.float32(), pa.string(), 1e10, "1.0E10"),
    (pa.float64(), pa.string(), 1e7, "1.0E7"),
    (pa.float64(), pa.string(), 9999999.5, "9999999.5"),
    (pa.float64(), pa.string(), 0.001, "0.001"),
    (pa.float64(), pa.string(), 1e-5, "1.0E-5"),
    (pa.float64(), pa.string(), -0.0, "-0.0"),
    (pa.float64(), pa.string(), float("nan"), "NaN"),
    (pa.float64(), pa.string(), 1234567890123.0, "1.234567890123E12"),
    (pa.date32(), pa.string(), dt.date(2020, 2, 29), "2020-02-29"),
    (pa.decimal128(10, 2), pa.string(), Decimal("-0.50"), "-0.50"),
    (pa.string(), pa.binary(), "é", b"\xc3\xa9"),
    (pa.timestamp("ms", "UTC"), pa.timestamp("us", "UTC"), NOON, NOON),
    # 1.6 million labelled as microseconds are milliseconds, where the table says so.
    (pa.timestamp("us", "UTC"), pa.timestamp("ms", "UTC"), LABELLED, MEANT),
    (pa.int64(), pa.timestamp("ms"), 1_600_000, MEANT.replace(tzinfo=None)),
    (pa.timestamp("ns"), pa.timestamp("us", "UTC"), NOON.replace(tzinfo=None), NOON),
    (pa.binary(), pa.string(), b"ok", "ok"),
    (pa.decimal128(15, 2), pa.decimal128(16, 2), Decimal("1.25"), Decimal("1.25")),
    (pa.decimal128(5, 2), pa.decimal128(9, 4), Decimal("-9.25"), Decimal("-9.2500")),
    # What Spark 3.5 with Hudi 1.2.0 shows after ALTER COLUMN ... TYPE.
    (pa.int32(), pa.decimal128(12, 1), -2147483648, Decimal("-2147483648.0")),
    (pa.int32(), pa.decimal128(5, 2), 123456, None),
    (pa.int32(), pa.decimal128(5, 2), -999, Decimal("-999.00")),
    (pa.int64(), pa.decimal128(20, 2), -7, Decimal("-7.00")),
    (pa.int64(), pa.decimal128(38, 30), 12345678, Decimal("12345678.0")),
    (pa.float32(), pa.decimal128(12, 2), -1.2549999952316284, Decimal("-1.26")),
    (pa.float64(), pa.decimal128(12, 2), 2.345, Decimal("2.35")),
    (pa.float64(), pa.decimal128(12, 2), 1e-7, Decimal("0.00")),
    (pa.string(), pa.decimal128(10, 2), "12.345", Decimal("12.35")),
    (pa.string(), pa.decimal128(10, 2), " -7 ", Decimal("-7.00")),
    (pa.string(), pa.decimal128(10, 2), "1e2", Decimal("100.00")),
    (pa.string(), pa.date32(), "1969-1-2", dt.date(1969, 1, 2)),
    (
        pa.struct([("x", pa.int32()), ("gone", pa.string())]),
        pa.struct([("new", pa.date32()), ("x", pa.int64())]),
        {"x": 1, "gone": "g"},
        {"new": None, "x": 1},
    ),
    (
        pa.map_(pa.string(), pa.list_(pa.struct([("f", pa.float32())]))),
        pa.map_(pa.string(), pa.list_(pa.struct([("f", pa.float64()), ("g", pa.int32())]))),
        {"a": [{"f": 0.30000001192092896}, None], "b": None},
        {"a": [{"f": 0.3, "g": None}, None], "b": None},
    ),
    # Avro's form of a map whose keys are no texts.
    (
        pa.list_(pa.struct([("key", pa.int32()), ("value", pa.struct([("x", pa.int32())]))])),
        pa.map_(pa.int64(), pa.struct([("y", pa.int8()), ("x", pa.int64())])),
        [{"key": 1, "value": {"x": 2}}, {"key": -1, "value": None}],
        {1: {"y": None, "x": 2}, -1: None},
    ),
]


def _shown(value: Any) -> str:
    """Text that tells values apart as the types do: -0.0 from 0.0, and NaN equal to itself."""
    text = re.sub(r"zoneinfo\.ZoneInfo\(key='UTC'\)", "datetime.timezone.utc", repr(value))
    return re.sub(r"Decimal\('(-?\d+\.\d*?)0*'\)", r"\1", text)


@pytest.mark.parametrize(("have", "want", "value", "expected"), PROMOTIONS)
@pytest.mark.parametrize("below", ["column", "list", "struct", "slice"])
def test_promotions(
    have: pa.DataType, want: pa.DataType, value: Any, expected: Any, below: str
) -> None:
    """Values of older files are read in the table's type, by column and by row, at any depth."""
    values, read = [None, value, value], [None, expected, expected]
    if below == "list":
        have, want, values, read = pa.list_(have), pa.list_(want), [values, None], [read, None]
    elif below == "struct":
        have, want = pa.struct([("a", have)]), pa.struct([("b", pa.int8()), ("a", want)])
        values = [{"a": v} for v in values] + [None]
        read = [{"b": None, "a": v} for v in read] + [None]
    column = pa.array(values, have)
    if below == "slice":
        column, values, read = column[1:], values[1:], read[1:]
    resolved = resolve_column(column, pa.field("c", want), HUDI_TYPES, "file")
    resolved.validate(full=True)
    assert resolved.type.equals(want)
    assert _shown(resolved.to_pylist()) == _shown(pa.array(read, want).to_pylist())
    turn = row_converter({"c": have}, pa.schema([("c", want), ("d", pa.int32())]), "file")
    rows = [turn({"c": v}) for v in values]
    assert _shown(rows) == _shown([{"c": v, "d": None} for v in read])


@pytest.mark.parametrize(
    ("have", "want"),
    [
        (pa.int64(), pa.int32()),
        (pa.float64(), pa.float32()),
        (pa.string(), pa.int32()),
        (pa.decimal128(5, 2), pa.decimal128(5, 3)),
        (pa.int32(), pa.date32()),
        (pa.timestamp("us", "UTC"), pa.timestamp("us")),
        (pa.list_(pa.int32()), pa.int32()),
        (pa.struct([("a", pa.int32())]), pa.list_(pa.int32())),
    ],
)
def test_other_changes_are_refused_by_name(have: pa.DataType, want: pa.DataType) -> None:
    """A change of type that loses something is an error that names file, column and both types."""
    message = "file: column 'c.x' is .* does not promote"
    kinds = pa.struct([("x", have)]), pa.struct([("x", want)])
    with pytest.raises(InputError, match=message):
        resolve_column(pa.nulls(1, kinds[0]), pa.field("c", kinds[1]), HUDI_TYPES, "file")
    with pytest.raises(InputError, match=message):
        row_converter({"c": kinds[0]}, pa.schema([("c", kinds[1])]), "file")


_MILLIS, _MICROS, _NANOS = map(pa.timestamp, ("ms", "us", "ns"))


@pytest.mark.parametrize(
    ("rules", "have", "want"),
    [
        (LOSSLESS, _MICROS, _NANOS),
        (DeltaTypes(widens=False), _MILLIS, _MICROS),
        (HiveTypes(), _MILLIS, _MICROS),
        (HUDI_TYPES, _MILLIS, _MICROS),
        (ICEBERG_TYPES, _MICROS, _NANOS),
        (PaimonTypes(), _MICROS, _NANOS),
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_times_beyond_a_finer_unit_are_refused(
    rules: TypeRules, have: pa.DataType, want: pa.DataType, sign: int
) -> None:
    """They would wrap around: of nanoseconds 64 bits end in 2262, and 9999-12-31 became 1816."""
    field = pa.field("t", want)
    last = sign * ((1 << 63) // 1000)
    within = resolve_column(pa.array([None, last - sign], have), field, rules, "file")
    assert within.cast(pa.int64()).to_pylist() == [None, (last - sign) * 1000]
    for beyond in (last + sign, sign * ((1 << 63) - 1)):
        with pytest.raises(InputError, match=f"column 't' does not fit {re.escape(str(want))}"):
            resolve_column(pa.array([None, beyond], have), field, rules, "file")


_OF_SPARK = [LOSSLESS, DeltaTypes(widens=False).of_int96(), HUDI_TYPES, PaimonTypes()]


@pytest.mark.parametrize("rules", _OF_SPARK)
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_digits_below_a_microsecond_are_cut_towards_1970(
    rules: TypeRules, zone: str | None
) -> None:
    """As Spark cuts them off a time of day that Arrow, up to its release 22, counted back."""
    numbers = [None, -1, -1000, -1001, 0, 1999, -(1 << 63), (1 << 63) - 1]
    field = pa.field("t", pa.timestamp("us", zone))
    found = resolve_column(pa.array(numbers, _NANOS), field, rules, "file")
    assert found.type == field.type
    cut = [None if one is None else abs(one) // 1000 * (1 if one > 0 else -1) for one in numbers]
    assert found.cast(pa.int64()).to_pylist() == cut


def test_digits_below_a_microsecond_make_a_time_of_hive_an_earlier_one() -> None:
    """At either end of 64 bits, too."""
    numbers = [None, -1, -1000, -1001, 0, 1999, -(1 << 63), (1 << 63) - 1]
    found = resolve_column(pa.array(numbers, _NANOS), pa.field("t", _MICROS), HiveTypes(), "file")
    cut = [None if one is None else one // 1000 for one in numbers]
    assert found.cast(pa.int64()).to_pylist() == cut


@pytest.mark.parametrize("pair", [None, {"key": None, "value": 1}])
def test_a_map_without_a_key_is_refused(pair: Any) -> None:
    """Avro's lists of pairs may have nulls where maps have none."""
    have = pa.list_(pa.struct([("key", pa.int32()), ("value", pa.int32())]))
    want = pa.map_(pa.int32(), pa.int32())
    with pytest.raises(InputError, match="column 'c' has a null for a map's key"):
        resolve_column(pa.array([[pair]], have), pa.field("c", want), HUDI_TYPES, "file")
    turn = row_converter({"c": have}, pa.schema([("c", want)]), "file")
    with pytest.raises(InputError, match="column 'c' has a null for a map's key"):
        turn({"c": [pair]})


@pytest.mark.parametrize(
    ("want", "text"),
    [
        (pa.decimal128(5, 2), "abc"),
        (pa.decimal128(5, 2), ""),
        (pa.date32(), "noon"),
        (pa.date32(), "2021-02-30"),
    ],
)
def test_texts_that_are_no_numbers_or_dates_are_refused(want: pa.DataType, text: str) -> None:
    """Hudi 1.2.0 makes null of them in base files and fails on them in logs; neither is silent."""
    message = "file: column 'c' does not fit"
    with pytest.raises(InputError, match=message):
        resolve_column(pa.array([text]), pa.field("c", want), HUDI_TYPES, "file")
    turn = row_converter({"c": pa.string()}, pa.schema([("c", want)]), "file")
    with pytest.raises(InputError, match=message):
        turn({"c": text})
