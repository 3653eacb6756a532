"""Rows come the same from chosen pages as from whole row groups, and broken indexes are refused."""

import datetime as dt
import functools
import json
import re
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from seambase.errors import InputError, SeambenchError
from seambase.filters import filter_columns
from seambench.bench import delayed_storage
from seambench.formats.forms.footer import Binary, Footer
from seamkit.engines.files import engine_files
from seamkit.files.pages.index import find_places
from seamkit.files.pages.paged import PagedFile
from seamkit.files.parquet import ParquetReader
from seamkit.files.ranges import Ranges
from seamkit.files.statistics import that_may_match
from seamkit.files.storage import Storage
from seamkit.scan.native_path import native_rows
from seamkit.scan.unit_scan import UnitScan
from seamkit.scan.units import DataFile, ReadPlan, ReadUnit, Wanted
from seamkit_tests.samples.avro_schemas import zigzag
from seamkit_tests.scan.units import open_file

_ROWS = 4000
_EPOCH = dt.datetime(2020, 1, 1)


def _decimal(digits: str) -> Any:
    return lambda n: Decimal(n - 700) * Decimal(digits)


_COLUMNS: dict[str, tuple[pa.DataType, Any]] = {
    "bool": (pa.bool_(), lambda n: n > 3000),
    "int8": (pa.int8(), lambda n: n // 32 - 60),
    "uint8": (pa.uint8(), lambda n: n // 16),
    "int16": (pa.int16(), lambda n: n * 16 - 32_000),
    "uint16": (pa.uint16(), lambda n: n * 16),
    "int32": (pa.int32(), lambda n: n * 1_000_000 - (1 << 31)),
    "uint32": (pa.uint32(), lambda n: n * 1_000_000),
    "int64": (pa.int64(), lambda n: (n - 2000) << 51),
    "uint64": (pa.uint64(), lambda n: n << 52),
    "half": (pa.float16(), lambda n: np.float16(n - 2000)),
    "float": (pa.float32(), lambda n: float("nan") if n % 97 == 0 else n - 2000.5),
    "double": (pa.float64(), lambda n: float("nan") if n % 97 == 0 else n - 2000.5),
    "date": (pa.date32(), lambda n: dt.date(1969, 1, 1) + dt.timedelta(n)),
    "date64": (pa.date64(), lambda n: dt.date(1969, 1, 1) + dt.timedelta(n)),
    "time32": (pa.time32("s"), lambda n: (_EPOCH + dt.timedelta(seconds=n)).time()),
    "time64": (pa.time64("us"), lambda n: (_EPOCH + dt.timedelta(seconds=n)).time()),
    "seconds": (pa.timestamp("s"), lambda n: _EPOCH + dt.timedelta(seconds=n)),
    "millis": (pa.timestamp("ms", "UTC"), lambda n: n * 1000 - 2_000_000),
    "micros": (pa.timestamp("us", "UTC"), lambda n: n * 1000 - 2_000_000),
    "nanos": (pa.timestamp("ns"), lambda n: n - 2000),
    "text": (pa.string(), lambda n: f"{n:04} ä{'x' * (n % 90)}"),
    "large_text": (pa.large_string(), lambda n: f"{n:04}"),
    "bytes": (pa.binary(), lambda n: n.to_bytes(2, "big") + b"\xff" * (n % 80)),
    "large_bytes": (pa.large_binary(), lambda n: n.to_bytes(2, "big")),
    "fixed": (pa.binary(4), lambda n: n.to_bytes(4, "big")),
    "small_decimal": (pa.decimal128(7, 2), _decimal("0.01")),
    "decimal": (pa.decimal128(18, 4), _decimal("1000000000.0001")),
    "large_decimal": (pa.decimal128(38, 10), _decimal("1000000000000000000000000.0000000001")),
    "wide_decimal": (pa.decimal256(50, 3), _decimal("0.001")),
    "list": (pa.list_(pa.int32()), lambda n: [n] * (n % 4)),
}


def _numbers(order: str) -> list[int]:
    """The number of each row: of rows in order, of clusters in no order, or of rows in none."""
    if order == "sorted":
        return list(range(_ROWS))
    if order == "clustered":
        return [(n // 100 * 7919) % 40 * 100 + (n * 31) % 100 for n in range(_ROWS)]
    return [(n * 7919) % _ROWS for n in range(_ROWS)]


@functools.cache
def _table(order: str, nulls: str) -> pa.Table:
    """All columns; nulls are none, some, or all of pages now and then, too."""

    def value(make: Any, row: int, number: int) -> Any:
        is_null = {"none": False, "some": row % 3 == 1, "pages": row // 300 % 3 == 1}[nulls]
        return None if is_null else make(number)

    arrays = {}
    for name, (kind, make) in _COLUMNS.items():
        values = [value(make, row, number) for row, number in enumerate(_numbers(order))]
        arrays[name] = pa.array(values, kind)
    words = pa.array([value(lambda n: f"w{n // 80}", *pair) for pair in enumerate(_numbers(order))])
    return pa.table({**arrays, "coded": words.dictionary_encode()})


def _conditions(table: pa.Table, name: str) -> list[pc.Expression]:
    """Tests of a column by some of its values."""
    column, kind = pc.field(name), table.schema.field(name).type
    values = [table[name][row] for row in (60, 61, 700, 2500, 3999)]
    known = [value for value in values if value.is_valid] or [pa.scalar(None, kind)]
    return [
        column == known[0],
        (column >= known[-1]) & (column <= known[-1]),
        column.is_null() & (pc.field("int16") == 40),
        (column == known[0]) | (column == known[-1]),
        ~(column <= known[0]) & (pc.field("int16") > 31_000),
    ]


def _mask(table: pa.Table, condition: pc.Expression) -> pa.ChunkedArray:
    """Which rows meet a condition, as pyarrow's own filter says."""
    numbered = table.append_column("row", pa.array(np.arange(len(table))))
    kept = np.zeros(len(table), dtype=np.bool_)
    kept[
        numbered.select([*filter_columns(condition, table.schema), "row"])
        .filter(condition)["row"]
        .to_numpy()
    ] = True
    return pa.chunked_array([kept])


def _comparable() -> list[str]:
    return [name for name in _COLUMNS if name not in ("half", "list")]


@pytest.fixture
def in_pages(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Of each read of some pages how many rows of them were wanted."""
    found: list[int] = []
    rows = PagedFile.rows

    def counting(
        self: PagedFile, schema: pa.Schema, group: int, positions: Any, batch_rows: int
    ) -> Any:
        batches = rows(self, schema, group, positions, batch_rows)
        found.extend([] if batches is None else [len(positions)])
        return batches

    monkeypatch.setattr(PagedFile, "rows", counting)
    return found


def _write(path: Path, table: pa.Table, **options: Any) -> ParquetReader:
    how = {"data_page_size": 1, "write_batch_size": 100, "store_schema": False, **options}
    pq.write_table(table, path, write_page_index=True, **how)
    return ParquetReader(Storage(str(path.parent)), path.name)


def _read(
    reader: ParquetReader, condition: pc.Expression, tested: list[str], names: list[str]
) -> pa.Table:
    schema = pa.schema([reader.schema.field(name) for name in dict.fromkeys([*names, *tested])])
    wanted = Wanted(schema, names, condition, tested, {}, batch_rows=1000)
    rows = native_rows(reader, wanted, range(reader.num_row_groups), use_threads=False)
    return pa.Table.from_batches(rows, pa.schema([schema.field(name) for name in names]))


def _same(found: pa.Table, expected: pa.Table) -> bool:
    """Equal to the bit, NaN among them."""
    return found.schema.equals(expected.schema) and all(
        a.equals(b) or str(a.to_pylist()) == str(b.to_pylist())
        for a, b in zip(found.columns, expected.columns, strict=True)
    )


_FILES: list[tuple[str, str, dict[str, Any]]] = [
    ("sorted", "none", {"compression": "zstd"}),
    ("sorted", "some", {"data_page_version": "2.0", "compression": "snappy"}),
    ("clustered", "pages", {"use_dictionary": False, "compression": "lz4"}),
    ("clustered", "none", {"data_page_version": "2.0", "compression": "none"}),
    ("random", "some", {"row_group_size": 1500, "compression": "gzip"}),
    ("sorted", "pages", {"store_schema": False, "store_decimal_as_integer": True}),
    ("clustered", "some", {"write_page_checksum": True, "dictionary_pagesize_limit": 500}),
]


def test_a_report_tells_how_many_pages_were_left_out(tmp_path: Path) -> None:
    """Of four columns, pages of a hundred rows each: those are read in which rows are left."""
    rows = pa.table({name: range(4000) for name in ("a", "b", "c", "d")})
    _write(tmp_path / "a.parquet", rows, row_group_size=2000, use_dictionary=False)
    file = DataFile("a", 1, functools.partial(open_file, str(tmp_path), "a.parquet"))
    plan = ReadPlan("t", rows.schema, [ReadUnit("a", [file])])
    near = (pc.field("a") >= 250) & (pc.field("a") < 420) & (pc.field("b") < 3000)
    scan = UnitScan(plan, ["a", "c"], near)
    assert scan.report().pages == 0
    assert scan.to_table().num_rows == 170
    # Three pages of a, b and c in the first row group; the statistics rule out the second one.
    assert (scan.report().pages, scan.report().unread_pages) == (60, 51)
    assert scan.explain().endswith("51 of 60 pages left out by their index")
    none = UnitScan(plan, ["c"], (pc.field("a") == 100) & (pc.field("b") == 1900))
    assert none.to_table().num_rows == 0
    # That no page has such rows is told by both columns; of c nothing is asked.
    assert (none.report().pages, none.report().unread_pages) == (40, 40)
    assert UnitScan(plan, ["c"]).to_table().num_rows == 4000


@pytest.mark.parametrize(
    "number",
    [pytest.param(i, marks=pytest.mark.slow if i in (3, 4) else ()) for i in range(len(_FILES))],
    ids=lambda number: str(_FILES[number]),
)
def test_pages_give_the_rows_of_the_whole(number: int, tmp_path: Path, in_pages: list[int]) -> None:
    """Of every flat type, whatever the order of values, nulls, codecs, and forms of pages."""
    order, nulls, options = _FILES[number]
    table = _table(order, nulls)
    reader = _write(tmp_path / "a.parquet", table, **options)
    whole = pq.read_table(tmp_path / "a.parquet")
    for turn, name in enumerate(_comparable(), number):
        names, conditions = [name, "text"], _conditions(whole, name)
        condition = conditions[turn % len(conditions)]  # all of them come, over the files
        found = _read(reader, condition, list(dict.fromkeys([name, "int16"])), names)
        assert _same(found, whole.select(names).filter(_mask(whole, condition))), condition
    flat = [name for name in whole.schema.names if name != "list"]
    few = (pc.field("int16") >= 8000) & (pc.field("int16") < 8640)
    for names in (flat, whole.schema.names):
        assert _same(
            _read(reader, few, ["int16"], names), whole.select(names).filter(_mask(whole, few))
        )
    assert len(in_pages) > (order != "random") * 15


def test_pages_of_spark_give_the_rows_that_spark_reads(in_pages: list[int]) -> None:
    """Its bounds are cut, and a page of nulls has none (golden/, by make_page_index.py)."""
    reader = ParquetReader(Storage(str(_GOLDEN)), "page-index-spark.parquet")
    known = json.loads((_GOLDEN / "page-index-spark.json").read_text())
    for text, expected in known.items():
        condition = _SPARK_FILTERS[text]
        tested = filter_columns(condition, reader.schema)
        found = _read(reader, condition, tested, reader.schema.names)
        moments = found["t"].cast(pa.timestamp("us"))
        found = found.set_column(3, "t", moments)
        assert [[str(value) for value in row.values()] for row in found.to_pylist()] == expected
    assert len(in_pages) > len(known)
    assert max(in_pages) < 400


@pytest.mark.parametrize(
    "kind", [pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC")], ids=str
)
def test_days_and_times_that_python_has_not(
    kind: pa.DataType, tmp_path: Path, in_pages: list[int]
) -> None:
    """Pages of years before 1 and after 9999 are left out, and read, as all others are."""
    days = pa.array([day for day in (-720_000, 0, 3_789_000) for _ in range(100)], pa.int32())
    whole = pa.table({"v": days.view(pa.date32()).cast(kind)})
    reader, v = _write(tmp_path / "a.parquet", whole), pc.field("v")
    for at in (0, 100, 200):
        value = whole["v"][at]
        for condition in (v == value, v.isin(pa.array([value])), v > value, ~(v == value)):
            assert _same(_read(reader, condition, ["v"], ["v"]), whole.filter(condition))
    today = v.isin([dt.date(1970, 1, 1), dt.date(1970, 1, 2)])
    if pa.types.is_date32(kind):
        assert _same(_read(reader, today, ["v"], ["v"]), whole[100:200])
    assert in_pages.count(100) > 4


_GOLDEN = Path(__file__).parents[1] / "golden"
_SPARK_FILTERS = {
    "id = 777": pc.field("id") == 777,
    "id IN (3, 1500, 2999)": pc.field("id").isin([3, 1500, 2999]),
    "s >= 's2990' AND id > 0": (pc.field("s") >= "s2990") & (pc.field("id") > 0),
    "d = 12.34": pc.field("d") == pa.scalar(Decimal("12.34"), pa.decimal128(20, 2)),
    "t < TIMESTAMP '2024-01-01 00:00:30'": (
        pc.field("t") < pa.scalar(dt.datetime(2024, 1, 1, 0, 0, 30), pa.timestamp("us", "UTC"))
    ),
    "b IS NULL AND id BETWEEN 980 AND 1010": (
        pc.field("b").is_null() & (pc.field("id") >= 980) & (pc.field("id") <= 1010)
    ),
    "day > DATE '2030-03-10' OR id = 5": (
        (pc.field("day") > dt.date(2030, 3, 10)) | (pc.field("id") == 5)
    ),
    "b AND day > DATE '2022-07-01'": pc.field("b") & (pc.field("day") > dt.date(2022, 7, 1)),
}


class _Damaged:
    """A file of two columns whose page indexes are damaged byte by byte."""

    def __init__(self, folder: Path) -> None:
        numbers = np.arange(1000)
        self.table = pa.table(
            {
                "k": pa.array(numbers * 300, mask=numbers % 10 == 3),
                "s": pa.array([f"s{number:04}" for number in numbers]),
            }
        )
        self._path = folder / "a.parquet"
        how = {"data_page_size": 1, "write_batch_size": 50, "compression": "none"}
        pq.write_table(self.table, self._path, write_page_index=True, **how)
        self.whole = self._path.read_bytes()
        places = find_places(pa.BufferReader(self.whole), pq.read_metadata(self._path), "a")
        self.columns = places.groups[0]

    def read(self, content: bytes, condition: pc.Expression) -> pa.Table:
        self._path.write_bytes(content)
        reader = ParquetReader(Storage(str(self._path.parent)), self._path.name)
        return _read(reader, condition, filter_columns(condition, reader.schema), ["k", "s"])

    def bounds_hold(self, content: bytes) -> bool:
        """Whether no page has a value beyond the bounds that a file states, if it states any."""
        self._path.write_bytes(content)
        pages = PagedFile(ParquetReader(Storage(str(self._path.parent)), "a.parquet").opened())
        for name in ("k", "s"):
            known = pages._bounds(name, 0)
            assert known is not None
            for page in range(20):
                guarantee = known.guarantee(page)
                rows = self.table.slice(page * 50, 50)
                if guarantee is not None and len(rows.filter(guarantee)) < 50:
                    return False
        return True

    def judge(self, at: int, flip: int) -> str:
        """What comes of a byte: `refused`, `right`, or `bounds` that are wrong."""
        content = bytearray(self.whole)
        content[at] ^= flip
        for condition in _LOOK_UPS:
            try:
                found = self.read(bytes(content), condition)
            except SeambenchError:
                return "refused"
            if not found.equals(self.table.filter(condition)):
                assert not self.bounds_hold(bytes(content)), f"rows are missing: {at} ^ {flip}"
                assert set(found["s"].to_pylist()) < set(
                    self.table.filter(condition)["s"].to_pylist()
                )
                return "bounds"
        return "right"


_LOOK_UPS = (
    pc.field("k") == 15_600,
    pc.field("s").isin(["s0999", "s0400"]),
    (pc.field("k") < 9000) & (pc.field("s") > "s0010"),
)


def _judged(folder: Path, step: int, flips: tuple[int, ...]) -> Counter[str]:
    file, found = _Damaged(folder), Counter[str]()
    for column in file.columns:
        for offset, size in (column.offset_index, column.column_index):
            for at in range(offset, offset + size, step):
                found.update(file.judge(at, flip) for flip in flips)
    return found


def test_a_damaged_index_loses_no_rows(tmp_path: Path) -> None:
    """It is refused or makes no difference, unless bounds themselves are made wrong."""
    found = _judged(tmp_path, 23, (0x11,))
    assert found["refused"] > found["bounds"]


@pytest.mark.slow
def test_no_damage_to_an_index_loses_rows(tmp_path: Path) -> None:
    """Every byte of every index, by several flips."""
    found = _judged(tmp_path, 1, (0x01, 0x10, 0x80, 0xFF))
    assert found["refused"] > found["bounds"]


def _offset_index(*pages: tuple[int, int, int]) -> bytes:
    """An OffsetIndex in Thrift's compact form: of each page offset, size and first row."""
    body = bytes([0x19, len(pages) << 4 | 12])
    for offset, size, row in pages:
        body += b"\x16" + zigzag(offset) + b"\x15" + zigzag(size) + b"\x16" + zigzag(row) + b"\0"
    return body + b"\0"


@pytest.mark.parametrize(
    ("reason", "pages"),
    [
        ("offset of a page: before its chunk", [(3, 9, 0)]),
        ("offset of a page: .* within the page before it", [(4, 90, 0), (50, 90, 50)]),
        ("compressed_page_size: it goes beyond its chunk", [(4, 1 << 30, 0)]),
        ("compressed_page_size: it goes beyond its chunk", [(4, -9, 0)]),
        ("first_row_index: it does not rise from 0", [(4, 90, 50)]),
        ("first_row_index: it does not rise from 0", [(4, 90, 0), (94, 90, 0)]),
        ("first_row_index: beyond the row group's rows", [(4, 90, 0), (94, 90, 1000)]),
        ("column index: a list has another length", [(4, 90, 0), (94, 90, 50)]),
    ],
)
def test_an_index_that_contradicts_the_file_is_refused(
    reason: str, pages: list[tuple[int, int, int]], tmp_path: Path
) -> None:
    """The error tells the file, the row group, the column, and what is wrong with which field."""
    file = _Damaged(tmp_path)
    chunk = file.columns[0]
    offset, size = chunk.offset_index
    changed = _offset_index(*pages)
    content = file.whole[:offset] + changed + file.whole[offset + len(changed) :]
    assert len(changed) <= size
    where = r"a\.parquet: row group 0: column 'k': "
    with pytest.raises(InputError, match=f"{where}.*{reason}") as met:
        file.read(content, _LOOK_UPS[0])
    own = chunk.column_index if reason.startswith("column") else chunk.offset_index
    at = re.search(r"at byte (\d+)", str(met.value))
    assert at is not None
    assert 0 < int(at[1]) - own[0] < own[1]


@pytest.mark.parametrize("column", [0, 1])
def test_an_index_without_pages_says_nothing(column: int, tmp_path: Path) -> None:
    """Rust's library 42 wrote such of chunks of nulls alone (arrow-rs#4459): rows are read."""
    path, table = tmp_path / "a", pa.table({"v": range(300), "n": pa.nulls(300, pa.int64())})
    _write(path, table, use_dictionary=False, compression="none")
    whole, footer = path.read_bytes(), pq.read_metadata(path)
    offset, _ = find_places(pa.BufferReader(whole), footer, "a").groups[0][column].offset_index
    path.write_bytes(whole[:offset] + b"\x19\x0c\0" + whole[offset + 3 :])
    reader = ParquetReader(Storage(str(tmp_path)), "a")
    row = {"v": 107, "n": None}
    for test, tested in ((pc.field("v") == 107, ["v"]), (pc.field("n").is_null(), ["n"])):
        read = _read(reader, test, tested, ["v", "n"]).to_pylist()
        assert row in read
        assert len(read) == (1 if tested == ["v"] else 300)


def test_an_index_whose_sizes_lack_headers_is_passed_over(tmp_path: Path) -> None:
    """Go's library by xitongsys writes such ones; its files are read without."""
    path, table = tmp_path / "a", pa.table({"v": range(300)})
    _write(path, table, use_dictionary=False, compression="none")
    whole, footer = path.read_bytes(), pq.read_metadata(path)
    offset, size = find_places(pa.BufferReader(whole), footer, "a").groups[0][0].offset_index
    column = PagedFile(ParquetReader(Storage(str(tmp_path)), "a").opened())._column("v", 0)
    assert column is not None
    pages = column.pages
    changed = _offset_index(*zip(pages.offsets, pages.sizes - 20, pages.first_rows, strict=False))
    assert len(changed) <= size
    own = Footer(whole[:offset] + changed + whole[offset + len(changed) :])
    for writer in (b"parquet-go version 18.4.0", b"parquet-go version latest"):
        own.tree[6] = Binary(writer)
        path.write_bytes(own.file())
        reader = ParquetReader(Storage(str(tmp_path)), "a")
        if writer.endswith(b"latest"):
            assert _read(reader, pc.field("v") == 107, ["v"], ["v"])["v"].to_pylist() == [107]
            continue
        with pytest.raises(InputError, match="the page has another size than its index says"):
            _read(reader, pc.field("v") == 107, ["v"], ["v"])


def _column_index(*pages: tuple[bytes, bytes]) -> bytes:
    """A ColumnIndex in Thrift's compact form: of each page its least and its greatest value."""
    head = len(pages) << 4
    body = bytes([0x19, head | 2, *[2] * len(pages)])
    for ends in zip(*pages, strict=True):
        body += bytes([0x19, head | 8]) + b"".join(bytes([len(end)]) + end for end in ends)
    return body + b"\x15\0\0"


_LONG = "m" * 40


@pytest.mark.parametrize("kind", [pa.string(), pa.binary()], ids=str)
@pytest.mark.parametrize(
    ("writer", "least", "greatest"),
    [
        (b"ClickHouse v26.3.3.20-lts", b"", b""),
        (b"ClickHouse v26.3.3.20-lts", b"c", b""),
        (b"github.com/segmentio/parquet-go version 0.0.0", b"c", b"m" * 16),
        (b"github.com/parquet-go/parquet-go version 0.32.0(build )", b"c", b"m" * 16),
    ],
    ids=["both too long", "one too long", "cut", "cut later"],
)
def test_bounds_that_are_none_rule_no_page_out(
    writer: bytes, least: bytes, greatest: bytes, kind: pa.DataType, tmp_path: Path
) -> None:
    """ClickHouse wrote no bytes in place of bounds beyond 4096, and Go's library cut the greatest.

    Other pages are left out as before in the former. Spark, which believes both, reads neither.
    """
    values = pa.array([*["a", "b"] * 50, *["c", _LONG] * 50, *["z"] * 100]).cast(kind)
    path, table = tmp_path / "a", pa.table({"v": values})
    _write(path, table, use_dictionary=False, compression="none")
    whole = path.read_bytes()
    place = find_places(pa.BufferReader(whole), pq.read_metadata(path), "a").groups[0][0]
    offset, size = place.column_index
    changed = _column_index((b"a", b"b"), (least, greatest), (b"z", b"z"))
    assert len(changed) <= size
    footer = Footer(whole[:offset] + changed + whole[offset + len(changed) :])
    footer.tree[6] = Binary(writer)
    path.write_bytes(footer.file())
    reader = ParquetReader(Storage(str(tmp_path)), "a")
    v = pc.field("v")
    for text, count in (("a", 50), ("c", 50), (_LONG, 50), ("z", 100)):
        value = pa.scalar(text).cast(kind)
        for condition in (
            v == value,
            v.isin(pa.array([text]).cast(kind)),
            (v >= value) & (v <= value),
        ):
            assert _read(reader, condition, ["v"], ["v"]).num_rows == count
    pages = PagedFile(reader.opened())
    left = pages.spans_that_may_match(v == pa.scalar("z").cast(kind), reader.schema, ["v"], 0)
    assert left == (None if b"parquet-go" in writer else [(100, 300)])
    assert not _is_for_engines(path)
    pq.write_table(table, tmp_path / "b")
    for name, other in ((b"ClickHouse v26.5.1.1", path), (writer, tmp_path / "b")):
        footer = Footer(other.read_bytes())
        footer.tree[6] = Binary(name)
        other.write_bytes(footer.file())
        assert _is_for_engines(other) or name.startswith(b"github.com/seg")


def _is_for_engines(path: Path) -> bool:
    reader = open_file(str(path.parent), path.name)
    return not isinstance(engine_files(reader, reader.schema, {}), str)


@pytest.mark.parametrize(
    ("writer", "is_believed"),
    [
        (b"ClickHouse v25.7.1.1", False),
        (b"Polars", False),
        (b"ClickHouse v25.8.1.1", True),
        (b"parquet-mr version 1.12.3", True),
    ],
)
def test_bounds_of_decimals_without_signs_rule_no_page_out(
    writer: bytes, is_believed: bool, tmp_path: Path
) -> None:
    """To writers that compare their bytes without signs -1 lies above all that is not negative."""
    kind = pa.decimal128(20, 0)
    numbers = [*[-1, 1] * 50, *[5] * 100, *[9] * 100]
    path, table = tmp_path / "a", pa.table({"v": pa.array(numbers).cast(kind)})
    _write(path, table, use_dictionary=False, compression="none")
    whole = path.read_bytes()
    place = find_places(pa.BufferReader(whole), pq.read_metadata(path), "a").groups[0][0]
    offset, size = place.column_index
    ends = [number.to_bytes(9, "big", signed=True) for number in (1, 1, 5, 5, 9, 9)]
    changed = _column_index(*zip(ends[::2], ends[1::2], strict=True))
    assert len(changed) <= size
    footer = Footer(whole[:offset] + changed + whole[offset + len(changed) :])
    footer.tree[6] = Binary(writer)
    path.write_bytes(footer.file())
    reader, v = ParquetReader(Storage(str(tmp_path)), "a"), pc.field("v")
    for number, count in ((-1, 50), (5, 100), (9, 100)):
        expected = count if number > 0 or not is_believed else 0
        condition = v == pa.scalar(number).cast(kind)
        assert _read(reader, condition, ["v"], ["v"]).num_rows == expected


def test_of_a_file_far_away_pages_are_few_requests(tmp_path: Path) -> None:
    """One for all indexes, wherever they lie, and one for each column's pages."""
    rows = 40_000
    columns = {f"c{i}": pa.array(np.arange(rows) * 7919 % (rows + i)) for i in range(5)}
    table = pa.table({"k": np.arange(rows), **columns})
    how = {"data_page_size": 1, "write_batch_size": 1000, "compression": "none"}
    path = tmp_path / "f.parquet"
    pq.write_table(table, path, write_page_index=True, use_dictionary=False, **how)
    storage = Storage(f"delayed://{tmp_path}", ranges=Ranges(gap_bytes=4096, tail_bytes=4096))
    reader = ParquetReader(storage, path.name)
    delayed_storage.requests()
    condition = pc.field("k") == 20_500
    found = _read(reader, condition, ["k"], table.schema.names)
    assert _same(found, table.slice(20_500, 1))
    made = delayed_storage.requests()
    assert len(made) <= 1 + 1 + len(columns)
    assert sum(request.n_bytes for request in made) < path.stat().st_size / 10


_DAY = dt.date(1994, 1, 1)
_FOLLOWING = dt.date(1995, 1, 1)


@pytest.mark.parametrize("sorted_by", ["nothing", "date"])
@pytest.mark.parametrize(
    "condition",
    [
        (pc.field("date") >= _DAY) & (pc.field("date") < _FOLLOWING) & (pc.field("price") < 24),
        pc.field("price") > 10**6,
        (pc.field("price") > 10**6) | (pc.field("date") == _DAY),
        pc.field("date") == _DAY,
        (pc.field("price") < 3) & (pc.field("date") < dt.date(1993, 3, 1)),
        pc.field("price").is_null() & (pc.field("date") > _DAY),
    ],
    ids=str,
)
def test_one_look_at_what_all_pages_share_leaves_the_pages_that_many_looks_leave(
    condition: pc.Expression, sorted_by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the order of values, and no row is in a page that is left out."""
    random = np.random.default_rng(7)
    days = random.integers(8000, 9500, _ROWS).astype(np.int32)
    days = np.sort(days) if sorted_by == "date" else days
    prices = pa.array(random.integers(1, 10**6, _ROWS), mask=random.random(_ROWS) < 0.1)
    table = pa.table({"date": pa.array(days).cast(pa.date32()), "price": prices})
    reader = _write(tmp_path / "a.parquet", table, data_page_size=400, use_dictionary=False)
    pages = PagedFile(reader.opened())
    spans = pages.spans_that_may_match(condition, table.schema, table.column_names, 0)
    monkeypatch.setattr("seamkit.files.pages.bounds._none_can_be_ruled_out", lambda *_: False)
    assert spans == pages.spans_that_may_match(condition, table.schema, table.column_names, 0)
    assert spans is not None
    rows = table.append_column("row", pa.array(range(_ROWS))).filter(condition)["row"].to_pylist()
    assert set(rows) <= {row for begin, end in spans for row in range(begin, end)}


def test_a_filter_that_rules_no_page_out_is_reasoned_about_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not once for each page, where values are in no order."""
    values = np.random.default_rng(7).permutation(_ROWS)
    reader = _write(
        tmp_path / "a.parquet", pa.table({"v": values}), data_page_size=400, use_dictionary=False
    )
    asked: list[int] = []

    def counted(guarantees: Any, *rest: Any) -> list[int]:
        asked.append(len(guarantees))
        return that_may_match(guarantees, *rest)

    monkeypatch.setattr("seamkit.files.pages.bounds.that_may_match", counted)
    condition = (pc.field("v") > _ROWS // 4) & (pc.field("v") < _ROWS // 2)
    schema = pa.schema([("v", pa.int64())])
    pages = PagedFile(reader.opened())
    assert pages.spans_that_may_match(condition, schema, ["v"], 0) == [(0, _ROWS)]
    assert asked == [1]
