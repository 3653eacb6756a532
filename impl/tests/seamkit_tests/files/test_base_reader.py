"""What a base file tells about itself: statistics, and columns that it holds as dictionaries."""

import datetime as dt
import re
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from seambase.errors import InputError, RefusedError
from seamkit.files import storage
from seamkit.files.columns import FoundReader
from seamkit.files.parquet import ParquetReader
from seamkit.files.reader import FileReader, OverReader, check_texts
from seamkit.files.storage import Storage
from seamkit.files.variants.reader import ShreddedReader


def _reader(folder: Path, table: pa.Table, **options: Any) -> ParquetReader:
    pq.write_table(table, folder / "base.parquet", version="1.0", row_group_size=2, **options)
    return ParquetReader(Storage(str(folder)), "base.parquet")


@pytest.mark.parametrize(
    ("values", "kind", "greatest"),
    [
        ([3, 9, 4], pa.int64(), 9),
        ([-3, -9, -4], pa.int32(), -3),
        ([dt.date(1970, 1, 3), dt.date(1970, 1, 2), dt.date(1970, 1, 1)], pa.date32(), 2),
        ([3, None, 4], pa.int64(), None),
        ([1.0, 2.0, 3.0], pa.float64(), None),
        (["a", "b", "c"], pa.string(), None),
    ],
)
def test_statistics_tell_the_greatest_whole_number(
    tmp_path: Path, values: list[Any], kind: pa.DataType, greatest: int | None
) -> None:
    """Over all row groups; unknown for other types and where a null may hide."""
    reader = _reader(tmp_path, pa.table({"c": pa.array(values, kind)}))
    assert reader.greatest("c", kind) == greatest


def test_statistics_may_be_missing_or_of_another_type(tmp_path: Path) -> None:
    """Then the greatest value is unknown."""
    table = pa.table({"c": pa.array([1, 2, 3], pa.int64())})
    assert _reader(tmp_path, table).greatest("c", pa.int32()) is None
    assert _reader(tmp_path, table).greatest("d", pa.int64()) is None
    assert _reader(tmp_path, table, write_statistics=False).greatest("c", pa.int64()) is None


@pytest.mark.parametrize("within", ["flat", "list", "struct", "map"])
@pytest.mark.parametrize("year", [2261, 9999])
def test_times_of_int96_are_exact_or_refused(tmp_path: Path, within: str, year: int) -> None:
    """Nanoseconds of 64 bits end in 2262: a later year would come as one of before 1970."""
    time = dt.datetime(year, 1, 1, microsecond=1)
    value, kind = {
        "flat": (time, lambda leaf: leaf),
        "list": ([time], pa.list_),
        "struct": ({"a.b": time}, lambda leaf: pa.struct([("a.b", leaf)])),
        "map": ([(1, time)], lambda leaf: pa.map_(pa.int64(), leaf)),
    }[within]
    stored = pa.array([None, value, None], kind(pa.timestamp("us")))
    rows = pa.table({"k": pa.array([1, 2, 3]), "x.y": stored})
    reader = _reader(tmp_path, rows, use_deprecated_int96_timestamps=True)
    wanted = pa.schema([("x.y", kind(pa.timestamp("ns")))])
    if year == 2261:
        found = pa.Table.from_batches(reader.batches(wanted, 2, use_threads=False))
        assert found["x.y"].cast(stored.type).to_pylist() == stored.to_pylist()
        return
    with pytest.raises(RefusedError, match=r"base\.parquet: columns \['x\.y'\] have times"):
        list(reader.batches(wanted, 2, use_threads=False))
    others = reader.batches(pa.schema([rows.schema.field("k")]), 2, use_threads=False)
    assert sum(batch.num_rows for batch in others) == 3


_DAY_NS = 86_400 * 10**9


def as_arrow_22(path: Path, times: pa.Array) -> None:
    """Let a file have its times of INT96 as Arrow wrote them until 22: days towards 1970."""
    data = path.read_bytes()
    for time in times.cast(pa.timestamp("ns")).cast(pa.int64()).drop_null().to_pylist():
        day, rest = divmod(time, _DAY_NS)
        forward = struct.pack("<qi", rest, day + 2_440_588)
        if day < 0 and rest:
            data = data.replace(forward, struct.pack("<qi", rest - _DAY_NS, day + 2_440_589))
    path.write_bytes(data)
    _claim_arrow_22(path)


def _claim_arrow_22(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(re.sub(rb"(parquet-cpp-arrow version )\d\d\.\d\.\d", rb"\g<1>22.0.0", data))


@pytest.mark.parametrize("within", ["flat", "struct"])
@pytest.mark.parametrize("unit", [None, "us"])
@pytest.mark.parametrize("stored", ["ns", "us", "untold"])
def test_times_of_int96_may_count_back_from_midnight(
    tmp_path: Path, stored: str, unit: str | None, within: str
) -> None:
    """Arrow itself takes such a time for one 584 years later, unless it reads nanoseconds."""
    digits = 1 if stored == "ns" else 1_000
    numbers = [-1_000, None, 5 * digits, -(2**61) // 1_000 * 1_000, -_DAY_NS, 0]
    times = pa.array(numbers, pa.timestamp("ns"))
    own = times if stored == "ns" else times.cast(pa.timestamp("us"))
    column = own if within == "flat" else pa.StructArray.from_arrays([own], ["u"])
    path = tmp_path / "base.parquet"
    how = {"use_dictionary": False, "compression": "none", "store_schema": stored != "untold"}
    pq.write_table(pa.table({"t": column}), path, use_deprecated_int96_timestamps=True, **how)
    as_arrow_22(path, own)
    reader = ParquetReader(Storage(str(tmp_path)), path.name, int96_unit=unit)
    kind = pa.timestamp("us" if unit else "ns")
    wanted = pa.schema([("t", kind if within == "flat" else pa.struct([("u", kind)]))])
    found = pa.Table.from_batches(reader.batches(wanted, 2, use_threads=False))
    flat = found if within == "flat" else found.flatten()
    want = pc.cast(times, kind, safe=False)
    assert flat.column(0).combine_chunks().equals(want)


def test_any_writer_may_count_back_from_midnight(tmp_path: Path) -> None:
    """As Paimon does by Java's library: the bytes tell, and no name of a writer."""
    times = pa.array([-1, None, -_DAY_NS - 1, 5], pa.timestamp("ns"))
    path = tmp_path / "base.parquet"
    how = {"use_dictionary": False, "compression": "none"}
    pq.write_table(pa.table({"t": times}), path, use_deprecated_int96_timestamps=True, **how)
    as_arrow_22(path, times)
    path.write_bytes(path.read_bytes().replace(b"parquet-cpp-arrow", b"parquet-of-others"))
    reader = ParquetReader(Storage(str(tmp_path)), path.name)
    found = pa.Table.from_batches(reader.batches(reader.schema, 4, use_threads=False))
    assert found["t"].combine_chunks().equals(times)


@pytest.mark.parametrize("year", [1500, 2300, 9999])
@pytest.mark.parametrize("unit", [None, "us"])
def test_times_that_count_back_do_not_wrap_around(
    tmp_path: Path, unit: str | None, year: int
) -> None:
    """Beyond 64 bits of nanoseconds they are refused, though another time would come out."""
    times = pa.array([dt.datetime(year, 1, 1, 7, microsecond=1)], pa.timestamp("us"))
    path = tmp_path / "base.parquet"
    how = {"use_dictionary": False, "compression": "none"}
    pq.write_table(pa.table({"t": times}), path, use_deprecated_int96_timestamps=True, **how)
    _claim_arrow_22(path)
    reader = ParquetReader(Storage(str(tmp_path)), path.name, int96_unit=unit)
    with pytest.raises(RefusedError, match=r"columns \['t'\] have times of INT96"):
        list(reader.batches(pa.schema([("t", pa.timestamp("us"))]), 2, use_threads=False))


@pytest.mark.parametrize("dictionaries", [True, False])
def test_encoded_texts_are_the_same_texts(tmp_path: Path, dictionaries: bool) -> None:
    """Texts may be handed out as dictionaries; they say the same, whatever the file holds."""
    table = pa.table({"c": ["x", "y", None], "n": pa.array([1, 2, 3], pa.int32())})
    reader = _reader(tmp_path, table, use_dictionary=dictionaries)
    batches = list(reader.batches(table.schema, 2, use_threads=False, encoded=["c", "n"]))
    texts = [text for batch in batches for text in batch.column(0).to_pylist()]
    assert texts == ["x", "y", None]
    assert {batch.column(1).type for batch in batches} == {pa.int32()}


_TEXT = "lines of text"
_TEXTS = {
    "plain": pa.array([_TEXT, None]),
    "large": pa.array([_TEXT, None], pa.large_string()),
    "struct": pa.array([{"s": _TEXT}, None]),
    "list": pa.array([["x", _TEXT], None]),
    "map": pa.array([[("k", _TEXT)], None], pa.map_(pa.string(), pa.string())),
    "key": pa.array([[(_TEXT, "v")], None], pa.map_(pa.string(), pa.string())),
}


def _damaged(folder: Path, texts: pa.Array, byte: bytes, **options: Any) -> ParquetReader:
    """A file of which the first byte of each text is another."""
    options = {"compression": "none", "write_statistics": False, "store_schema": False} | options
    _reader(folder, pa.table({"c": texts}), **options)
    path = folder / "base.parquet"
    content = path.read_bytes()
    assert _TEXT.encode() in content
    path.write_bytes(content.replace(_TEXT.encode(), byte + _TEXT.encode()[1:]))
    return ParquetReader(Storage(str(folder)), "base.parquet")


@pytest.mark.parametrize("dictionaries", [True, False])
@pytest.mark.parametrize("kind", _TEXTS)
def test_a_text_that_is_no_utf_8_is_refused(tmp_path: Path, kind: str, dictionaries: bool) -> None:
    """At any depth, with the column's name; one whose bytes changed into other text is not seen."""
    options: dict[str, Any] = {"use_dictionary": dictionaries}
    for byte, fails in ((b"L", False), (b"\xff", True)):
        reader = _damaged(tmp_path, _TEXTS[kind], byte, **options)
        read = reader.batches(reader.schema, 2, use_threads=False, encoded=["c"][: kind == "plain"])
        if fails:
            with pytest.raises(InputError, match=r"base\.parquet: column 'c' is no text"):
                list(read)
        else:
            assert "Lines of text" in str([batch.to_pylist() for batch in read])


def test_a_page_is_held_to_its_checksum(tmp_path: Path) -> None:
    """A byte that became another is refused wherever a page has a checksum."""
    reader = _damaged(tmp_path, _TEXTS["plain"], b"L", write_page_checksum=True)
    with pytest.raises(InputError, match="CRC"):
        list(reader.batches(reader.schema, 2, use_threads=False))


def test_texts_beyond_ascii_are_read(tmp_path: Path) -> None:
    """Also in slices that begin and end within other texts."""
    texts = ["\u00e9t\u00e9", "", None, "\U0001f30d", "x"] * 3
    reader = _reader(tmp_path, pa.table({"c": texts}))
    batches = reader.batches(reader.schema, 2, use_threads=False)
    assert [text for batch in batches for text in batch.column(0).to_pylist()] == texts
    whole = pa.record_batch({"c": pa.array(["a", "\u00e9", "b"])})
    for begin in range(3):
        check_texts(whole.slice(begin, 1), "here")


def test_row_groups_with_nulls_are_not_ruled_out_by_ranges(tmp_path: Path) -> None:
    """Where the statistics of some columns count, their ranges say nothing of nulls."""
    table = pa.table({"a": [1, 2, None, 4], "b": [1, 1, 2, 2]})
    pq.write_table(table, tmp_path / "f.parquet", row_group_size=2)
    reader = ParquetReader(Storage(str(tmp_path)), "f.parquet")
    schema = table.schema
    matching = reader.row_groups_that_may_match
    assert matching(pc.field("a").is_null(), schema, counted=["a"]) == [1]
    assert matching(pc.field("a") > 2, schema, counted=["a", "b"]) == [1]


@pytest.mark.parametrize("large_bytes", [10, 1 << 20])
def test_a_file_that_is_cut_while_it_is_read_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large_bytes: int
) -> None:
    """It takes nobody's process with it; a small one has been read before."""
    monkeypatch.setattr(storage, "LARGE_BYTES", large_bytes)
    table = pa.table({"c": [f"text {i}" for i in range(1000)]})
    reader = _reader(tmp_path, table, use_dictionary=False)
    with (tmp_path / "base.parquet").open("r+b") as file:
        file.truncate(100)
    last = [reader.num_row_groups - 1]  # in a page of memory that is gone
    batches = reader.batches(table.schema, 1000, use_threads=False, row_groups=last)
    if large_bytes == 10:
        with pytest.raises(InputError, match=r"broken after row|0 rows, but its footer says"):
            list(batches)
    else:
        assert sum(batch.num_rows for batch in batches) == 2


def test_a_footer_whose_row_groups_lack_rows_is_refused(tmp_path: Path) -> None:
    """A group that is said to have no rows would be passed over; the file's own number tells."""
    pq.write_table(pa.table({"k": pa.array([7], pa.int32())}), tmp_path / "one.parquet")
    content, refused = (tmp_path / "one.parquet").read_bytes(), 0
    for at in range(len(content) - 8):
        if content[at] != 2:  # as Thrift writes one row
            continue
        (tmp_path / "x.parquet").write_bytes(content[:at] + b"\x00" + content[at + 1 :])
        try:
            reader = ParquetReader(Storage(str(tmp_path)), "x.parquet")
            schema = pa.schema({"k": pa.int32()})
            assert sum(b.num_rows for b in reader.batches(schema, 9, use_threads=False)) == 1
        except InputError as error:
            refused += "in row groups" in str(error) or "than it has rows" in str(error)
    assert refused == 3  # the numbers of the file, of its row group, and of its column's values


@pytest.mark.parametrize("reader", [OverReader, FoundReader, ShreddedReader])
def test_a_reader_over_another_one_hands_on_what_a_file_tells(reader: type[FileReader]) -> None:
    """What it leaves to `FileReader` would count as unknown, and rule out nothing, unnoticed."""
    # These go through others, or change nothing of what is known of a file.
    own = {"batches", "read", "once", "fetch", "stored"}
    told = {name for name in vars(FileReader) if not name.startswith("_")} - own
    inherited = {
        name for name in told if getattr(reader, name, None) is getattr(FileReader, name, None)
    }
    # Set when it is made.
    assert inherited - {"num_rows", "num_row_groups", "has_footer", "name"} == set()
