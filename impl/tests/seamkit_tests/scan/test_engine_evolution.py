"""Files from before a table's columns changed are read by engines as by us, filtered or not.

What a column of such a file becomes is stated by plain values, and so is which rows meet a filter.
"""

import datetime as dt
import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import seamkit
from seamkit.files.promotion import LOSSLESS, TypeRules
from seamkit.scan.unit_scan import UnitScan
from seamkit.scan.units import DataFile, Mask, ReadUnit
from seamkit.tables.hudi.config.value_types import HUDI_TYPES
from seamkit_tests.samples.golden_tables import unpack
from seamkit_tests.samples.outlets import bag
from seamkit_tests.scan.units import open_under_names, plan, positions

_DAY = dt.date(1970, 1, 2)
_NOON = dt.datetime(1970, 1, 2, 12)
_EPOCH = dt.datetime(1970, 1, 1)
_ENDS = [dt.date(1, 1, 1), dt.date(9999, 12, 31)]


@dataclass(frozen=True)
class Evolved:
    """A column as a file has it, and as the table shows it.

    Attributes:
        have: what the file has; its values are one short of the rows, of which the last is null.
        want: the table's type.
        values: as the table shows them.
        asked: what rows are compared with, in the table's type.
        options: of pyarrow's writer.
    """

    have: pa.Array
    want: pa.DataType
    values: Sequence[Any]
    asked: Sequence[Any]
    options: Mapping[str, Any] = field(default_factory=dict)


def _of(
    have: pa.DataType, want: pa.DataType, own: Sequence[Any], asked: Sequence[Any], **options: Any
) -> Evolved:
    """A column whose values are equal in both types."""
    return Evolved(pa.array(own, have), want, own, asked, options)


_D = Decimal
_TEXTS = ["a\\x41", "é\0z", "", "\\", "Zz"]
_BYTES = [text.encode() for text in _TEXTS]
_CENTS = [_D("1.25"), _D("-0.01"), _D("999.99"), _D("0.00"), _D("-999.99")]
_CASTS = {
    "long": _of(
        pa.int32(), pa.int64(), [1, 2**31 - 1, -(2**31), 0, 7], [7, 2**31, -(2**31) - 1, 2**63 - 1]
    ),
    "int": _of(pa.int8(), pa.int32(), [1, 127, -128, 0, 7], [7, 128, -129, 2**31 - 1]),
    "whole double": _of(
        pa.int32(), pa.float64(), [1, 2**31 - 1, -(2**31), 0, 7], [0.5, 7.0, 1e300, math.nan]
    ),
    "whole decimal": _of(
        pa.int64(),
        pa.decimal128(22, 2),
        [1, 2**63 - 1, -(2**63), 0, 7],
        [_D("0.50"), _D(7), _D(2**63 - 1), _D("9999999999999999999.99")],
    ),
    "digits before": _of(
        pa.decimal128(5, 2), pa.decimal128(6, 2), _CENTS, [_D("1.25"), _D("9999.99")]
    ),
    "digits behind": _of(
        pa.decimal128(5, 2),
        pa.decimal128(12, 4),
        _CENTS,
        [_D("1.2501"), _D("-0.0100"), _D("999.9949"), _D("99999999.9999")],
    ),
    "digits of integers": _of(
        pa.decimal128(5, 2),
        pa.decimal128(38, 10),
        _CENTS,
        [_D("1.2500000001"), _D("-0.01"), _D(10) ** 27],
        store_decimal_as_integer=True,
    ),
    "micros": _of(
        pa.timestamp("ms"),
        pa.timestamp("us"),
        [_NOON, _EPOCH, dt.datetime(9999, 12, 31), dt.datetime(1, 1, 1), _EPOCH],
        [_NOON, dt.datetime(1970, 1, 1, 0, 0, 0, 1), dt.datetime(1969, 12, 31, 23)],
    ),
    "micros of instants": _of(
        pa.timestamp("ms", "UTC"),
        pa.timestamp("us", "UTC"),
        [_NOON.replace(tzinfo=dt.UTC), None, _EPOCH.replace(tzinfo=dt.UTC)] + [None] * 2,
        [_NOON.replace(tzinfo=dt.UTC), dt.datetime(1970, 1, 1, 0, 0, 0, 1, dt.UTC)],
    ),
    "midnight": Evolved(
        pa.array([_DAY, _EPOCH.date(), *_ENDS, _DAY]),
        pa.timestamp("us"),
        [dt.datetime.combine(day, dt.time()) for day in (_DAY, _EPOCH, *_ENDS, _DAY)],
        [_NOON, dt.datetime(1970, 1, 2), dt.datetime(1970, 1, 1, 0, 0, 0, 1)],
    ),
    "bytes": Evolved(pa.array(_TEXTS), pa.binary(), _BYTES, [*_BYTES, b"\xff"]),
    "text": Evolved(pa.array(_BYTES), pa.string(), _TEXTS, [*_TEXTS, "zz"]),
    "nothing": Evolved(pa.nulls(5), pa.int32(), [None] * 5, [0]),
}
_SIGNS = {"=": operator.eq, "<>": operator.ne, "<": operator.lt, ">=": operator.ge}


def _unit(
    folder: Path,
    name: str,
    rows: pa.Table,
    gone: Sequence[int] | None = None,
    rules: TypeRules = LOSSLESS,
    names: Mapping[str, str | pa.Scalar | None] | None = None,
    **options: Any,
) -> ReadUnit:
    pq.write_table(rows, folder / name, row_group_size=2, **options)
    opener = partial(open_under_names, str(folder), name, rules, names or {})
    mask = None if gone is None else Mask(partial(positions, gone))
    return ReadUnit(name, [DataFile(name, 1, opener)], changes=mask)


def _paths(scan: UnitScan) -> list[str]:
    """Who reads each unit: `masked` are those whose file DuckDB reads."""
    lines = scan.explain(engine=True).splitlines()[1:]
    return ["masked" if "mask its file" in line else line.split()[0] for line in lines]


def _ordered(value: Any) -> tuple[bool, Any]:
    """A value as engines order it: NaN equals itself and is greatest."""
    is_nan = isinstance(value, float) and math.isnan(value)
    return is_nan, 0 if is_nan else value


def _literal(value: Any, kind: str) -> str:
    if isinstance(value, bytes):
        return f"unhex('{value.hex()}')"
    if isinstance(value, str):
        return f"decode(unhex('{value.encode().hex()}'))"
    return f"CAST('{value}' AS {kind})"


def _met(
    rows: Sequence[tuple[int, Any]], one: Evolved
) -> Iterator[tuple[str | None, Any, list[tuple[int, Any]]]]:
    """Filters, and the rows that meet each: a sign and a value, or null asked for, or nothing."""
    yield None, None, list(rows)
    yield "null", None, [row for row in rows if row[1] is None]
    for asked in one.asked:
        for sign, holds in _SIGNS.items():
            met = [r for r in rows if r[1] is not None and holds(_ordered(r[1]), _ordered(asked))]
            yield sign, asked, met


def _check_duckdb(scan: UnitScan, rows: Sequence[tuple[int, Any]], one: Evolved, step: int) -> None:
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    relation = scan.relation(con)
    kind = str(relation.types[1])
    relation.create_view("rows")
    for number, (sign, asked, met) in enumerate([*_met(rows, one)][::step]):
        condition = "true" if sign is None else "v IS NULL"
        if asked is not None:
            condition = f"v {sign} {_literal(asked, kind)}"
        found = con.sql(f"SELECT k, v FROM rows WHERE {condition}").to_arrow_table()  # noqa: S608
        shown = found["v"].cast(one.want).to_pylist()
        assert sorted(zip(found["k"].to_pylist(), shown, strict=True)) == met, condition
        if number % 4 < 2:
            count = f"SELECT count(*) FROM rows WHERE {condition}"  # noqa: S608
            assert con.execute(count).fetchall() == [(len(met),)]


def _check_polars(scan: UnitScan, rows: Sequence[tuple[int, Any]], one: Evolved, step: int) -> None:
    frame = scan.lazy()
    kind = frame.collect_schema()["v"]
    for number, (sign, asked, met) in enumerate([*_met(rows, one)][::step]):
        found = frame
        if sign is not None:
            condition = pl.col("v").is_null()
            if asked is not None:
                condition = _SIGNS[sign](pl.col("v"), pl.lit(asked, dtype=kind))
            found = frame.filter(condition)
        assert sorted(found.collect().rows()) == met, (sign, asked)
        if number % 4 < 2:
            assert found.select("k").collect()["k"].sort().to_list() == [k for k, _ in met]


@pytest.mark.parametrize("name", _CASTS)
def test_values_are_cast_by_the_engine(name: str, tmp_path: Path) -> None:
    """Beside a file that has the table's type; and in a masked file under another name."""
    one = _CASTS[name]
    own = pa.concat_arrays([one.have, pa.nulls(1, one.have.type)])
    keys = pa.array(range(6), pa.int64())
    newer = pa.table({"k": pa.array([6], pa.int64()), "v": pa.array([one.values[0]], one.want)})
    schema = pa.schema([("k", pa.int64()), ("v", one.want)])
    rows = [*enumerate([*one.values, None]), (6, one.values[0])]
    for called, gone in (("v", None), ("w", [0, 3])):
        older = pa.table({"unasked": ["x"] * 6, called: own, "k": keys})
        units = [
            _unit(tmp_path, "a", older, gone, names={"v": called}, **one.options),
            _unit(tmp_path, "b", newer),
        ]
        scan = UnitScan(plan(schema, *units), ["k", "v"])
        left = [row for row in rows if row[0] not in (gone or ())]
        assert _paths(scan)[0] == ("engine" if gone is None else "masked")
        assert sorted(zip(*scan.to_table().to_pydict().values(), strict=True), key=str) == sorted(
            left, key=str
        )
        for check in (_check_duckdb, _check_polars):
            check(scan, left, one, 1 if gone is None else 3)
        alone = UnitScan(plan(schema, units[0]), ["k", "v"])
        assert alone.relation(duckdb.connect()).types == scan.relation(duckdb.connect()).types
        assert alone.lazy().collect().schema == scan.lazy().collect_schema()


_STAYS: dict[str, tuple[TypeRules, pa.Array, pa.DataType, str]] = {
    "text of floats": (HUDI_TYPES, pa.array([0.3], pa.float32()), pa.float64(), "is a float"),
    "text of numbers": (HUDI_TYPES, pa.array([7], pa.int32()), pa.string(), "is a int32"),
    "rounded": (HUDI_TYPES, pa.array([2**53 + 1]), pa.float64(), "is a int64"),
    "too narrow": (HUDI_TYPES, pa.array([123456]), pa.decimal128(5, 2), "is a int64"),
    "nan": (LOSSLESS, pa.array([math.nan, 1.0], pa.float32()), pa.float64(), "leave out NaN"),
    "without a sign": (LOSSLESS, pa.array([7], pa.uint8()), pa.int64(), "is a uint8"),
    "nanoseconds": (LOSSLESS, pa.array([1], pa.timestamp("ns")), pa.timestamp("us"), "is a times"),
    "label": (HUDI_TYPES, pa.array([7], pa.int64()), pa.timestamp("ms"), "is a int64"),
    "within": (
        LOSSLESS,
        pa.array([{"a": 1}]),
        pa.struct([("a", pa.int64()), ("b", pa.int64())]),
        "is a struct",
    ),
}


@pytest.mark.parametrize("name", _STAYS)
def test_what_an_engine_would_cast_otherwise_stays(name: str, tmp_path: Path) -> None:
    """The table's rules round, go by a text, or take a number for another: only we do."""
    rules, own, want, why = _STAYS[name]
    unit = _unit(tmp_path, "f", pa.table({"v": own}), rules=rules)
    scan = UnitScan(plan(pa.schema([("v", want)]), unit), ["v"])
    assert _paths(scan) == ["native"]
    assert why in scan.explain(engine=True)


@pytest.mark.parametrize(
    ("have", "want"),
    [
        (pa.array([dt.datetime(9999, 12, 31), _EPOCH], pa.timestamp("us")), pa.timestamp("ns")),
        (pa.array([2**40 - 1], pa.int64()).cast(pa.timestamp("ms")), pa.timestamp("us")),
        (pa.array([2**31 - 1], pa.int32()).cast(pa.date32()), pa.timestamp("us")),
        (pa.array([2**62], pa.int64()).cast(pa.timestamp("ms")), pa.timestamp("us")),
    ],
    ids=["ns", "us", "day", "ms"],
)
def test_times_that_may_not_fit_stay(have: pa.Array, want: pa.DataType, tmp_path: Path) -> None:
    """An engine may wrap them around; the file's footer tells how far its times reach."""
    scan = UnitScan(
        plan(pa.schema([("v", want)]), _unit(tmp_path, "f", pa.table({"v": have}))), ["v"]
    )
    try:
        pc.cast(have, want)
        fits = True
    except pa.ArrowInvalid:
        fits = False
    assert _paths(scan) == ["engine" if fits else "native"]
    without = _unit(tmp_path, "g", pa.table({"v": have}), write_statistics=False)
    assert _paths(UnitScan(plan(pa.schema([("v", want)]), without), ["v"])) == ["native"]


def test_names_and_values_of_columns_change(tmp_path: Path) -> None:
    """Two change their names for each other's, one takes that of a dropped one, others are new."""
    own = pa.table(
        {"a": pa.array([1, 2], pa.int64()), "b": ["x", "y"], "New": [8, 9], "c": [True, False]}
    )
    new = pa.decimal128(9, 2)
    schema = pa.schema(
        [
            ("b", pa.int64()),
            ("a", pa.string()),
            ("c", new),
            ("new", pa.int32()),
            ("again", pa.int64()),
            ("d", pa.bool_()),
        ]
    )
    names = {
        "b": "a",
        "a": "b",
        "c": pa.scalar(_D("0.50"), new),
        "new": None,
        "again": "a",
        "d": "c",
    }
    expected = [(1, "x", _D("0.50"), None, 1, True), (2, "y", _D("0.50"), None, 2, False)]
    filters = [
        "true",
        "b = 2",
        "a < 'y'",
        "c = 0.5",
        "c > 0.5",
        "new IS NULL",
        "again > 1 AND c < 1",
        "d AND c = 0.5",
    ]
    for gone, left in ((None, expected), ([0], expected[1:])):
        unit = _unit(tmp_path, "f", own, gone, names=names)
        scan = UnitScan(plan(schema, unit), schema.names)
        con = duckdb.connect()
        scan.relation(con).create_view("rows")

        assert _paths(scan) == ["engine" if gone is None else "masked"]
        columns = dict(zip(schema.names, zip(*left, strict=True), strict=True))
        plain = duckdb.from_arrow(pa.table(columns, schema=schema))
        assert scan.lazy().collect().rows() == left
        for condition in filters:
            expected_rows = sorted(plain.filter(condition).fetchall())
            found = con.execute(f"FROM rows WHERE {condition}").fetchall()
            assert sorted(found) == expected_rows, condition
            by_polars = scan.lazy().filter(pl.sql_expr(condition)).collect().rows()
            assert sorted(by_polars) == expected_rows, condition
        for name in schema.names:  # one alone, of values among them
            at = schema.names.index(name)
            assert scan.relation(con).select(name).fetchall() == [(r[at],) for r in left]
            assert scan.lazy().select(name).collect().rows() == [(row[at],) for row in left]


_TABLES = {
    "hudi/evolution/v9": ["masked", "engine"],
    "hudi/renamed/v9": ["masked"],
    "delta/mapping-partitions": ["masked", "engine", "engine"],
    "iceberg/defaults": ["engine"] * 3,
    "iceberg/evolution": ["engine"] * 5,
    "paimon/append-evolution": ["engine"] * 5,
}


@pytest.mark.parametrize("name", _TABLES)
def test_tables_that_changed_are_read_by_engines(name: str, tmp_path: Path) -> None:
    """In each format, files from before columns were renamed, added, dropped or made wider."""
    scan = seamkit.open_table(unpack(name, tmp_path)).scan()
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    assert isinstance(scan, UnitScan)
    assert _paths(scan) == _TABLES[name]
    expected = scan.to_table()
    assert bag(scan.relation(con).to_arrow_table().cast(expected.schema)) == bag(expected)
    assert bag(scan.lazy().collect().to_arrow().cast(expected.schema)) == bag(expected)


@pytest.mark.parametrize("columns", [["k", "c", "new"], ["new"]], ids=["some", "none"])
def test_values_alone_of_files_with_other_columns_that_are_gone(
    columns: list[str], tmp_path: Path
) -> None:
    """Polars reads no column for their number that only some files have, or of another type."""
    kept = pa.table({"k": [1, 2], "c": [1, 5]})
    for number, gone in enumerate(([1, 2], None, ["x", "y"])):
        rows = kept if gone is None else kept.add_column(0, "gone", [gone])
        pq.write_table(rows, tmp_path / f"{number}.parquet")
    declared = {"k": "bigint", "c": "bigint", "new": "int"}
    table = seamkit.HiveTable(str(tmp_path), columns=declared, file_format="parquet")
    frame = table.scan(columns).lazy()
    assert frame.select("new").collect().rows() == [(None,)] * 6
    assert frame.filter(pl.col("new").is_null()).select("new").collect().height == 6
    if "c" in columns:
        assert frame.filter(pl.col("c") == 1).select("new").collect().rows() == [(None,)] * 3
