"""Base files in ORC, written by pyarrow: types, zones, damage, also of footers."""

import datetime as dt
import io
import json
import resource
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from pyarrow import orc

from seambase.errors import InputError, RefusedError, SeambenchError
from seamkit.core.unpack import Bound
from seamkit.files.clocks import shown_by_java
from seamkit.files.footers.orc_footer import OrcFooter
from seamkit.files.orc import OrcReader
from seamkit.files.reader import RowsWanted
from seamkit.files.storage import Storage, read_part
from seamkit.tables.hudi.base_files import open_base
from seamkit_tests.samples.apart import apart

NOON = dt.datetime(2020, 7, 1, 12, 0, 0, 123456)
UTC = dt.UTC


def read(
    folder: Path, table: pa.Table, schema: pa.Schema, rows: int = 1000, **options: Any
) -> pa.Table:
    """What a reader makes of a table written as ORC."""
    orc.write_table(table, str(folder / "a_1-0-1_1.orc"), **options)
    reader = open_base(Storage(str(folder)), "a_1-0-1_1.orc")
    batches = list(reader.batches(schema, rows, use_threads=False))
    assert all(batch.num_rows <= rows for batch in batches)
    result = pa.Table.from_batches(batches, schema)
    result.validate(full=True)
    return result


# Type in the file, type of the table, value as written and as read.
TYPES: list[tuple[pa.DataType, pa.DataType, Any, Any]] = [
    (pa.int32(), pa.int64(), 7, 7),
    (pa.float32(), pa.float64(), 0.3, 0.3),
    (pa.string(), pa.string(), "é", "é"),
    (pa.binary(), pa.binary(2), b"ab", b"ab"),
    (pa.date32(), pa.date32(), dt.date(1969, 12, 31), dt.date(1969, 12, 31)),
    (pa.int32(), pa.time32("ms"), 3_723_004, dt.time(1, 2, 3, 4000)),
    (pa.int64(), pa.time64("us"), 3_723_000_004, dt.time(1, 2, 3, 4)),
    (pa.int64(), pa.timestamp("us"), 1, dt.datetime(1970, 1, 1, 0, 0, 0, 1)),
    (pa.timestamp("ns"), pa.timestamp("us", "UTC"), NOON, NOON.replace(tzinfo=UTC)),
    (pa.timestamp("ns"), pa.timestamp("us"), NOON, NOON),
    (
        pa.list_(pa.struct([("t", pa.timestamp("ns")), ("gone", pa.int8())])),
        pa.list_(pa.struct([("new", pa.int32()), ("t", pa.timestamp("us", "UTC"))])),
        [{"t": NOON, "gone": 1}, None],
        [{"new": None, "t": NOON.replace(tzinfo=UTC)}, None],
    ),
    (pa.map_(pa.string(), pa.int32()), pa.map_(pa.string(), pa.int64()), {"a": 1, "b": None},
     {"a": 1, "b": None}),
]  # fmt: skip


@pytest.mark.parametrize(("have", "want", "value", "expected"), TYPES)
@pytest.mark.parametrize("rows", [1, 1000])
def test_types(
    tmp_path: Path, have: pa.DataType, want: pa.DataType, value: Any, expected: Any, rows: int
) -> None:
    """Columns come in the table's types; ORC's integers become the times that they stand for."""
    table = pa.table({"x": pa.array([value, None, value], have), "unasked": [1, 2, 3]})
    schema = pa.schema([("gone", pa.string()), ("x", want)])
    result = read(tmp_path, table, schema, rows)
    as_read = pa.array([expected, None, expected], want)
    assert result.column("x").to_pylist() == as_read.to_pylist()
    assert result.column("gone").null_count == 3


@pytest.mark.parametrize("zones", [(None, None), (None, "UTC"), ("UTC", "UTC"), ("UTC", None)])
@pytest.mark.parametrize(("unit", "each"), [("us", 10**3), ("ms", 10**6), ("s", 10**9), ("ns", 1)])
def test_digits_below_a_unit_are_cut_off_before_1970_too(
    unit: str, each: int, zones: tuple[str | None, str | None], tmp_path: Path
) -> None:
    """As Spark and Iceberg floor ORC's nanoseconds: the last one of 1969 is of 1969."""
    numbers = [-1, -999, -1000, -(10**9) - 1, 0, None, 1, 1999, 10**18 + 1, -(9 * 10**18) - 1]
    have, want = (pa.timestamp(*one) for one in zip(("ns", unit), zones, strict=True))
    table = pa.table({"t": pa.array(numbers, pa.int64()).cast(have)})
    found = read(tmp_path, table, pa.schema([("t", want)]), rows=3)["t"].cast(pa.int64())
    assert found.to_pylist() == [None if one is None else one // each for one in numbers]


@pytest.mark.parametrize("compression", ["uncompressed", "zlib", "snappy", "zstd"])
def test_stripes_and_codecs(tmp_path: Path, compression: str) -> None:
    """Every stripe is read, and its zone found, whatever compresses the footers."""
    times = [NOON + dt.timedelta(seconds=i) for i in range(20_000)]
    table = pa.table({"t": pa.array(times, pa.timestamp("ns"))})
    schema = pa.schema([("t", pa.timestamp("us", "UTC"))])
    result = read(tmp_path, table, schema, compression=compression, stripe_size=4096)
    assert result.column("t").to_pylist() == [time.replace(tzinfo=UTC) for time in times]


def test_timestamps_are_the_clock_on_the_wall_of_the_writer(tmp_path: Path) -> None:
    """A footer that names the zone EST makes noon 17:00 in UTC (ORC specification v1).

    Without a zone noon is noon.
    """
    table = pa.table({"t": pa.array([NOON], pa.timestamp("ns"))})
    path = tmp_path / "a_1-0-1_1.orc"
    orc.write_table(table, str(path), compression="uncompressed")
    content = path.read_bytes()
    assert content.count(b"GMT") == 1
    path.write_bytes(content.replace(b"GMT", b"EST"))
    reader = open_base(Storage(str(tmp_path)), path.name)
    for zone, shown in (("UTC", NOON.replace(hour=17, tzinfo=UTC)), (None, NOON)):
        schema = pa.schema([("t", pa.timestamp("us", zone))])
        (batch,) = reader.batches(schema, 10, use_threads=False)
        assert batch.column("t").to_pylist() == [shown]


def in_zone(folder: Path, kind: pa.DataType, value: Any, zone: bytes = b"EST") -> Path:
    """A file whose stripe names a zone."""
    path = folder / "a.orc"
    table = pa.table({"t": pa.array([value, None], kind)})
    orc.write_table(table, str(path), compression="uncompressed")
    content = path.read_bytes()
    assert content.count(b"GMT") == 1
    path.write_bytes(content.replace(b"GMT", zone))
    return path


INSTANT = pa.timestamp("ns", "UTC")
NOON_IN_UTC = NOON.replace(tzinfo=UTC)
SHOWN = NOON_IN_UTC.replace(hour=7)

# Type in the file, value as written, by the clock and by UTC.
CLOCKS: list[tuple[pa.DataType, Any, Any, Any]] = [
    (INSTANT, NOON_IN_UTC, SHOWN, NOON_IN_UTC),
    (pa.list_(INSTANT), [NOON_IN_UTC, None], [SHOWN, None], [NOON_IN_UTC, None]),
    (pa.timestamp("ns"), NOON, NOON_IN_UTC, NOON_IN_UTC.replace(hour=17)),
    (INSTANT, None, None, None),
]


@pytest.mark.parametrize(("have", "value", "by_clock", "by_utc"), CLOCKS)
def test_instants_are_what_the_writers_clock_shows(
    tmp_path: Path, have: pa.DataType, value: Any, by_clock: Any, by_utc: Any
) -> None:
    """So Java has it, where the format says so: a clock of EST shows 7:00 at noon in UTC."""
    kind = pa.timestamp("us", "UTC")
    schema = pa.schema([("t", pa.list_(kind) if pa.types.is_list(have) else kind)])
    path = in_zone(tmp_path, have, value)
    for option, expected in ((True, by_clock), (False, by_utc)):
        reader = OrcReader(Storage(str(tmp_path)), path.name, by_clock=option)
        (batch,) = reader.batches(schema, 10, use_threads=False)
        assert batch.column("t").to_pylist() == [expected, None]


def test_times_without_a_zone_stay_as_they_are(tmp_path: Path) -> None:
    """No clock shows others."""
    schema = pa.schema([("t", pa.timestamp("us"))])
    path = in_zone(tmp_path, pa.timestamp("ns"), NOON)
    reader = OrcReader(Storage(str(tmp_path)), path.name, by_clock=True)
    (batch,) = reader.batches(schema, 10, use_threads=False)
    assert batch.column("t").to_pylist() == [NOON, None]


@pytest.mark.parametrize("kind", [INSTANT, pa.timestamp("ns")], ids=str)
def test_zones_that_are_not_known_are_refused(tmp_path: Path, kind: pa.DataType) -> None:
    """The file is not broken: databases of zones differ."""
    path = in_zone(tmp_path, kind, NOON, b"XYZ")
    reader = OrcReader(Storage(str(tmp_path)), path.name, by_clock=True)
    with pytest.raises(RefusedError, match=r"zone .* not known"):
        list(reader.batches(pa.schema([("t", pa.timestamp("us", "UTC"))]), 10, use_threads=False))


@pytest.mark.parametrize(
    ("zones", "shown"), [([""], 12), (["Z"], 12), (["EST"], 7), (["", "EST"], None)]
)
def test_ranges_of_instants_are_those_that_are_shown(
    zones: list[str], shown: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As stored where no stripe names a zone; none of instants that are by UTC."""
    path = in_zone(tmp_path, INSTANT, NOON_IN_UTC)
    monkeypatch.setattr(OrcFooter, "zones", lambda _: zones)
    assert OrcReader(Storage(str(tmp_path)), path.name).instants() == {}
    reader = OrcReader(Storage(str(tmp_path)), path.name, by_clock=True)
    found = [end.as_py() for ends in reader.instants().values() for end in ends]
    end = NOON.replace(hour=shown or 0, microsecond=123000)
    assert found == [end] * (2 if shown else 0)


@pytest.mark.parametrize(("zone", "is_read"), [(b"EST", False), (b"GMT", True)])
def test_instants_that_java_shows_by_offsets_of_its_own(
    zone: bytes, is_read: bool, tmp_path: Path
) -> None:
    """Its zones begin with 1900; UTC is what it always was."""
    schema = pa.schema([("t", pa.timestamp("us", "UTC"))])
    first = dt.datetime(1900, 1, 1, tzinfo=UTC)
    for time in (first, first - dt.timedelta(microseconds=1)):
        path = in_zone(tmp_path, INSTANT, time, zone)
        reader = OrcReader(Storage(str(tmp_path)), path.name, by_clock=True)
        batches = reader.batches(schema, 10, use_threads=False)
        if is_read or time == first:
            assert next(iter(batches)).num_rows == 2
        else:
            with pytest.raises(RefusedError, match="it has instants before 1900"):
                next(iter(batches))


_GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize("unit", ["us", "ns"])
@pytest.mark.parametrize("name", ["east", "middle", "west"])
def test_times_are_what_java_showed(name: str, unit: str) -> None:
    """Spark wrote them in a zone, and Hive's reader of ORC shows them: see `make_orc_times`.

    Fractions before 1970 are those before it by UTC. Before 1900 Java's clocks are as far ahead as
    today, and for some years behind it as they were by each place's noon.
    """
    folder, file = _GOLDEN, f"orc-times-{name}.orc"
    shown = json.loads((folder / file).with_suffix(".json").read_text(encoding="utf-8"))
    kind = pa.timestamp(unit)
    schema = pa.schema([("k", pa.int32()), ("a", pa.list_(kind)), ("t", kind)])
    for rows in (1, 100):
        batches = OrcReader(Storage(str(folder)), file).batches(schema, rows, use_threads=False)
        found = pa.Table.from_batches(batches, schema)
        for k, items, time in zip(*found.to_pydict().values(), strict=True):
            text = shown[str(k)]
            expected = text and pa.scalar(dt.datetime.fromisoformat(text)).cast(kind, safe=False)
            assert time == (text and expected.as_py()), (k, text)
            assert items == (text and [time, None])


@pytest.mark.parametrize(
    ("zone", "begin", "by_rule"),
    [("Asia/Shanghai", -2177481943, 8), ("America/Sao_Paulo", -1767214412, -3)],
)
def test_clocks_before_the_first_rule_of_a_zone(zone: str, begin: int, by_rule: int) -> None:
    """From 1900 to that rule they went by the place's noon, as the database of zones says."""
    seconds = [begin + more for more in (-86400, -400, -2, -1, 0, 1, 400, 86400)]
    instants = [dt.datetime.fromtimestamp(second, dt.UTC) for second in seconds]
    given = [one.replace(tzinfo=None) + dt.timedelta(hours=by_rule) for one in instants]
    shown = shown_by_java(pa.array(given, pa.timestamp("ns")), zone, "")
    wanted = [one.astimezone(ZoneInfo(zone)).replace(tzinfo=None) for one in instants]
    assert shown.cast(pa.timestamp("us")).to_pylist() == wanted
    assert wanted[3] != given[3]


@pytest.mark.parametrize("year", [1, 1677, 2263, 9999])
def test_times_that_nanoseconds_do_not_reach_are_refused_as_such(tmp_path: Path, year: int) -> None:
    """The file is not broken: pyarrow has ORC's times in nanoseconds alone."""
    kind = pa.timestamp("us", "UTC")
    table = pa.table({"ts": pa.array([dt.datetime(year, 1, 1, tzinfo=dt.UTC)], kind)})
    with pytest.raises(RefusedError, match="has a time before 1677-09-21 or after 2262-04-11"):
        read(tmp_path, table, table.schema)


def test_a_count_reads_no_column(tmp_path: Path) -> None:
    """Without columns the rows are still there."""
    result = read(tmp_path, pa.table({"x": range(5)}), pa.schema([("gone", pa.int32())]), 2)
    assert result.num_rows == 5


@pytest.mark.parametrize(
    ("name", "content", "error", "message"),
    [
        ("a_1-0-1_1.orc", b"ORC", InputError, "not readable as ORC"),
        ("a_1-0-1_1.parquet", b"PAR1", InputError, "not readable as Parquet"),
        ("a_1-0-1_1.hfile", b"", RefusedError, "base files of format 'hfile' are not supported"),
    ],
)
def test_what_is_no_base_file_is_refused(
    tmp_path: Path, name: str, content: bytes, error: type[Exception], message: str
) -> None:
    """A broken file and an unknown format are named."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(error, match=f"{name}: .*{message}"):
        open_base(Storage(str(tmp_path)), name)


def flip(path: Path, begin: int) -> dict[str, int]:
    """How often a file is refused, or which rows it has, with bits flipped from a place on."""
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    whole = path.read_bytes()
    storage = Storage(str(path.parent)).within(1 << 24, strict=False)

    def rows(data: bytes) -> Any:
        path.write_bytes(data)
        reader = OrcReader(storage, path.name)
        batches = reader.read(RowsWanted(reader.schema, 1000, False))
        return pa.Table.from_batches(batches, reader.schema).to_pylist()

    expected = rows(whole)
    found = {"refused": 0, "same": 0, "other": 0}
    for at in range(begin, len(whole)):
        for flipped in (1 << at % 8, 0x10, 0xFF):
            damaged = bytearray(whole)
            damaged[at] ^= flipped
            try:
                found["same" if rows(bytes(damaged)) == expected else "other"] += 1
            except SeambenchError as error:
                found["refused"] += bool(str(error))
    return found


_ROWS = pa.table(
    {
        "number": [1, 2, None],
        "time": [dt.datetime(2020, 1, 1), None, dt.datetime(1900, 1, 1)],
        "list": [["a", None], [], None],
        "map": pa.array([[("k", 1.5)], None, []], pa.map_(pa.string(), pa.float64())),
        "struct": [{"d": b"x"}, {"d": None}, None],
    }
)


@pytest.mark.parametrize(
    "compression", ["uncompressed", "zlib", pytest.param("lz4", marks=pytest.mark.slow)]
)
def test_no_flip_in_the_tail_ends_the_process(compression: str, tmp_path: Path) -> None:
    """Each byte of the stripes' footers and statistics, the footer and the postscript, flipped.

    What still is a footer may tell of other columns, or of fewer rows of a type that has no more.
    """
    path = tmp_path / "a.orc"
    orc.write_table(_ROWS, str(path), compression=compression)
    opened = orc.ORCFile(str(path))
    tail = opened.file_footer_length + opened.stripe_statistics_length
    begin = path.stat().st_size - tail - opened.file_postscript_length - 150
    found = apart(flip, path, max(3, begin))
    assert found["refused"] > 100
    assert found["same"] > 50


class _Sizes(Bound):
    """Notes what stripes are said to become."""

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "found", {})

    def check(self, size: int, packed: int | None, where: str) -> None:
        del packed
        self.__dict__["found"][where] = size


@pytest.mark.parametrize("compression", ["uncompressed", "zlib"])
@pytest.mark.parametrize("names", [["texts"], ["map"], ["list", "number"], ["bytes", "map"]])
def test_a_stripes_size_is_that_of_its_columns(compression: str, names: list[str]) -> None:
    """Of columns without nulls, what Arrow takes for them but for one offset a nested column."""
    count = 5000
    entries = [("key", {"a": 1, "b": "value" * 9})] * 4
    entry = pa.map_(pa.string(), pa.struct([("a", pa.int64()), ("b", pa.string())]))
    rows = pa.table(
        {
            "map": pa.array([entries] * count, entry),
            "number": list(range(count)),
            "texts": [f"{number:030}" for number in range(count)],
            "list": [[1, 2, 3]] * count,
            "bytes": [b"x" * 100] * count,
        }
    )
    out = io.BytesIO()
    orc.write_table(rows, out, compression=compression)
    content = pa.BufferReader(out.getvalue())
    opened = orc.ORCFile(content)
    bound = _Sizes()
    OrcFooter(opened, partial(read_part, content), "a").check_sizes(names, bound)
    whole = opened.read(columns=names).combine_chunks()
    assert bound.__dict__["found"]["a, stripe 0"] == pytest.approx(whole.nbytes, rel=0.01)
