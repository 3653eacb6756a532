"""Bounds that writers are known to get wrong: nothing is left out by them that is there."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from seambase.errors import InputError
from seamkit.files.statistics import that_may_match
from seamkit.tables.iceberg.metadata.document import PartitionField, PartitionSpec
from seamkit.tables.iceberg.metadata.manifests import PartitionSummary
from seamkit.tables.iceberg.metadata.schema import Field
from seamkit.tables.iceberg.pruning import manifest_guarantee
from seamkit.tables.iceberg.table import IcebergTable
from seamkit_tests.iceberg.test_manifests import Entries, _rewrite, _summarise
from seamkit_tests.samples.iceberg_tables import (
    MadeCommit,
    MadeFile,
    MadeTable,
    field_of,
    stats_of,
    unpack_iceberg,
)

_TEXT: dict[str, Any] = field_of("s", "string", 1)
_LEAST = "abcdefghijklmno"  # Java's encoder has room for a byte more


def _texts(*values: str, kind: str = "string") -> pa.Table:
    return pa.table({"s": pa.array(values, "binary" if kind == "binary" else "string")})


@pytest.mark.parametrize("kind", ["string", "binary"])
@pytest.mark.parametrize("zeros", [1, 3])
def test_zeros_behind_a_lower_bound_are_no_part_of_it(
    zeros: int, kind: str, tmp_path: Path
) -> None:
    """As Apache Beam wrote them up to 2.73: the least value lies below the bound (beam#38580)."""
    table = MadeTable(tmp_path / "t", [{**_TEXT, "type": kind}])
    least = _LEAST.encode() + bytes(zeros)
    for name, values in (("a", [_LEAST]), ("b", [_LEAST, "b"])):
        rows = _texts(*values, kind=kind)
        upper = max(values).encode() + bytes(zeros)
        table.commit(
            MadeCommit([MadeFile(name, rows, changed=stats_of(rows.num_rows, least, upper))])
        )
    opened = IcebergTable(str(table.folder))
    assert opened.scan().count_rows() == 3
    assert len(opened.scan(strict=True).to_table()) == 3
    text = pa.scalar(_LEAST.encode() if kind == "binary" else _LEAST)
    for test, count in (
        (pc.field("s") == text, 2),
        (pc.field("s") <= text, 2),
        (pc.field("s") < text, 0),
        (pc.field("s") > text, 1),
    ):
        assert opened.scan(filter=test).count_rows() == count
    gone = MadeFile("d", rows.slice(0, 1), content=2, changed=stats_of(1, least[:15], least))
    table.commit(MadeCommit([gone], operation="delete"))
    assert IcebergTable(str(table.folder)).scan().count_rows() == 1


_PATH = 2147483546


@pytest.mark.parametrize(
    ("lower", "upper", "is_gone"),
    [
        ("{}", "{}", True),
        ("{}\0", "{}\0\0", True),
        ("{}z", "{}", True),  # in the wrong order (ClickHouse#118113)
        ("{}", "", True),
        ("", "{}", True),
        (None, "{}", True),
        ("{}\0", None, True),
        ("{}0", "{}1", False),
        ("{}0", "{}0", False),
        ("{}0", None, False),
        ("", "/", False),
        (None, "/", False),
    ],
)
def test_a_position_delete_is_not_left_out_by_broken_bounds(
    lower: str | None, upper: str | None, *, is_gone: bool, tmp_path: Path
) -> None:
    """Rows would come back. Bounds between which the path does not lie leave a delete out."""
    table = MadeTable(tmp_path / "t", [_TEXT])
    table.commit(MadeCommit([MadeFile("a", _texts("x", "y"))]))
    path = table.path("a")
    ends = {"lower_bounds": lower, "upper_bounds": upper}
    changed = {
        name: [{"key": _PATH, "value": end.format(path).encode()}]
        for name, end in ends.items()
        if end is not None
    }
    table.commit(MadeCommit([table.deletes("d", "a", [0], changed=changed)], operation="delete"))
    found = IcebergTable(str(table.folder)).scan().to_table()["s"].to_pylist()
    assert found == (["y"] if is_gone else ["x", "y"])


_CUT = "0123456789abcdef"  # 16 bytes
_SPEC = [{"name": "p", "transform": "identity", "source-id": 1, "field-id": 1000}]


def test_a_greatest_partition_that_is_cut_leaves_no_manifest_out(tmp_path: Path) -> None:
    """DuckDB up to 1.5.3 cut it to 16 bytes and did not round it up (duckdb-iceberg#1047)."""
    table = MadeTable(tmp_path / "t", [_TEXT], _SPEC)
    long, other = f"{_CUT}-more", "zzz"
    for value in (long, other):
        table.commit(MadeCommit([MadeFile(value, _texts(value), {"p": value})], {"p": "string"}))
    ends = [(_CUT.encode(), _CUT.encode()), (b"zzz", b"zzz")]
    _summarise(table.folder / "metadata/snap-2.avro", ends)
    opened = IcebergTable(str(table.folder))
    for value, found, manifests in ((long, 1, 1), (other, 1, 1), ("a", 0, 2)):
        scan = opened.scan(filter=pc.field("s") == value)
        assert scan.count_rows() == found
        assert f"{manifests} manifest" in scan.explain(), value
    assert len(opened.scan(strict=True).to_table()) == 2


@pytest.mark.parametrize("kind", ["binary", "fixed[2]"])
def test_bounds_of_bytes_in_a_list_leave_no_manifest_out(kind: str, tmp_path: Path) -> None:
    """Iceberg's library up to 1.10.1 made them of deleted files' buffers (iceberg#15128)."""
    table = MadeTable(tmp_path / "t", [{**_TEXT, "type": kind}], _SPEC)
    avro = "bytes" if kind == "binary" else {"type": "fixed", "name": "two", "size": 2}
    stored = pa.binary() if kind == "binary" else pa.binary(2)
    for value in (b"aa", None):
        rows = pa.table({"s": pa.array([value], stored)})
        own = MadeFile(f"{value!r}", rows, {"p": value})
        table.commit(MadeCommit([own], {"p": avro}))
    _summarise(table.folder / "metadata/snap-2.avro", [(b"bb", b"bb"), None])
    opened = IcebergTable(str(table.folder))
    for condition in (
        pc.field("s") == pa.scalar(b"aa", stored),
        pc.field("s") < pa.scalar(b"ab", stored),
        pc.field("s").is_valid(),
    ):
        assert opened.scan(filter=condition).to_table()["s"].to_pylist() == [b"aa"]
    assert "1 manifest" in opened.scan(filter=pc.field("s").is_valid()).explain()
    assert opened.scan(filter=pc.field("s").is_null()).count_rows() == 1


@pytest.mark.parametrize(
    ("upper", "beyond"),
    [
        (_CUT, "0123456789abcdeg"),
        ("0123456789abcde\ud7ff", "0123456789abcde\ue000"),
        ("0123456789abcde\U0010ffff", "0123456789abcdf"),
        ("\U0010ffff" * 4, None),
        ("012345678901", None),  # too short to be cut: the value itself is the last
    ],
)
def test_texts_that_begin_as_a_long_bound_may_lie_behind_it(upper: str, beyond: str | None) -> None:
    """And none that lies behind all of these."""
    spec = PartitionSpec(0, [PartitionField(1000, 1, "p", "identity")])
    whole = Field(1, "b", pa.binary(), required=False)
    summary = PartitionSummary(False, b"0", b"\xff" * 16)
    guarantee = manifest_guarantee([summary], spec, [whole])
    beyond_all = pc.field("b") == pa.scalar(b"\xff" * 17)
    assert that_may_match([guarantee], beyond_all, pa.schema([("b", pa.binary())])) == [0]
    field, schema = Field(1, "s", pa.string(), required=False), pa.schema([("s", pa.string())])
    for has_null in (False, True):
        summary = PartitionSummary(has_null, b"0", upper.encode())
        guarantee = manifest_guarantee([summary], spec, [field])

        def may_be(text: str) -> bool:
            return that_may_match([guarantee], pc.field("s") == text, schema) == [0]  # noqa: B023

        assert may_be(upper)
        assert may_be(f"{upper}\U0010ffff") == (len(upper.encode()) > 12)
        assert not may_be("/")
        if beyond is not None:
            assert not may_be(beyond)


def _alone(folder: Path, change: Callable[[bytes], bytes]) -> Callable[[Entries], None]:
    """Have each vector alone in a file of its own."""

    def edit(entries: Entries) -> None:
        for file in (one["data_file"] for one in entries if one["status"] != 2):
            name = file["file_path"].rpartition("/")[2]
            [path] = folder.rglob(name)
            begin, size = file["content_offset"], file["content_size_in_bytes"]
            vector = change(path.read_bytes()[begin : begin + size])
            own = path.with_name(f"{begin}-{name}")
            own.write_bytes(vector)
            spelled = file["file_path"].replace(name, own.name)
            file.update(file_path=spelled, content_offset=0, file_size_in_bytes=len(vector))

    return edit


@pytest.mark.filterwarnings("ignore::seambase.scan.TableWarning")
@pytest.mark.parametrize("name", ["vectors", "vectors-shared"])
def test_a_vector_may_be_alone_in_its_file(name: str, tmp_path: Path) -> None:
    """As DuckDB 1.5.3 wrote it (duckdb-iceberg#1248), without a Puffin file; it is checked, too."""
    folder = unpack_iceberg(name, tmp_path / "a")
    before = IcebergTable(str(folder)).scan().to_table()
    _rewrite(folder, 1, _alone(folder, lambda vector: vector))
    assert IcebergTable(str(folder)).scan().to_table().equals(before)
    for number, change in enumerate(
        (
            lambda vector: b"PFA1" + vector[4:],
            lambda vector: vector[:-1] + bytes([vector[-1] ^ 1]),
            lambda vector: vector[:-1],
            lambda vector: vector + b"PFA1",
        )
    ):
        broken = unpack_iceberg(name, tmp_path / str(number))
        _rewrite(broken, 1, _alone(broken, change))
        with pytest.raises(InputError, match="the deletion vector at byte 0"):
            IcebergTable(str(broken)).scan().to_table()


_TIMES = {"timestamp": ("us", None), "timestamptz": ("us", "UTC"), "timestamp_ns": ("ns", None)}
_CUT_TIMES = [
    (1_754_856_293_080_758, 1_754_856_293_080_000),  # of delta-io/delta#7444
    (-631_152_000_000_001, -631_152_000_001_000),
    (2_000_000_000_001_999, 2_000_000_000_001_000),
]


@pytest.mark.parametrize("kind", _TIMES)
@pytest.mark.parametrize(("micros", "stated"), _CUT_TIMES)
def test_a_greatest_time_may_be_cut_to_milliseconds(
    micros: int, stated: int, kind: str, tmp_path: Path
) -> None:
    """UniForm takes over Delta's maximum, which lies up to a millisecond below (delta#7444)."""
    unit, zone = _TIMES[kind]
    in_units = 1000 if unit == "ns" else 1
    last = micros * in_units + (in_units - 1)
    column = field_of("s", kind, 1)
    table = MadeTable(tmp_path / "t", [column], version=3)
    rows = pa.table({"s": pa.array([last], pa.int64()).cast(pa.timestamp(unit, zone))})
    bound = (stated * in_units).to_bytes(8, "little", signed=True)
    table.commit(MadeCommit([MadeFile("a", rows, changed=stats_of(rows.num_rows, bound, bound))]))
    opened = IcebergTable(str(table.folder))
    assert opened.scan(strict=True).count_rows() == 1
    moment = rows["s"][0]
    for test in (pc.field("s") == moment, pc.field("s") >= moment, pc.field("s").isin([moment])):
        assert opened.scan(filter=test).to_table() == opened.scan().to_table()
        assert opened.scan(filter=test).count_rows() == 1
    more = 1000 + (60_000_000 if zone and stated < 0 else 0)  # zones had seconds
    beyond = pa.scalar((stated + more) * in_units, pa.int64()).cast(moment.type)
    assert opened.scan(filter=pc.field("s") >= beyond).explain().count("  pruned ") == 1
    gone = MadeFile("d", rows, content=2, changed=stats_of(rows.num_rows, bound, bound))
    table.commit(MadeCommit([gone], operation="delete"))
    assert IcebergTable(str(table.folder)).scan().count_rows() == 0


@pytest.mark.parametrize(
    ("kind", "time", "bounds"),
    [
        ("timestamp", 2**63 - 1, (0, 2**63 - 1)),
        ("timestamp", 2**63 - 1, (0, (2**63 - 1) // 1000 * 1000)),
        ("timestamptz", -(2**63), (-(2**63), 0)),
    ],
)
def test_the_first_and_the_last_time_of_all_are_bounds(
    kind: str, time: int, bounds: tuple[int, int], tmp_path: Path
) -> None:
    """No time lies beyond them, whatever the zones of instants were once."""
    table = MadeTable(tmp_path / "t", [field_of("s", kind, 1)])
    type_ = pa.timestamp("us", _TIMES[kind][1])
    rows = pa.table({"s": pa.array([0, time], pa.int64()).cast(type_)})
    low, high = (one.to_bytes(8, "little", signed=True) for one in bounds)
    changed = stats_of(rows.num_rows, low, high)
    table.commit(MadeCommit([MadeFile("a", rows, changed=changed)]))
    opened = IcebergTable(str(table.folder))
    assert opened.scan(filter=pc.field("s") == rows["s"][1]).count_rows() == 1


@pytest.mark.parametrize("kind", ["timestamp", "timestamptz"])
@pytest.mark.parametrize("ends", [(0, 0), (-1, 1), (1, 1)])
def test_milliseconds_may_stand_as_bounds_of_times(
    ends: tuple[int, int], kind: str, tmp_path: Path
) -> None:
    """Iceberg's library takes those of imported Parquet files for microseconds (iceberg#18173)."""
    years = (-62_135_596_800_000, 1_577_836_800_000, 253_402_300_799_999)
    millis = [years[1 + end] for end in ends]
    column = field_of("s", kind, 1)
    table = MadeTable(tmp_path / "t", [column])
    rows = pa.table({"s": pa.array(millis, pa.int64()).cast(pa.timestamp("ms", _TIMES[kind][1]))})
    low, high = (one.to_bytes(8, "little", signed=True) for one in millis)
    told = stats_of(rows.num_rows, low, high)
    table.commit(MadeCommit([MadeFile("a", rows, changed=told)]))
    opened = IcebergTable(str(table.folder))
    assert len(opened.scan(strict=True).to_table()) == 2
    for moment in rows["s"]:
        for test in (pc.field("s") == moment, pc.field("s").isin([moment])):
            assert opened.scan(filter=test).count_rows() == millis.count(moment.value)
    gone = MadeFile(
        "d", rows.slice(1), content=2, changed=stats_of(rows.num_rows, bytes(8), bytes(8))
    )
    table.commit(MadeCommit([gone], operation="delete"))
    left = IcebergTable(str(table.folder)).scan().count_rows()
    assert left == 2 - millis.count(millis[1])


@pytest.mark.parametrize("kind", ["timestamp_ns", "timestamptz_ns"])
def test_microseconds_may_stand_as_bounds_of_nanoseconds(kind: str, tmp_path: Path) -> None:
    """Iceberg's library up to 1.11 told them of ORC files (iceberg#16922)."""
    zone = "UTC" if kind == "timestamptz_ns" else None
    column = field_of("s", kind, 1)
    table = MadeTable(tmp_path / "t", [column], version=3)
    nanos = [-9_223_372_036_854_775_000, 1_577_836_800_000_000_001]
    rows = pa.table({"s": pa.array(nanos, pa.int64()).cast(pa.timestamp("ns", zone))})
    low, high = ((one // 1000).to_bytes(8, "little", signed=True) for one in nanos)
    told = stats_of(rows.num_rows, low, high)
    table.commit(MadeCommit([MadeFile("a", rows, changed=told)]))
    opened = IcebergTable(str(table.folder))
    assert len(opened.scan(strict=True).to_table()) == 2
    for moment in rows["s"]:
        for test in (pc.field("s") == moment, pc.field("s").isin([moment])):
            assert opened.scan(filter=test).count_rows() == 1


@pytest.mark.parametrize("beyond", [-62_135_596_800_001, 253_402_300_800_000])
def test_bounds_that_are_no_milliseconds_of_any_year_count(beyond: int, tmp_path: Path) -> None:
    """One of two is enough: both were taken from the same file."""
    column = field_of("s", "timestamp", 1)
    table = MadeTable(tmp_path / "t", [column])
    micros = sorted([0, beyond])
    rows = pa.table({"s": pa.array(micros, pa.int64()).cast(pa.timestamp("us"))})
    low, high = (one.to_bytes(8, "little", signed=True) for one in micros)
    told = stats_of(rows.num_rows, low, high)
    table.commit(MadeCommit([MadeFile("a", rows, changed=told)]))
    opened = IcebergTable(str(table.folder))
    later = pc.field("s") > pa.scalar(10**15, pa.int64()).cast(pa.timestamp("us"))
    assert opened.scan(filter=later).explain().count("  pruned ") == 1


def _decimals(*numbers: int, digits: int) -> pa.Table:
    values = [Decimal(one).scaleb(-2) for one in numbers]
    return pa.table({"s": pa.array(values, pa.decimal128(digits, 2))})


@pytest.mark.parametrize(
    ("number", "digits"), [(256, 5), (-256, 9), (0, 9), (5, 18), (-(256**3), 18), (7, 10)]
)
def test_bounds_of_decimals_may_be_parquets_bytes(number: int, digits: int, tmp_path: Path) -> None:
    """StarRocks took over their order (starrocks#59211, #69207), which is not Iceberg's."""
    column = field_of("s", f"decimal({digits}, 2)", 1)
    table = MadeTable(tmp_path / "t", [column])
    rows = _decimals(number, digits=digits)
    bound = number.to_bytes(4 if digits < 10 else 8, "little", signed=True)
    told = stats_of(rows.num_rows, bound, bound)
    table.commit(MadeCommit([MadeFile("a", rows, changed=told)]))
    opened = IcebergTable(str(table.folder))
    assert opened.scan(strict=True).count_rows() == 1
    for test in (pc.field("s") == rows["s"][0], pc.field("s").isin(rows["s"].combine_chunks())):
        assert opened.scan(filter=test).to_table() == opened.scan().to_table()
    table.commit(MadeCommit([MadeFile("d", rows, content=2, changed=told)], operation="delete"))
    assert IcebergTable(str(table.folder)).scan().count_rows() == 0


def test_bounds_of_long_decimals_may_be_of_one_row_group(tmp_path: Path) -> None:
    """DuckDB mixed up those of several (duckdb#23504)."""
    table = MadeTable(tmp_path / "t", [{**_TEXT, "type": "decimal(19, 2)"}])
    rows = _decimals(19_308, 126_619, digits=19)
    bound = (126_619).to_bytes(3, "big")
    table.commit(MadeCommit([MadeFile("a", rows, changed=stats_of(rows.num_rows, bound, bound))]))
    opened = IcebergTable(str(table.folder))
    for value in rows["s"]:
        assert opened.scan(filter=pc.field("s") == value).count_rows() == 1


@pytest.mark.parametrize(
    ("number", "digits", "size"),
    [(256, 9, 2), (12_345_678, 9, 4), (2**55 + 31, 18, 8), (100, 18, 1), (0, 18, 1)],
)
def test_other_bounds_of_decimals_count(
    number: int, digits: int, size: int, tmp_path: Path
) -> None:
    """These are Iceberg's, and no number of so many digits the other way round."""
    table = MadeTable(tmp_path / "t", [{**_TEXT, "type": f"decimal({digits}, 2)"}])
    rows = _decimals(number, digits=digits)
    bound = number.to_bytes(size, "big", signed=True)
    table.commit(MadeCommit([MadeFile("a", rows, changed=stats_of(rows.num_rows, bound, bound))]))
    opened = IcebergTable(str(table.folder))
    other = pc.field("s") == _decimals(number + 1, digits=digits)["s"][0]
    assert opened.scan(filter=other).explain().count("  pruned ") == 1
    assert opened.scan(filter=pc.field("s") == rows["s"][0]).count_rows() == 1


@pytest.mark.parametrize(("number", "bound"), [(200, b"\xc8"), (-256, b"\xfe\x00")])
def test_a_greatest_decimal_below_zero_says_nothing(
    number: int, bound: bytes, tmp_path: Path
) -> None:
    """Of pyiceberg up to 0.6.1 (#677) and iceberg-go up to 0.4 (#745) it may be another number."""
    table = MadeTable(tmp_path / "t", [{**_TEXT, "type": "decimal(18, 2)"}])
    rows = _decimals(number, digits=18)
    table.commit(MadeCommit([MadeFile("a", rows, changed=stats_of(rows.num_rows, bound, bound))]))
    opened = IcebergTable(str(table.folder))
    assert len(opened.scan(strict=True).to_table()) == 1
    for test in (pc.field("s") == rows["s"][0], pc.field("s") >= rows["s"][0]):
        assert opened.scan(filter=test).count_rows() == 1
    below = pc.field("s") < _decimals(-9_900, digits=18)["s"][0]
    assert opened.scan(filter=below).explain().count("  pruned ") == 1


@pytest.mark.parametrize(
    ("text", "upper"),
    [
        ("\U0001f600" * 40, "\U0001f600" * 16 + "\ufffd"),
        ("a" + "\U0001f600" * 20, "a" + "\U0001f600" * 15 + "?\ufffd"),
        ("\U0010ffff" * 17, "\U0010ffff" * 16 + "\ufffd"),
    ],
)
def test_a_greatest_text_may_be_cut_by_delta(text: str, upper: str, tmp_path: Path) -> None:
    """Before version 3.3 it put U+FFFD behind it, and UniForm and XTable take that over."""
    table = MadeTable(tmp_path / "t", [_TEXT])
    rows = _texts(text)
    told = stats_of(rows.num_rows, text[0].encode(), upper.encode())
    table.commit(MadeCommit([MadeFile("a", rows, changed=told)]))
    opened = IcebergTable(str(table.folder))
    assert opened.scan(strict=True).count_rows() == 1
    for test in (pc.field("s") == text, pc.field("s") >= text):
        assert opened.scan(filter=test).to_table()["s"].to_pylist() == [text]
    is_behind = text[0] != "\U0010ffff"
    behind = opened.scan(filter=pc.field("s") >= "\U0010ffff").explain()
    assert behind.count("  pruned ") == is_behind


@pytest.mark.parametrize("off", [-59_000_000, 28_000_000])
@pytest.mark.parametrize(("kind", "is_off"), [("timestamptz", True), ("timestamp", False)])
def test_instants_long_ago_may_be_told_with_another_zone(
    off: int, kind: str, *, is_off: bool, tmp_path: Path
) -> None:
    """Spark told Delta zones without their seconds; UniForm and XTable take that over."""
    table = MadeTable(tmp_path / "t", [{**_TEXT, "type": kind}])
    micros = -3_786_911_547_000_001
    rows = pa.table({"s": pa.array([micros], pa.int64()).cast(pa.timestamp(*_TIMES[kind]))})
    stated = micros + off if is_off else micros
    bound = stated.to_bytes(8, "little", signed=True)
    table.commit(MadeCommit([MadeFile("a", rows, changed=stats_of(rows.num_rows, bound, bound))]))
    opened = IcebergTable(str(table.folder))
    assert opened.scan(strict=True).count_rows() == 1
    assert opened.scan(filter=pc.field("s") == rows["s"][0]).to_table() == opened.scan().to_table()
    away = 60_000_000 if is_off else 0
    for number, count in ((1, 1), (0, 0)):
        for end in (stated - away - number, stated + away + number):
            at = pa.scalar(end, pa.int64()).cast(rows["s"].type)
            assert opened.scan(filter=pc.field("s") == at).explain().count("  pruned ") == count


def test_instants_since_1973_are_told_with_their_zone(tmp_path: Path) -> None:
    """All zones are whole minutes from UTC since then."""
    table = MadeTable(tmp_path / "t", [{**_TEXT, "type": "timestamptz"}])
    micros = 10**15 + 1
    rows = pa.table({"s": pa.array([micros], pa.int64()).cast(pa.timestamp("us", "UTC"))})
    bound = micros.to_bytes(8, "little")
    table.commit(MadeCommit([MadeFile("a", rows, changed=stats_of(rows.num_rows, bound, bound))]))
    opened = IcebergTable(str(table.folder))
    for end in (micros - 1, micros + 1):
        at = pa.scalar(end, pa.int64()).cast(rows["s"].type)
        assert opened.scan(filter=pc.field("s") == at).explain().count("  pruned ") == 1


@pytest.mark.parametrize("is_xtables", [True, False])
def test_decimals_of_xtable_may_have_lost_zeros(*, is_xtables: bool, tmp_path: Path) -> None:
    """Up to version 0.2 it took the digits of 20.0 in Delta's statistics for 2.00 (xtable#608)."""
    table = MadeTable(tmp_path / "t", [{**_TEXT, "type": "decimal(7, 2)"}])
    rows = _decimals(1_025, 2_000, digits=7)
    told = stats_of(rows.num_rows, b"\x65", b"\x00\xc8")  # 1.01 and 2.00
    table.commit(MadeCommit([MadeFile("a", rows, changed=told)]))
    if is_xtables:
        own = {"XTABLE_METADATA": '{"sourceTableFormat":"DELTA"}'}
        table.edit(lambda parsed: parsed.update(properties=own))
    opened = IcebergTable(str(table.folder))
    if not is_xtables:
        with pytest.raises(InputError, match="its manifest says"):
            opened.scan().to_table()
        return
    assert opened.scan(strict=True).to_table()["s"].to_pylist() == rows["s"].to_pylist()
    for value in rows["s"]:
        assert opened.scan(filter=pc.field("s") == value).count_rows() == 1
