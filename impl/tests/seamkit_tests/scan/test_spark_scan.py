"""Scans whose slices tasks of Spark read: the same rows, warnings and refusals as here."""

import datetime as dt
import operator
import os
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from seambase.errors import InputError, RefusedError, UsageError
from seambench.contracts.scan import ScanRequest
from seambench.engines.spark import SparkOptions, spark_session
from seambench.engines.spark_scan import SparkScan, SparkScanner
from seambench_impl.scan import AutoReader
from seambench_tests.samples.documents import python_blocks
from seamkit.engines.spark_source import KEPT_BYTES
from seamkit.files.file_cache import keep_on_disk
from seamkit.scan.unit_scan import UnitScan
from seamkit.tables.delta.table import DeltaTable
from seamkit.tables.hudi.table import HudiTable
from seamkit.tables.opening import open_table
from seamkit_tests.samples.delta_tables import unpack_delta
from seamkit_tests.samples.golden_tables import unpack, unpack_table
from seamkit_tests.samples.hive_tables import text_table
from seamkit_tests.samples.outlets import bag
from seamkit_tests.samples.pyspark_marks import QUIET
from seamkit_tests.scan.units import plan, write_as, write_unit

pytestmark = [pytest.mark.spark, *QUIET]

TABLES = ["mor-v9-types", "mor-v9-mixed", "mor-v9-partitioned"]

#: What does not depend on where tasks run.
in_threads = pytest.mark.parametrize("session", ["local[2]"], indirect=True)


@pytest.fixture(scope="module", params=["local[2]", "local-cluster[2,1,2048]"])
def session(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Spark with threads for tasks, and with executors that are processes of their own."""
    paths = os.pathsep.join(
        str(Path(str(files(p))).parent) for p in ("seambench", "seambench_impl")
    )
    # Executors of a checkout must find the packages too.
    conf = {"spark.executorEnv.PYTHONPATH": paths, "spark.cores.max": "2"}
    options = SparkOptions(master=request.param, memory="1g", conf=conf)
    with spark_session(options) as (spark, _log):
        yield spark


def _unpack(name: str, folder: Path) -> HudiTable:
    return HudiTable(str(unpack_table(name, folder)))


def _ordered(values: Iterable[Any]) -> list[Any]:
    return sorted(values, key=lambda value: (value is None, value if value is not None else 0))


# Not beside `session` in one list: that would make it a fixture of each test, a Spark for each.
@pytest.mark.parametrize("name", TABLES)
def test_tasks_read_the_rows_that_the_local_scan_reads(
    session: Any, name: str, tmp_path: Path
) -> None:
    """All rows come back from the tasks, in the types of the local scan, and are counted."""
    scan = _unpack(name, tmp_path).scan()
    local, spread = scan.to_table(), SparkScan(scan, session)
    remote = spread.to_reader().read_all()
    assert remote.schema == local.schema
    assert bag(remote) == bag(local)
    assert spread.report().rows == local.num_rows
    assert spread.report().paths == scan.report().paths


@in_threads
def test_columns_and_filters_travel_to_the_tasks(session: Any, tmp_path: Path) -> None:
    """A dataset over Spark hands out just the columns and rows asked for."""
    table = _unpack("mor-v9-event", tmp_path)
    condition = pc.field("ts") > 5
    scan = table.scan(filter=pc.field("v") != "base")
    spread = SparkScan(scan, session).dataset().to_table(columns=["k"], filter=condition)
    local = scan.dataset().to_table(columns=["k"], filter=condition)
    assert local.num_rows
    assert bag(spread) == bag(local)


def test_a_table_is_a_data_frame(session: Any, tmp_path: Path) -> None:
    """Spark computes over rows that our reader hands to it, in Spark's types."""
    scan = _unpack("mor-v9-types", tmp_path).scan()
    frame = scan.spark_frame(session)
    assert frame.count() == scan.to_table().num_rows
    local = scan.to_table()
    for name in ("i", "l", "m38", "s", "day"):
        expected = _ordered(local.column(name).to_pylist())
        assert _ordered(row[0] for row in frame.select(name).collect()) == expected


@in_threads
@pytest.mark.parametrize("name", ["mor-v9-mixed", "mor-v9-event", "mor-v9-partitioned"])
def test_sparks_own_reader_takes_part_in_a_data_frame(
    session: Any, name: str, tmp_path: Path
) -> None:
    """Rows of both readers are those of the local scan; the plan shows who reads."""
    scan = _unpack(name, tmp_path).scan()
    frame = scan.spark_frame(session)
    expected = [tuple(row.values()) for row in scan.to_table().to_pylist()]
    column = scan.schema.names[0]
    middle = _ordered(row[0] for row in expected)[len(expected) // 2]
    assert sorted(map(repr, map(tuple, frame.collect()))) == sorted(map(repr, expected))
    kept = [row for row in expected if row[0] is not None and row[0] >= middle]
    found = frame.where(frame[column] >= middle).collect()
    assert sorted(map(repr, map(tuple, found))) == sorted(map(repr, kept))
    assert frame.select(column).count() == len(expected)
    clean = " engine " in scan.explain(engine=True)
    plan = frame._jdf.queryExecution().toString()
    assert ("FileScan parquet" in plan) == clean
    masked = any(scan.masked_part(n, [column], None).file for n in range(scan.n_parts))
    assert masked


@in_threads
@pytest.mark.parametrize("name", ["delta/mapping-swapped", "hudi/evolution/v9", "iceberg/defaults"])
def test_sparks_own_reader_reads_files_from_before_columns_changed(
    session: Any, name: str, tmp_path: Path
) -> None:
    """Renamed, new or wider columns are those of the local scan, under a filter of each, too."""
    scan = open_table(unpack(name, tmp_path)).scan()
    local = scan.to_table()
    frame = scan.spark_frame(session)
    assert "FileScan parquet" in frame._jdf.queryExecution().toString()
    rows = [tuple(row.values()) for row in local.to_pylist()]
    assert sorted(map(repr, map(tuple, frame.collect()))) == sorted(map(repr, rows))
    for field in local.schema:
        if pa.types.is_integer(field.type) or pa.types.is_decimal(field.type):
            values = [value for value in local[field.name].to_pylist() if value is not None]
            most = max(values, default=0)
            found = frame.where(frame[field.name] >= most).select(field.name).collect()
            assert [row[0] for row in found] == [value for value in values if value >= most]


@in_threads
@pytest.mark.parametrize(
    ("tested", "gone"), [("t", None), ("t", [1]), ("s.t", [1]), ("s.`in.ner`.t", None)]
)
@pytest.mark.parametrize("kind", [pa.timestamp("ms", "UTC"), pa.timestamp("ms")], ids=str)
def test_filters_of_milliseconds_lose_no_row(
    session: Any, gone: list[int] | None, tested: str, kind: pa.DataType, tmp_path: Path
) -> None:
    """Spark's reader tests row groups of them by a filter's value without its last digits."""
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    later = epoch + dt.timedelta(microseconds=1)
    times = pa.array([epoch, epoch, None], pa.timestamp("ms", "UTC")).cast(kind)
    inner = pa.StructArray.from_arrays([times], ["t"])
    whole = pa.StructArray.from_arrays(
        [times, inner], ["t", "in.ner"], mask=pa.array([False, False, True])
    )
    rows = pa.table({"k": [0, 1, 2], "t": times, "s": whole})
    scan = UnitScan(plan(rows.schema, write_unit(tmp_path, "f", rows, gone)), ["k", "t", "s"])
    frame = scan.spark_frame(session)
    left = 2 if gone is None else 1
    moment = "TIMESTAMP" if kind.tz else "TIMESTAMP_NTZ"
    for value, condition in ((later, "<"), (later, "<>"), (epoch, "=")):
        text = f"{moment} '{value if kind.tz else value.replace(tzinfo=None)}'"
        assert frame.where(f"{tested} {condition} {text}").count() == left
    assert frame.where("s IS NULL").count() == 1


@in_threads
@pytest.mark.parametrize(
    ("tested", "gone"), [("f", None), ("f", [1]), ("s.f", None), ("s.`in.ner`.f", [1])]
)
@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
def test_filters_of_floats_find_zeros_of_either_sign(
    session: Any, gone: list[int] | None, tested: str, kind: pa.DataType, tmp_path: Path
) -> None:
    """One equals the other, which Spark's reader denies where it looks into dictionaries."""
    zeros = pa.array([-0.0, -1.0, -0.0, None], kind)
    inner = pa.StructArray.from_arrays([zeros], ["f"])
    whole = pa.StructArray.from_arrays([zeros, inner], ["f", "in.ner"], mask=pc.is_null(zeros))
    rows = pa.table({"k": range(4), "f": zeros, "s": whole})
    unit = write_unit(tmp_path, "f", rows, gone)
    write_as("parquet-mr version 1.13.1", tmp_path / "f")
    scan = UnitScan(plan(rows.schema, unit), rows.schema.names)
    assert scan.engine_plan(masks=True).files or scan.masked_part(0, ["f"], None).file is not None
    frame = scan.spark_frame(session)
    for condition in ("= 0", "IN (0, 7)", ">= 0", "<=> 0", "> -0.5"):
        assert frame.where(f"{tested} {condition}").count() == 2, condition
    left = [value for k, value in enumerate(zeros.to_pylist()) if gone is None or k not in gone]
    found = [row[0] for row in frame.orderBy("k").selectExpr(tested).collect()]
    assert [*map(repr, found)] == [*map(repr, left)]
    assert frame.where("s IS NULL").count() == 1


@in_threads
@pytest.mark.parametrize("gone", [None, [1]])
@pytest.mark.parametrize("name", ["f", "taken for a pattern [1]"])
def test_a_field_of_a_struct_is_found_by_its_name(
    session: Any, gone: list[int] | None, name: str, tmp_path: Path
) -> None:
    """Spark asks for the fields that a query needs alone, and counts these."""
    inner = pa.struct([("a", pa.int64()), ("y", pa.int64()), ("b", pa.int64())])
    kind = pa.struct([("a", pa.int64()), ("in.ner", inner), ("b", pa.int64())])
    one = {"a": 1, "in.ner": {"a": 2, "y": 3, "b": 4}, "b": 5}
    rows = pa.table(
        {
            "k": [0, 1, 2],
            "s.b": [7, 8, 9],
            "s": pa.array([one, None, None], kind),
            "l": pa.array([[one, one], None, []], pa.list_(kind)),
            "m": pa.array([{"x": one}, None, {}], pa.map_(pa.string(), kind)),
        }
    )
    scan = UnitScan(plan(rows.schema, write_unit(tmp_path, name, rows, gone)), rows.schema.names)
    kept = scan.spark_frame(session).where("k = 0")

    for asked, answer in {
        "s.b": 5,
        "s.`in.ner`.y": 3,
        "struct(s.b, s.`in.ner`.b)": (5, 4),
        "l.b": [5, 5],
        "l[1].`in.ner`.y": 3,
        "m['x'].b": 5,
    }.items():
        assert [row[0] for row in kept.selectExpr(asked).collect()] == [answer]
    assert kept.where("s.b = 5 AND s.`in.ner`.y = 3").count() == 1
    assert kept.where("`s.b` = 7").count() == 1
    assert kept.where("`s.b` = 5").count() == 0


_CENTS = [Decimal("1.25"), Decimal("-999.99"), None, Decimal("999.99"), Decimal("0.00")]


@in_threads
@pytest.mark.parametrize(
    ("have", "want", "by_spark", "as_integers"),
    [
        *((5, 9, True, False), (5, 9, True, True), (12, 18, True, True)),
        *((20, 38, True, False), (9, 10, False, True), (18, 19, False, False)),
    ],
)
def test_decimals_of_masked_files_become_wider(
    session: Any, have: int, want: int, by_spark: bool, as_integers: bool, tmp_path: Path
) -> None:
    """Spark's reader widens them; values beyond a file's digits are not cut off in its ranges."""
    kind = pa.decimal128(want, 2)
    rows = pa.table({"k": range(5), "d": pa.array(_CENTS, pa.decimal128(have, 2))})
    unit = write_unit(tmp_path, "f", rows, [0], group_rows=2, store_decimal_as_integer=as_integers)
    schema = pa.schema([("k", pa.int64()), ("d", kind)])
    scan = UnitScan(plan(schema, unit), schema.names)
    assert (scan.masked_part(0, ["d"], None).file is not None) == by_spark
    frame = scan.spark_frame(session)
    left = list(enumerate(_CENTS))[1:]
    assert frame.schema["d"].dataType.precision == want
    assert sorted(map(tuple, frame.collect())) == left
    most = "9" * (want - 2)
    for asked in (Decimal(most), Decimal(f"-{most}"), Decimal("999.99")):
        for sign, holds in (("<", operator.lt), (">=", operator.ge)):
            met = [k for k, d in left if d is not None and holds(d, asked)]
            found = frame.where(f"d {sign} CAST('{asked}' AS DECIMAL({want},2))")
            assert sorted(row.k for row in found.select("k").collect()) == met, (sign, asked)


@in_threads
@pytest.mark.parametrize("found", ["K", None], ids=["renamed", "dropped"])
def test_columns_of_masked_files_in_other_letters_are_told_apart(
    session: Any, found: str | None, tmp_path: Path
) -> None:
    """Spark takes a file's K for the table's k: it is that if the table says so, else k is null."""
    rows = pa.table({"K": [7, 8, 9], "v": ["a", "b", "c"]})
    schema = pa.schema([("k", pa.int64()), ("v", pa.string())])
    unit = write_unit(tmp_path, "f", rows, [1], names={"k": found})
    scan = UnitScan(plan(schema, unit), schema.names)
    frame = scan.spark_frame(session)
    left = [(7, "a"), (9, "c")] if found else [(None, "a"), (None, "c")]
    assert sorted(map(tuple, frame.collect()), key=lambda row: row[1]) == left
    for asked in ("k", "v", "k, v"):
        for condition, met in {
            "true": left,
            "k = 9": left[1:] if found else [],
            "k = 8": [],
            "k IS NULL": [] if found else left,
            "v >= 'b'": left[1:],
        }.items():
            names = asked.split(", ")
            shown = [
                tuple(value for n, value in zip("kv", row, strict=True) if n in names)
                for row in met
            ]
            query = frame.where(condition).selectExpr(*names)
            assert sorted(map(tuple, query.collect()), key=repr) == sorted(shown, key=repr)


@in_threads
@pytest.mark.parametrize(
    ("name", "gone"),
    [
        *(("_f", None), ("_f", [1]), (".f", [1]), ("f._COPYING_", None), ("f\\f", [1])),
        *(("f\\f", None), ("f:f", None), ("f:f", [1]), ("_f=f", [1])),
    ],
)
def test_no_file_is_passed_over_for_its_name(
    session: Any, gone: list[int] | None, name: str, tmp_path: Path
) -> None:
    """Spark leaves out what it takes for hidden or half copied; a backslash is a glob's for it."""
    rows = pa.table({"k": [0, 1, 2]})
    units = [
        write_unit(tmp_path, name, rows, gone),
        write_unit(tmp_path, "ff", pa.table({"k": [7]})),
    ]
    frame = UnitScan(plan(rows.schema, *units), ["k"]).spark_frame(session)
    left = [0, 1, 2, 7] if gone is None else [0, 2, 7]
    assert sorted(row.k for row in frame.collect()) == left
    assert frame.where("k = 2").count() == 1


@in_threads
@pytest.mark.parametrize("name", ["a b", "a%20b#c=d,e"])
def test_files_lie_on_this_machine_whatever_else_a_cluster_has(
    session: Any, name: str, tmp_path: Path
) -> None:
    """Paths without a scheme are those of the cluster's file system, and names are no addresses."""
    unit = write_unit(tmp_path, name, pa.table({"k": [0, 1, 2]}))
    scan = UnitScan(plan(pa.schema([("k", pa.int64())]), unit), ["k"])
    hadoop = session.sparkContext._jsc.hadoopConfiguration()
    known = hadoop.get("fs.defaultFS")
    hadoop.set("fs.defaultFS", "hdfs://elsewhere.invalid:8020")
    try:
        frame = scan.spark_frame(session)
        assert "FileScan parquet" in frame._jdf.queryExecution().toString()
        assert [row.k for row in frame.collect()] == [0, 1, 2]
    finally:
        hadoop.set("fs.defaultFS", known)


@in_threads
@pytest.mark.parametrize("gone", [None, [1]])
@pytest.mark.parametrize("damage", ["missing", "cut"])
def test_a_session_that_puts_up_with_damage_loses_no_row(
    session: Any, gone: list[int] | None, damage: str, tmp_path: Path
) -> None:
    """Files that are gone or damaged meanwhile end a query, whatever a session says of its own."""
    rows = pa.table({"k": [0, 1, 2]})
    unit = write_unit(tmp_path, "f", rows, gone)
    frame = UnitScan(plan(rows.schema, unit), ["k"]).spark_frame(session)
    lenient = ["spark.sql.files.ignoreCorruptFiles", "spark.sql.files.ignoreMissingFiles"]
    for name in lenient:
        session.conf.set(name, "true")
    try:
        if damage == "missing":
            (tmp_path / "f").unlink()
        else:
            (tmp_path / "f").write_bytes((tmp_path / "f").read_bytes()[:-9])
        with pytest.raises(Exception, match=str(tmp_path / "f")):
            frame.collect()
    finally:
        for name in lenient:
            session.conf.unset(name)


@in_threads
@pytest.mark.parametrize(("kind", "gone"), [(pa.time32("ms"), [1]), (pa.time64("us"), None)])
def test_times_of_day_are_integers_of_files_and_of_partitions(
    session: Any, gone: list[int] | None, kind: pa.DataType, tmp_path: Path
) -> None:
    """A partition's is the integer that a file's is, and each is found by it."""
    times = pa.array([5, 6, None], pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind)
    unit = write_unit(tmp_path, "f", pa.table({"t": times}), gone, partition={"p": times[1]})
    schema = pa.schema([("t", kind), ("p", kind)])
    frame = UnitScan(plan(schema, unit), schema.names).spark_frame(session)
    left = [(5, 6), (None, 6)] if gone else [(5, 6), (6, 6), (None, 6)]
    assert [tuple(row) for row in frame.collect()] == left
    for condition, count in {"t = 5": 1, "t IN (4, 5)": 1, "p < 6": 0, "p = 6": len(left)}.items():
        assert frame.where(condition).count() == count, condition


@in_threads
def test_a_filter_of_a_partition_by_a_name_in_quotes_is_none_of_the_file(
    session: Any, tmp_path: Path
) -> None:
    """A masked file may hold other values under the name: its ranges say nothing of the table's."""
    rows = pa.table({"k": [0, 1, 2], "p.q": [7, 8, 9]})
    unit = write_unit(tmp_path, "f", rows, [1], partition={"p.q": pa.scalar(1)})
    scan = UnitScan(plan(rows.schema, unit), rows.schema.names)
    frame = scan.spark_frame(session)
    assert [tuple(row) for row in frame.where("`p.q` = 1").collect()] == [(0, 1), (2, 1)]
    assert frame.where("`p.q` = 7").count() == 0


@in_threads
def test_scans_under_other_filters_are_others(session: Any, tmp_path: Path) -> None:
    """Spark may read once what is the same, and row groups are left out by filters of all kinds."""
    frame = _unpack("mor-v9-event", tmp_path).scan().spark_frame(session)

    def scan(condition: str) -> Any:
        plan = frame.where(condition)._jdf.queryExecution().optimizedPlan()
        return plan.collectLeaves().head().scan()

    one = scan("v LIKE 'a%'")
    assert one.equals(scan("v LIKE 'a%'"))
    assert one.hashCode() == scan("v LIKE 'a%'").hashCode()
    assert not one.equals(scan("v LIKE 'b%'"))


@in_threads
@pytest.mark.parametrize("unit", ["us", "ms"])
@pytest.mark.parametrize("reader", ["file", "masked file", "ours"])
def test_times_without_a_zone_are_what_the_clock_showed(
    session: Any, reader: str, unit: str, tmp_path: Path
) -> None:
    """Not an instant that a session shows by its own zone: of files, of rows of ours, of values."""
    showed = dt.datetime(2024, 2, 29, 12, 34, 56, 123_000)
    kind = pa.timestamp(unit)
    rows = pa.table({"t": pa.array([showed, None], kind), "s": pa.array([{"t": showed}, None])})
    rows = rows.set_column(1, "s", rows["s"].cast(pa.struct([("t", kind)])))
    gone = [1] if reader == "masked file" else None
    name = "taken for a pattern [1]" if reader == "ours" else "f"
    unit_ = write_unit(tmp_path, name, rows, gone, partition={"p": pa.scalar(showed, kind)})
    schema = pa.schema([*rows.schema, ("p", kind)])
    frame = UnitScan(plan(schema, unit_), schema.names).spark_frame(session)
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        found = frame.selectExpr("string(t)", "string(s.t)", "string(p)", "hour(t)").first()
        assert tuple(found) == ("2024-02-29 12:34:56.123",) * 3 + (12,)
        assert frame.where("t = TIMESTAMP_NTZ '2024-02-29 12:34:56.123'").count() == 1
        assert frame.where("p < TIMESTAMP_NTZ '2024-02-29 12:34:56'").count() == 0
    finally:
        session.conf.unset("spark.sql.session.timeZone")


@in_threads
def test_workers_keep_on_disk_what_the_driver_does(session: Any, tmp_path: Path) -> None:
    """From the frames that it makes then on, until it is turned off; damage costs no row."""
    table, folder = _unpack("mor-v9-types", tmp_path / "table"), tmp_path / "kept"

    def read(most_bytes: str) -> list[str]:
        session.conf.set(KEPT_BYTES, most_bytes)
        return sorted(map(repr, table.scan().spark_frame(session).collect()))

    expected = read("0")
    try:
        keep_on_disk(folder)
        assert read("0") == expected
        assert not [*folder.iterdir()]
        assert read("1000000") == expected
        kept = [*folder.iterdir()]
        assert kept
        for path in kept:
            path.write_bytes(path.read_bytes()[:-1])
        assert [read("0"), read("1000000")] == [expected] * 2
        keep_on_disk(None)
        for path in folder.iterdir():
            path.unlink()
        assert [read("0"), read("1000000")] == [expected] * 2
        assert not [*folder.iterdir()]
    finally:
        session.conf.unset(KEPT_BYTES)
        keep_on_disk(None)


@in_threads
def test_what_workers_keep_is_a_setting_of_the_session(session: Any, tmp_path: Path) -> None:
    """A number of bytes, 0 for nothing; anything else is refused before a task starts."""
    scan = _unpack("mor-v9-event", tmp_path).scan()
    expected = sorted(map(repr, scan.spark_frame(session).collect()))
    try:
        session.conf.set(KEPT_BYTES, "0")
        frame = scan.spark_frame(session)
        assert [sorted(map(repr, frame.collect())) for _ in range(2)] == [expected] * 2
        session.conf.set(KEPT_BYTES, "1g")
        with pytest.raises(
            UsageError, match=r"spark\.seamkit\.keptBytes is '1g': a number of bytes"
        ):
            scan.spark_frame(session)
    finally:
        session.conf.unset(KEPT_BYTES)


@in_threads
def test_days_and_moments_of_partitions_reach_spark(session: Any, tmp_path: Path) -> None:
    """Those of the first and the last year, too; by Delta's table, in Spark's spelling of them."""
    scan = DeltaTable(str(unpack_delta("partitions-times", tmp_path))).scan()
    assert " engine " in scan.explain(engine=True)
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    frame = scan.spark_frame(session)
    texts = [f"CAST({each} AS STRING)" for each in ("k", "d", "unix_micros(t)", "z")]
    rows = sorted(map(tuple, frame.selectExpr(*texts).collect()))
    session.conf.unset("spark.sql.session.timeZone")
    assert rows == [
        ("1", "2024-02-29", "1709210096789012", "2024-02-29 12:34:56.789012"),
        ("2", "0001-01-01", "-1", "1582-10-04 00:00:00"),
        ("3", None, None, None),
        ("4", "9999-12-31", "1704067200000000", "2024-01-01 00:00:00"),
    ]


@in_threads
def test_columns_and_filters_of_a_query_reach_our_reader(session: Any, tmp_path: Path) -> None:
    """A query reads the columns that it names and leaves out rows below Spark, by all its kinds."""
    scan = _unpack("mor-v9-types", tmp_path).scan()
    table = scan.to_table()
    frame = scan.spark_frame(session)
    values = sorted(v for v in table.column("l").to_pylist() if v is not None)
    middle = values[len(values) // 2]
    kept = frame.where(f"l >= {middle} AND (l IN ({values[-1]}, {middle}) OR l = 7)").select("s")
    plan = kept._jdf.queryExecution().executedPlan().toString()
    assert f'["GreaterThanOrEqual","l","{middle}"]' in plan
    assert f'["In","l","{values[-1]}","{middle}"]' in plan or '["EqualTo","l"' in plan
    read = next(line for line in plan.splitlines() if "seamkit parts" in line)
    assert "m38" not in read.split("filters")[0]
    rows = zip(table.column("l").to_pylist(), table.column("s").to_pylist(), strict=True)
    expected = [s for value, s in rows if value in {values[-1], middle, 7} and value >= middle]
    assert _ordered(row[0] for row in kept.collect()) == _ordered(expected)
    assert frame.count() == table.num_rows


@in_threads
def test_spark_plans_by_the_rows_that_the_metadata_tells(session: Any, tmp_path: Path) -> None:
    """Sorted runs of a Paimon table are merged: there are at most all of their rows."""
    scan: Any = open_table(unpack("paimon/pk-write-only", tmp_path)).scan()
    plan = scan.spark_frame(session)._jdf.queryExecution().optimizedPlan()
    stats = plan.collectLeaves().head().stats()
    assert stats.rowCount().get() == scan.statistics().rows.value


@in_threads
def test_an_error_of_a_task_names_its_class_in_a_data_frame(session: Any, tmp_path: Path) -> None:
    """A file that is gone when a task reads it: the exception of Spark holds our sentence."""
    table = _unpack("mor-v9-event", tmp_path)
    frame = table.scan().spark_frame(session)
    next(Path(table.full("")).glob("*.parquet")).unlink()
    with pytest.raises(Exception, match=r"seambase\.errors\.InputError: .*\.parquet"):
        frame.collect()


@pytest.mark.filterwarnings("ignore::seambase.scan.TableWarning")
@in_threads
def test_what_tasks_skip_is_told_on_the_driver(session: Any, tmp_path: Path) -> None:
    """A warning of a task reaches the report of the scan."""
    table = _unpack("mor-v9-event", tmp_path)
    log = next(Path(table.full("")).rglob(".*.log.1_*"))
    log.write_bytes(log.read_bytes() + bytes.fromhex("00112233445566778899aabbccddeeff"))
    scan = SparkScan(table.scan(), session)
    scan.to_reader().read_all()
    assert [warning.file for warning in scan.report().warnings] == [str(log)]


def test_an_error_of_a_task_keeps_its_name_and_sentence(session: Any, tmp_path: Path) -> None:
    """A file that is gone when a task reads it is the same error as in a local scan."""
    table = _unpack("mor-v9-event", tmp_path)
    scan = SparkScan(table.scan(), session)
    next(Path(table.full("")).glob("*.parquet")).unlink()
    with pytest.raises(InputError, match=r"\.parquet"):
        scan.to_reader().read_all()


@in_threads
def test_a_scanner_plans_on_the_driver(session: Any, tmp_path: Path) -> None:
    """A refusal of the plan is raised before any task starts; a good plan is read."""
    table = _unpack("mor-v9-event", tmp_path)
    scanner = SparkScanner(AutoReader(), session)
    scan = scanner.open(ScanRequest(table=table.full("")))
    assert scan.to_reader().read_all().num_rows == table.scan().to_table().num_rows


@in_threads
def test_scans_that_cannot_be_cut_are_refused(session: Any) -> None:
    """A scanner without parts cannot run on Spark, and the refusal says what can."""

    class Whole(AutoReader):
        def open(self, request: ScanRequest) -> Any:
            del request
            return object()

    with pytest.raises(RefusedError, match="cannot be cut into parts"):
        SparkScanner(Whole(), session).open(ScanRequest(table="anywhere"))


@in_threads
def test_the_documents_block_runs(
    session: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A scan becomes a DataFrame as docs/spark.md says in its first block."""
    columns = {"o_orderkey": "bigint", "o_totalprice": "double"}
    folder = text_table(tmp_path, columns, "7|1\n7|1\n8|1\n")
    block = python_blocks("docs/spark.md")[0]
    exec(block.replace("/data/orders", str(folder)), {"spark": session})  # noqa: S102
    shown = re.findall(r"^\|\s*(\d+)\|\s*(\d+)\|$", capsys.readouterr().out, re.MULTILINE)
    assert sorted(shown) == [("7", "2"), ("8", "1")]
