"""Scans in DuckDB and Polars: files without changes go to the engine's own reader."""

import math
import re
import threading
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import seamkit
from seambase.errors import RefusedError
from seambench.formats.forms.footer import Footer, Number, Struct
from seamkit.files.reader import FileReader
from seamkit.scan.arguments import ScanOptions
from seamkit.scan.engine_units import engine_share
from seamkit.scan.unit_scan import UnitScan
from seamkit.scan.units import DataFile, ReadUnit
from seamkit_tests import SUITES_GOLDEN
from seamkit_tests.samples.golden_tables import unpack
from seamkit_tests.samples.outlets import bag, masked_parts
from seamkit_tests.scan.units import plan, write_as, write_unit

_ROWS = pa.table({"id": pa.array(range(300), pa.int64()), "text": [f"t{i}" for i in range(300)]})
_FORMATS = ("hudi", "delta", "iceberg", "paimon")
_FOUND = (path for name in _FORMATS for path in (SUITES_GOLDEN / name).rglob("table.zip"))
_GOLDEN = [str(path.parent.relative_to(SUITES_GOLDEN)) for path in sorted(_FOUND)]


def _paths(scan: Any) -> list[str]:
    """The path of each unit as engines read it."""
    return [line.split()[0] for line in scan.explain(engine=True).splitlines()[1:]]


def _rows(scan: Any) -> list[Any]:
    return sorted(scan.relation(duckdb.connect()).fetchall(), key=repr)


def test_a_masked_file_is_read_without_the_rows_that_are_gone(tmp_path: Path) -> None:
    """Beside a clean one; DuckDB reads both, in Polars the masked one stays."""
    clean = write_unit(tmp_path, "clean", _ROWS.slice(0, 200))
    masked = write_unit(tmp_path, "masked", _ROWS.slice(200), [0, 99])
    scan = UnitScan(plan(_ROWS.schema, clean, masked), ["text", "id"])
    expected = [(f"t{i}", i) for i in range(300) if i not in (200, 299)]
    assert _paths(scan) == ["engine", "native"]
    assert "DuckDB and Spark mask its file" in scan.explain(engine=True)
    assert _rows(scan) == sorted(expected, key=repr)
    assert sorted(scan.lazy().collect().rows()) == sorted(expected)
    assert _plan_of(scan, "true").count("Parquet Scan") == 2
    assert scan.engine_plan(masks=True).rest is None


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
def test_zeros_of_both_signs_are_two_partitions(tmp_path: Path, kind: pa.DataType) -> None:
    """To Python one equals the other, and no NaN another: these are read at once."""
    values = [0.0, -0.0, 0.0, math.nan, math.nan]
    units = [
        write_unit(tmp_path, f"f{at}", _ROWS.slice(at, 1), partition={"x": pa.scalar(value, kind)})
        for at, value in enumerate(values)
    ]
    scan = UnitScan(plan(_ROWS.schema.append(pa.field("x", kind)), *units), ["id", "x"])
    expected = [repr(row) for row in enumerate(values)]
    assert [*map(repr, _rows(scan))] == expected
    assert sorted(map(repr, scan.lazy().collect().rows())) == expected
    assert len(scan.engine_plan().files) == 3


@pytest.mark.parametrize("spelling", ["{}0.0{:3>37}", "{}0.{:0>38}", "{}0.{:1>38}", "{}{:1>38}"])
def test_partitions_of_decimals_keep_their_digits(tmp_path: Path, spelling: str) -> None:
    """DuckDB makes a double of a Decimal with 38 digits behind the point and zeros first."""
    texts = [spelling.format(sign, end) for sign in ("", "-") for end in ("7", "98")]
    kind = pa.decimal128(38, 38 if "." in spelling else 0)
    units = [
        write_unit(
            tmp_path, f"f{at}", _ROWS.slice(at, 1), partition={"x": pa.scalar(Decimal(text), kind)}
        )
        for at, text in enumerate(texts)
    ]
    scan = UnitScan(plan(_ROWS.schema.append(pa.field("x", kind)), *units), ["x"])
    expected = sorted(map(Decimal, texts))
    assert sorted(row[0] for row in _rows(scan)) == expected
    assert sorted(scan.lazy().collect()["x"]) == expected


@pytest.mark.parametrize(
    "kind", [pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC")], ids=str
)
def test_partitions_of_times_beyond_pythons_stay(tmp_path: Path, kind: pa.DataType) -> None:
    """No engine is told such a value: the rows come from us."""
    stored = pa.int32() if pa.types.is_date(kind) else pa.int64()
    far = pa.scalar(5_000_000 * (1 if stored == pa.int32() else 86_400_000_000), stored).cast(kind)
    unit = write_unit(tmp_path, "f", _ROWS.slice(0, 1), partition={"x": far})
    scan = UnitScan(plan(_ROWS.schema.append(pa.field("x", kind)), unit), ["id", "x"])
    assert scan.relation(duckdb.connect()).project("year(x)").fetchall() == [(15659,)]
    assert scan.lazy().select(pl.col("x").dt.year()).collect().item() == 15659


def test_masks_reach_over_chunks_and_files(tmp_path: Path) -> None:
    """Places at the ends of chunks and of files of different lengths are not mixed up."""
    gone = [[0, 32_767, 32_768, 65_535, 69_999], [], [4], list(range(40_000))]
    sizes = [70_000, 10, 5, 40_000]
    units, expected = [], set()
    for number, (rows, positions) in enumerate(zip(sizes, gone, strict=True)):
        ids = range(number * 100_000, number * 100_000 + rows)
        table = pa.table({"id": pa.array(ids, pa.int64())})
        units.append(write_unit(tmp_path, f"f{number}", table, positions))
        expected |= set(ids).difference(number * 100_000 + position for position in positions)
    scan = UnitScan(plan(pa.schema([("id", pa.int64())]), *units), ["id"])
    found = [row[0] for row in scan.relation(duckdb.connect()).fetchall()]
    assert len(found) == len(expected)
    assert set(found) == expected


@pytest.mark.parametrize(
    "name", ["place", "bits", "number", "file", "c0", "file_index", "File_Row_Number"]
)
def test_names_of_columns_do_not_disturb_masks(tmp_path: Path, name: str) -> None:
    """Not even those that DuckDB has for the places of rows."""
    rows = pa.table({name: pa.array([1, 2, 3], pa.int64()), "other": ["a", "b", "c"]})
    scan = UnitScan(plan(rows.schema, write_unit(tmp_path, "f", rows, [1])), ["other", name])
    assert _rows(scan) == [("a", 1), ("c", 3)]


@pytest.mark.parametrize("gone", [None, [1]])
def test_a_column_may_be_called_as_a_field_within_another(
    gone: list[int] | None, tmp_path: Path
) -> None:
    """Their ranges and counts of nulls are not mistaken for each other's, nor left to engines."""
    rows = pa.table({"s.b": [7, 8, 9], "s": pa.array([{"b": 5}, None, None])})
    scan = UnitScan(plan(rows.schema, write_unit(tmp_path, "f", rows, gone)), rows.schema.names)
    assert scan.filter(pc.field("s.b") == 7).to_table().num_rows == 1
    assert scan.filter(pc.field("s.b") == 5).to_table().num_rows == 0
    assert scan.filter(pc.field("s", "b") == 5).to_table().num_rows == 1
    relation = scan.relation(duckdb.connect())
    assert [len(relation.filter(text)) for text in ('"s.b" = 7', '"s.b" = 5', "s.b = 5")] == [
        1,
        0,
        1,
    ]
    assert scan.to_table().num_rows == (3 if gone is None else 2)
    assert "is called as the path of a field" in str(scan.explain(engine=True))


def test_footers_are_read_by_the_threads_of_a_scan(tmp_path: Path) -> None:
    """Each of two waits for the other to be asked for; what the first raises ends the plan."""
    both = threading.Barrier(2, timeout=300)

    def waiting(unit: ReadUnit) -> ReadUnit:
        (file,) = unit.files
        assert isinstance(file, DataFile)
        opened = file.open

        def open_both() -> FileReader:
            both.wait()
            return opened()

        return replace(unit, files=[replace(file, open=open_both)])

    halves = _ROWS.slice(0, 200), _ROWS.slice(200)
    units = [waiting(write_unit(tmp_path, str(n), half)) for n, half in enumerate(halves)]
    share = engine_share(plan(_ROWS.schema, *units), ["id"], threads=2)
    assert [files.paths for files, _ in share.reads] == [[str(tmp_path / name) for name in "01"]]
    both.abort()
    with pytest.raises(threading.BrokenBarrierError):
        UnitScan(plan(_ROWS.schema, *units), ["id"], options=ScanOptions(threads=2)).engine_plan()


def test_a_broken_mask_is_told(tmp_path: Path) -> None:
    """No rows come of a file whose mask is for a longer one."""
    scan = UnitScan(plan(_ROWS.schema, write_unit(tmp_path, "f", _ROWS, [7, 300])), ["id"])
    with pytest.raises(Exception, match="row 300 is marked as deleted"):
        _rows(scan)


def _plan_of(scan: Any, condition: str) -> str:
    con = duckdb.connect()
    scan.relation(con).create_view("rows")
    query = f"EXPLAIN SELECT id FROM rows WHERE {condition}"  # noqa: S608 - ours
    return str(con.execute(query).fetchall()[0][1])


def test_filters_reach_the_engines_reader(tmp_path: Path) -> None:
    """They stand in its scan of Parquet, not above it."""
    scan = UnitScan(plan(_ROWS.schema, write_unit(tmp_path, "clean", _ROWS)), ["id", "text"])
    assert "Filters: id > 290" in _plan_of(scan, "id > 290")


def test_values_of_partitions_and_absent_columns_have_the_tables_types(tmp_path: Path) -> None:
    """A column that is not in the file is its partition's value, or null."""
    schema = pa.schema([*_ROWS.schema, ("day", pa.date32()), ("new", pa.decimal128(9, 2))])
    day = pa.scalar(20_000, pa.int32()).cast(pa.date32())
    units = [
        write_unit(tmp_path, "a", _ROWS.slice(0, 2), partition={"day": day}),
        write_unit(tmp_path, "b", _ROWS.slice(2, 2), partition={"day": pa.scalar(None, day.type)}),
    ]
    scan = UnitScan(plan(schema, *units), schema.names)
    expected = [(0, "t0", day.as_py(), None), (1, "t1", day.as_py(), None)]
    expected += [(2, "t2", None, None), (3, "t3", None, None)]
    relation = scan.relation(duckdb.connect())
    assert _paths(scan) == ["engine", "engine"]
    assert sorted(relation.fetchall()) == expected
    assert [str(kind) for kind in relation.types] == ["BIGINT", "VARCHAR", "DATE", "DECIMAL(9,2)"]
    frame = scan.lazy().collect()
    assert sorted(frame.rows()) == expected
    assert str(frame.schema["new"]) == "Decimal(precision=9, scale=2)"


def test_files_may_have_columns_that_others_lack(tmp_path: Path) -> None:
    """Such as Delta's ids of rows; engines read those that the scan hands out."""
    more = _ROWS.append_column("extra", pa.array([1] * 300))
    units = [write_unit(tmp_path, "a", _ROWS), write_unit(tmp_path, "b", more)]
    scan = UnitScan(plan(_ROWS.schema, *units), ["id"])
    assert _paths(scan) == ["engine", "engine"]
    assert len(_rows(scan)) == scan.lazy().collect().height == 600


def test_nan_survives_a_filter(tmp_path: Path) -> None:
    """DuckDB prunes by ranges without NaN, which is greater than all numbers: the file stays."""
    rows = pa.table({"x": [1.0, float("nan"), 3.0]})
    scan = UnitScan(plan(rows.schema, write_unit(tmp_path, "floats", rows)), ["x"])
    con = duckdb.connect()
    scan.relation(con).create_view("rows")
    assert _paths(scan) == ["native"]
    assert con.execute("SELECT count(*) FROM rows WHERE x > 5").fetchall() == [(1,)]


@pytest.mark.parametrize(
    ("writer", "is_ours"),
    [
        ("parquet-mr version 1.10.1", False),
        ("parquet-mr version 1.17.0", False),
        ("parquet-mr version 1.18.0", True),
        ("parquet-mr version 1.20.0", True),
        ("parquet-mr version 2.10.0", True),
        ("parquet-mr-trino version 9", True),
    ],
)
def test_javas_newer_releases_leave_nan_out_of_ranges(
    writer: str, tmp_path: Path, *, is_ours: bool
) -> None:
    """From parquet-mr 1.18 on, as others do: DuckDB takes their ranges for those of all values."""
    values = [1.0, math.nan if is_ours else 4.0, 3.0]
    rows = pa.table({"x": values, "s": [{"y": value} for value in values]})
    unit = write_unit(tmp_path, "f", rows)
    write_as(writer, tmp_path / "f")
    scan = UnitScan(plan(rows.schema, unit), rows.schema.names)
    assert _paths(scan) == ["native" if is_ours else "engine"]
    relation = scan.relation(duckdb.connect())
    for tested, column in (("x", pl.col("x")), ("s.y", pl.col("s").struct.field("y"))):
        assert len(relation.filter(f"{tested} > 3")) == 1
        assert scan.lazy().filter(column > 3).collect().height == 1


@pytest.mark.parametrize(
    ("own", "why"),
    [
        (pa.table({"id": pa.array([1], pa.uint16())}), "is a uint16"),
        (pa.table({"id": pa.array([1], pa.int64()), "Id": ["x"]}), "upper and lower case"),
    ],
)
def test_a_file_that_differs_stays(tmp_path: Path, own: pa.Table, why: str) -> None:
    """In a type that engines do not cast alike, or among names that they do not tell apart."""
    scan = UnitScan(plan(pa.schema([("id", pa.int64())]), write_unit(tmp_path, "f", own)), ["id"])
    assert why in scan.explain(engine=True)
    assert Counter(_rows(scan)) == Counter(
        map(tuple, (r.values() for r in scan.to_table().to_pylist()))
    )


def _by_parquet_mr(name: str, folder: Path) -> seamkit.HiveTable:
    """A Hive table that parquet-mr wrote, unpacked."""
    return seamkit.HiveTable(str(unpack(f"hive/parquet-mr-{name}", folder)))


@pytest.mark.parametrize("condition", ["s = 'é'", "s > 'y'", "n = 0.0000000200", "n > 0.00000001"])
def test_ranges_by_signed_bytes_rule_no_row_out(condition: str, tmp_path: Path) -> None:
    """parquet-mr before 1.10 wrote them: of texts DuckDB believes them, of decimals pyarrow."""
    table = _by_parquet_mr("before", tmp_path)
    expected = bag(duckdb.from_arrow(table.scan().to_table()).filter(condition).to_arrow_table())
    assert expected
    for scan in (table.scan(filter=condition), table.scan(filter=condition, columns=["k", "n"])):
        assert scan.to_table().num_rows == sum(expected.values())
    by_duckdb = table.scan().relation(duckdb.connect()).filter(condition).to_arrow_table()
    assert bag(by_duckdb) == expected
    assert _paths(table.scan()) == ["native", "native"]


@pytest.mark.parametrize("gone", [None, [0]])
@pytest.mark.parametrize("tested", ["t", "s.t"])
@pytest.mark.parametrize("kind", [pa.string(), pa.binary(), pa.binary(4)], ids=str)
def test_nulls_beside_one_value_are_told_from_it(
    kind: pa.DataType, tested: str, gone: list[int] | None, tmp_path: Path
) -> None:
    """DuckDB tests a row group that has one text by its range, and takes all its rows for null."""
    texts = pa.array(["text", None, "text"]).cast(pa.binary()).cast(kind)
    rows = pa.table({"t": texts, "s": pa.StructArray.from_arrays([texts], ["t"])})
    units = [
        write_unit(tmp_path, str(packed), rows, gone, use_dictionary=packed)
        for packed in (True, False)
    ]
    scan = UnitScan(plan(rows.schema, *units), rows.schema.names)
    relation, left = scan.relation(duckdb.connect()), 2 if gone is None else 1
    assert len(relation.filter(f"{tested} IS NULL")) == 2
    assert len(relation.filter(f"{tested} IS NOT NULL")) == 2 * left
    assert len(relation.filter(f"{tested} IS DISTINCT FROM 'text'")) == 2
    assert scan.explain(engine=True).count("has nulls beside one value") == 1


@pytest.mark.parametrize("gone", [None, [0]])
@pytest.mark.parametrize("n_files", [1, 2])
@pytest.mark.parametrize(
    "condition",
    [
        "s.i IN (1)",
        "s.i IN (1, 2)",
        "s.i + 0 IN (1)",
        "s.b",
        "s.n.i IN (1)",
        "s.i IN (1) AND k < 9",
    ],
)
def test_a_field_that_is_null_meets_no_condition(
    condition: str, n_files: int, gone: list[int] | None, tmp_path: Path
) -> None:
    """DuckDB asks the struct in its place where the ranges of a file say that all values do."""
    held = {"i": 1, "b": True, "n": {"i": 1}}
    structs = [held, dict.fromkeys(held), None, {**held, "n": None}, held]
    rows = pa.table({"k": range(5), "s": structs})
    units = [write_unit(tmp_path, f"f{number}", rows, gone) for number in range(n_files)]
    scan = UnitScan(plan(rows.schema, *units), rows.schema.names)
    relation = scan.relation(duckdb.connect())
    expected = [4] if "n.i" in condition else [3, 4]
    expected = [*([] if gone else [0]), *expected] * n_files
    assert sorted(k for k, _ in relation.filter(condition).fetchall()) == sorted(expected)
    assert len(relation.filter("s IS NULL")) == len(relation) / (4 if gone else 5) == n_files
    assert scan.engine_plan(masks=True).rest is None


def test_fixed_bytes_in_new_encodings_are_read_by_us(tmp_path: Path) -> None:
    """Polars knows no deltas of them, and neither it nor DuckDB split streams."""
    scan = _by_parquet_mr("encodings", tmp_path).scan(columns=["k", "n38"])
    expected = bag(scan.to_table())
    assert bag(scan.lazy().collect().to_arrow()) == expected
    assert bag(scan.relation(duckdb.connect()).to_arrow_table()) == expected
    assert "column 'n38' is in an encoding" in scan.explain(engine=True)
    assert set(_paths(scan)) == {"engine", "native"}


@pytest.mark.parametrize(
    "kind",
    [pa.int8(), pa.int32(), pa.int64(), pa.date32(), pa.timestamp("us"), pa.float32()],
    ids=str,
)
def test_split_streams_are_read_by_us(kind: pa.DataType, tmp_path: Path) -> None:
    """Spark reads none, whatever their type."""
    values = pa.array([1, None, 3], pa.int32()).cast(
        pa.int64() if kind.bit_width == 64 else pa.int32()
    )
    rows = pa.table({"k": range(3), "v": values.cast(kind)})
    unit = write_unit(tmp_path, "f", rows, use_dictionary=["k"], use_byte_stream_split=["v"])
    write_as("parquet-mr version 1.17.0", tmp_path / "f")
    scan = UnitScan(plan(rows.schema, unit), ["k", "v"])
    assert bag(scan.relation(duckdb.connect()).to_arrow_table()) == bag(rows)
    assert bag(scan.lazy().collect().to_arrow()) == bag(rows)
    assert "column 'v' is in an encoding" in scan.explain(engine=True)
    assert _paths(UnitScan(plan(rows.schema, unit), ["k"])) == ["engine"]


@pytest.mark.parametrize(
    ("codec", "number", "is_ours"),
    [
        ("brotli", 4, True),
        ("lz4", 5, False),
        ("lz4", 7, False),
        ("zstd", 6, False),
        ("gzip", 2, False),
        ("snappy", 1, False),
        ("none", 0, False),
    ],
)
def test_codecs_that_an_engine_lacks_are_read_by_us(
    codec: str, number: int, tmp_path: Path, *, is_ours: bool
) -> None:
    """Spark comes without Brotli's."""
    rows = pa.table({"v": ["text"] * 30})
    unit = write_unit(tmp_path, "f", rows, compression=codec)
    footer = Footer((tmp_path / "f").read_bytes())
    footer.tree[4].items[0][1].items[0][3][4].value = number
    (tmp_path / "f").write_bytes(footer.file())
    scan = UnitScan(plan(rows.schema, unit), ["v"])
    assert _rows(scan) == scan.lazy().collect().rows() == [("text",)] * 30
    assert _paths(scan) == ["native" if is_ours else "engine"]


def test_times_of_int96_keep_their_digits(tmp_path: Path) -> None:
    """DuckDB reads microseconds of them, Polars no year after 2262: they are read by us."""
    times = pa.array([1, -1, 2**62 + 1, None], pa.timestamp("ns"))
    rows = pa.table({"t": times, "s": pa.StructArray.from_arrays([times], ["t"]), "k": range(4)})
    unit = write_unit(tmp_path, "f", rows, use_deprecated_int96_timestamps=True)
    scan = UnitScan(plan(rows.schema, unit), ["t", "s"])
    by_duckdb = scan.relation(duckdb.connect()).project("t, s.t AS inner").to_arrow_table()
    by_polars = scan.lazy().select("t", inner=pl.col("s").struct.field("t")).collect().to_arrow()
    for found in (by_duckdb, by_polars):
        assert [found[name].cast(pa.int64()) for name in found.schema.names] == [
            pa.chunked_array([times]).cast(pa.int64())
        ] * 2
    assert _paths(scan) == ["native"]
    assert _paths(UnitScan(plan(rows.schema, unit), ["k"])) == ["engine"]


_TEXTS = pa.array([b"a", b"b\\x41c", "\u00fc".encode(), None])
_NUMBERS = pa.array([1, -5, 100_000, None], pa.int64())
_MAPS = pa.array([[("a", 1)], [], None], pa.map_(pa.string(), pa.int64()))
_LISTS = pa.ListArray.from_arrays([0, 2, 2, 4], _TEXTS)
_DIGITS = Struct({5: Struct({1: Number(5, 2), 2: Number(5, 18)})})

#: How a column's type is told, by numbers of parquet.thrift: its values, its converted and its
#: logical type, the table's, and which columns of the file are read by us.
_TOLD: dict[str, tuple[pa.Array, int | None, int | Struct | None, pa.DataType, str]] = {
    "text": (_TEXTS, None, 1, pa.string(), "e"),
    "enum": (_TEXTS, 4, None, pa.string(), "e"),
    "enum-bytes": (_TEXTS, 4, 4, pa.binary(), "e"),
    "json": (_TEXTS, 19, 12, pa.string(), "e"),
    "bson": (_TEXTS, 20, None, pa.binary(), "ke"),
    "interval": (pa.array([b"i" * 12], pa.binary(12)), 21, None, pa.binary(12), "ke"),
    "decimal": (_NUMBERS, None, _DIGITS, pa.decimal128(18, 2), "e"),
    "date": (_NUMBERS.cast(pa.int32()), None, 6, pa.date32(), "e"),
    "millis": (_NUMBERS, 9, None, pa.timestamp("ms", "UTC"), "e"),
    "micros": (_NUMBERS, 10, None, pa.timestamp("us", "UTC"), "e"),
    "nothing": (pa.nulls(4, pa.int64()), None, 11, pa.int64(), "ke"),
    "list": (_LISTS, None, 3, _LISTS.type, "e"),
    "texts-in-lists": (_LISTS, None, 1, pa.list_(pa.string()), "e"),
    "map": (_MAPS, None, 2, _MAPS.type, "e"),
    "entries": (_MAPS, 2, None, _MAPS.type, "ke"),
    "entries-inside": (_MAPS, 2, None, _MAPS.type, ""),
}
#: Numbers of schema elements that are told so, where they are not those of the column itself.
_INSIDE = {"texts-in-lists": 4, "entries-inside": 3}


@pytest.mark.parametrize("told", _TOLD)
def test_a_type_that_engines_may_take_for_another_is_read_by_us(told: str, tmp_path: Path) -> None:
    """A type may be told as old readers know it, as new ones do, or as few do: rows are the same.

    DuckDB's session has a zone, which makes other moments of times that it takes for local ones.
    """
    values, converted, logical, kind, ours = _TOLD[told]
    rows = pa.table({"k": range(len(values)), "e": values})
    unit = write_unit(tmp_path, "f", rows, store_schema=False)
    footer = Footer((tmp_path / "f").read_bytes())
    element = footer.schema.items[_INSIDE.get(told, 2)]
    for field in (6, 10):
        element.pop(field, None)
    if converted is not None:
        element[6] = Number(5, converted)
    if logical is not None:
        element[10] = logical if isinstance(logical, Struct) else Struct({logical: Struct()})
    (tmp_path / "f").write_bytes(footer.file())
    schema = pa.schema([rows.schema.field("k"), pa.field("e", kind)])
    scan = UnitScan(plan(schema, unit), ["k", "e"])
    expected = scan.to_table()
    as_stored = expected["e"].combine_chunks()
    if pa.types.is_decimal(kind):
        as_stored = pc.multiply(as_stored, 100)
    assert as_stored.cast(values.type).equals(values)
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'Asia/Kathmandu'")
    assert scan.relation(connection).fetchall() == connection.from_arrow(expected).fetchall()
    assert scan.lazy().collect().equals(pl.from_arrow(expected))
    for column in "ke":
        alone = UnitScan(plan(schema, unit), [column])
        assert _paths(alone) == ["native" if column in ours else "engine"], column


def test_a_path_that_looks_like_a_pattern_stays(tmp_path: Path) -> None:
    """An engine would read other files too."""
    folder = tmp_path / "[ab]"
    folder.mkdir()
    scan = UnitScan(plan(_ROWS.schema, write_unit(folder, "f", _ROWS)), ["id"])
    assert "pattern" in scan.explain(engine=True)
    assert len(_rows(scan)) == 300


@pytest.mark.parametrize(
    "scan_of",
    [
        lambda plan: UnitScan(plan, ["id"], pc.field("id") < 7),
        lambda plan: UnitScan(plan, ["id"], None, ScanOptions(memory_limit_bytes=1 << 26)),
        lambda plan: UnitScan(plan, ["id"], None, ScanOptions(strict=True)),
    ],
    ids=["filter", "memory", "strict"],
)
def test_what_an_engine_cannot_keep_to_stays(tmp_path: Path, scan_of: Any) -> None:
    """A filter of the scan's own, a limit of memory, strictness: our reader alone answers."""
    scan = scan_of(plan(_ROWS.schema, write_unit(tmp_path, "f", _ROWS)))
    assert _paths(scan) == ["native"]
    assert _rows(scan) == sorted(((v,) for v in scan.to_table()["id"].to_pylist()), key=repr)


@pytest.mark.parametrize("name", _GOLDEN[::16])
def test_golden_tables_are_the_same_through_engines(name: str, tmp_path: Path) -> None:
    """Row for row what the scan itself reads; what it refuses no engine gets."""
    table = seamkit.open_table(unpack(name, tmp_path))
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    try:
        scan = table.scan()
    except RefusedError as error:
        with pytest.raises(RefusedError, match=re.escape(str(error))):
            seamkit.register(con, "rows", table)
        return
    try:
        expected = scan.to_table()
    except RefusedError as error:
        with pytest.raises(duckdb.Error, match=re.escape(str(error))):
            scan.relation(con).to_arrow_table()
        with pytest.raises(RefusedError, match=re.escape(str(error))):
            scan.lazy().collect()
        return
    scan.relation(con).create_view("rows")
    # Once anew, and once from what was kept.
    for _ in range(2):
        by_duckdb = con.sql("FROM rows").to_arrow_table().cast(expected.schema)
        assert bag(by_duckdb) == bag(expected)
    by_polars = scan.lazy().select(pl.len()).collect().item()
    assert by_polars == expected.num_rows
    assert bag(masked_parts(scan)) == bag(expected)


def test_a_part_is_split_unless_a_filter_of_its_keys_leaves_row_groups_out(tmp_path: Path) -> None:
    """Also not where the unit is ruled out, or the scan has a filter of its own."""
    table = seamkit.open_table(unpack("hudi/mor-v9-event", tmp_path))
    scan = table.scan()
    number = next(n for n in range(scan.n_parts) if scan.masked_part(n, ["k"], None).file)
    keys = scan.part(number, ["k"], None).to_table()["k"]
    least, most = pc.min(keys), pc.max(keys)
    within, beyond = pc.field("k") >= least, pc.field("k") > most
    assert scan.masked_part(number, ["v"], within).file is not None
    assert scan.masked_part(number, ["v"], pc.field("ts") > 5).file is not None
    assert scan.masked_part(number, ["v"], beyond).file is None
    assert table.scan(filter=within).masked_part(number, ["v"], None).file is None
    assert scan.limit(3).masked_part(0, ["v"], None).file is None


def test_values_that_not_all_parts_have_leave_the_file_to_us(tmp_path: Path) -> None:
    """An engine reads all files of a query with the same columns."""
    rows = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "day": ["a", "b", "c"]})
    one, other = (write_unit(tmp_path, name, rows, [0]) for name in ("one", "other"))
    other = replace(other, partition={"day": pa.scalar("z")})
    scan = UnitScan(plan(rows.schema, one, other), ["id", "day"])
    assert scan.part_values == {"day"}
    assert [scan.masked_part(n, ["id", "day"], None).file is None for n in (0, 1)] == [True, False]
    assert [scan.masked_part(n, ["id"], None).file is None for n in (0, 1)] == [False, False]
    assert scan.masked_part(1, ["id", "day"], None).gone.tolist() == [True, False, False]


def test_register_names_a_table_in_duckdb(tmp_path: Path) -> None:
    """A folder or a scan under a name, with the scan's options."""
    folder = unpack("delta/vectors-several", tmp_path)
    con = duckdb.connect()
    seamkit.register(con, "mine", folder)
    seamkit.register(con, "one", seamkit.open_table(folder).scan().limit(1))
    whole = seamkit.open_table(folder).scan().count_rows()
    assert con.execute("SELECT count(*) FROM mine").fetchall() == [(whole,)]
    assert con.execute("SELECT count(*) FROM one").fetchall() == [(1,)]
    with pytest.raises(seamkit.UsageError, match="options"):
        seamkit.register(con, "one", seamkit.open_table(folder).scan(), columns=["x"])
    with pytest.raises(seamkit.UsageError, match=r"connection is 'one': duckdb.connect\(\)"):
        seamkit.register("one", con, folder)  # type: ignore[arg-type]
