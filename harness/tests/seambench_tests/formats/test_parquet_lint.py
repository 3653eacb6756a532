"""A Parquet file whose footer or page index says what its values are not is found, by its rule."""

import math
import struct
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seambench.formats.forms.footer import Binary, Footer, Listed, Number, Struct, struct_to_end
from seambench.formats.lint.chunks import xxh64
from seambench.formats.lint.parquet import judged

_ROWS = pa.table(
    {
        "i": pa.array([1, None, 3], pa.int32()),
        "u": pa.array([1, 2**32 - 1, 7], pa.uint32()),
        "d": [-1.5, math.nan, 2.5],
        "s": ["a", "b" * 100, "ä"],
        "n": pa.array([Decimal("-1.20"), None, Decimal("300.00")], pa.decimal128(20, 2)),
        "t": pa.array([-1, None, None], pa.timestamp("us")),
        "l": [[1, None], [], None],
        "m": pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int64())),
        "o": [{"a": 1}, {"a": None}, None],
    }
)
_COLUMNS = {name: at for at, name in enumerate(("i", "u", "d", "s", "n", "t", "l"))}


def _file(folder: Path, **options: Any) -> Path:
    file = folder / "f.parquet"
    pq.write_table(_ROWS, file, **options)
    return file


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"row_group_size": 1},
        {"write_page_index": True, "data_page_size": 1, "write_batch_size": 1},
        {"store_decimal_as_integer": True, "version": "2.4"},
        {"sorting_columns": [pq.SortingColumn(0, nulls_first=False)], "row_group_size": 1},
    ],
)
def test_right_files(tmp_path: Path, options: dict[str, Any]) -> None:
    """What pyarrow writes of all kinds of columns keeps every rule."""
    assert judged(_file(tmp_path, **options), "f").faults == []


def _statistics(column: str) -> Callable[[Footer], Struct]:
    return lambda footer: footer.tree[4].items[0][1].items[_COLUMNS[column]][3][12]


def _set(column: str, field: int, value: Any) -> Callable[[Footer], None]:
    def change(footer: Footer) -> None:
        _statistics(column)(footer)[field] = value

    return change


def _rows(footer: Footer) -> None:
    footer.tree[3] = Number(6, 4)


def _group_rows(footer: Footer) -> None:
    footer.tree[4].items[0][3] = footer.tree[3] = Number(6, 4)


def _values(footer: Footer) -> None:
    footer.tree[4].items[0][1].items[0][3][5] = Number(6, 9)


def _outside(footer: Footer) -> None:
    footer.tree[4].items[0][1].items[0][3][7] = Number(6, 1 << 40)


def _claims_order(footer: Footer) -> None:
    claimed = Struct({1: Number(5, 3), 2: Number(1, 1), 3: Number(2, 0)})
    footer.tree[4].items[0][4] = Listed(12, [claimed])


def _meta(change: Callable[[Struct], object]) -> Callable[[Footer], None]:
    """Change what the footer says of the first column."""

    def changed(footer: Footer) -> None:
        change(footer.tree[4].items[0][1].items[0][3])

    return changed


def _bytes(value: float) -> Binary:
    return Binary(struct.pack("<d", value))


@pytest.mark.parametrize(
    ("change", "rule", "says"),
    [
        (_set("i", 5, Binary(b"\2\0\0\0")), "statistics.max", "max_value is 2, there is 3"),
        (_set("i", 6, Binary(b"\2\0\0\0")), "statistics.min", "min_value is 2, there is 1"),
        (_set("i", 1, Binary(b"\2\0\0\0")), "statistics.max", "max is 2, there is 3"),
        (_set("u", 5, Binary(b"\7\0\0\0")), "statistics.max", "there is 4294967295"),
        (_set("i", 5, Binary(b"\2")), "unreadable", ""),
        (_set("s", 5, Binary(b"b")), "statistics.max", "max_value is 62"),
        (_set("n", 6, Binary(b"\0\0\0\0\0\0\0\0\0")), "statistics.min", "there is -120"),
        (_set("t", 5, Binary(struct.pack("<q", -2))), "statistics.max", "there is -1000"),
        (_set("d", 5, _bytes(2.0)), "statistics.max", "max_value is 2.0, there is 2.5"),
        (_set("d", 5, _bytes(math.nan)), "statistics.max-nan", "max_value is NaN"),
        (_set("i", 3, Number(6, 0)), "statistics.null-count", "null_count is 0, it must be 1"),
        (_set("l", 3, Number(6, 1)), "statistics.null-count", "null_count is 1, it must be 3"),
        (_set("i", 4, Number(6, 3)), "statistics.distinct-count", "it must be 2"),
        (_rows, "row-count", "4 rows stated, 3 in its groups"),
        (_group_rows, "row-count", "4 rows stated, 3 are there"),
        (_values, "chunk.num-values", "9 values stated"),
        (_outside, "chunk.bytes", "outside the file"),
        (_claims_order, "sorting", "not in order of s"),
        # Who trusts the dictionary alone leaves the chunk unread for each value that is not there.
        (
            _meta(lambda meta: meta.update({2: Listed(5, [Number(5, 3)])})),
            "chunk.encodings",
            "{2}, {3} are listed",
        ),
        (_meta(lambda meta: meta[13].items.pop()), "chunk.encodings", "are stated"),
        (
            _meta(lambda meta: meta.update({7: Number(6, meta.whole(7) + 5)})),
            "chunk.pages",
            "cannot be told apart",
        ),
    ],
)
def test_footers(tmp_path: Path, change: Callable[[Footer], None], rule: str, says: str) -> None:
    """One number or bound of a footer is changed: the fault names rule, place and both values."""
    file = _file(tmp_path)
    footer = Footer(file.read_bytes())
    change(footer)
    file.write_bytes(footer.file())
    found = judged(file, "f.parquet").faults
    assert [fault.rule for fault in found] == [f"parquet.{rule}"]
    assert says in found[0].says
    assert found[0].place.startswith("f.parquet")


def test_page_index(tmp_path: Path) -> None:
    """Bounds and counts of pages are held against the rows of each page."""
    options = {"write_page_index": True, "data_page_size": 1, "write_batch_size": 1}
    file = _file(tmp_path, use_dictionary=False, **options)
    data = bytearray(file.read_bytes())
    chunk = Footer(bytes(data)).tree[4].items[0][1].items[0]
    at = data.index(b"\3\0\0\0", chunk.whole(6))
    data[at] = 4
    file.write_bytes(data)
    [fault] = judged(file, "f").faults
    assert fault.rule == "parquet.statistics.min"
    assert fault.place == "f, row group 0, column i, page 1"
    assert fault.says == "min_values is 4, there is 3"


def _paged(folder: Path, values: list[int], change: Callable[[bytearray, Struct], None]) -> Path:
    """A file of a column in pages of two rows, of which something is changed."""
    file = folder / "f.parquet"
    options = {"write_page_index": True, "max_rows_per_page": 2, "write_batch_size": 2}
    pq.write_table(pa.table({"i": values}), file, use_dictionary=False, **options)
    data = bytearray(file.read_bytes())
    change(data, Footer(bytes(data)).tree[4].items[0][1].items[0])
    file.write_bytes(data)
    return file


def _claim(order: int) -> Callable[[bytearray, Struct], None]:
    """Another order of bounds: the fourth field of an index, between two lists."""

    def change(data: bytearray, chunk: Struct) -> None:
        index, end = struct_to_end(bytes(data), chunk.whole(6))
        was = bytes([0x15, index.whole(4) * 2, 0x19])
        data[data.index(was, chunk.whole(6), end) + 1] = order * 2

    return change


def _later_page(data: bytearray, chunk: Struct) -> None:
    """The second page begins a row later: the last number of its location, behind its size."""
    located = struct_to_end(bytes(data), chunk.whole(4))[0][1].items
    assert [one.whole(3) for one in located] == [0, 2, 4]
    at = data.index(b"\x16\4\0", chunk.whole(4))
    data[at + 1] = 6


@pytest.mark.parametrize(
    ("values", "change", "rules"),
    [
        ([1, 2, 3, 4, 5, 6], lambda *_: None, []),
        ([1, 2, 3, 4, 5, 6], _claim(0), []),
        ([1, 2, 3, 4, 5, 6], _claim(2), ["index.order"]),
        ([6, 5, 1, 2, 4, 3], _claim(1), ["index.order"]),
        ([6, 5, 4, 3, 2, 1], _claim(1), ["index.order"]),
        ([7, 7, 7, 7, 7, 7], _claim(2), []),
        ([7, 7, 7, 7, 7, 7], _later_page, ["index.pages"]),
    ],
)
def test_what_an_index_says_of_all_pages(
    values: list[int], change: Callable[[bytearray, Struct], None], rules: list[str], tmp_path: Path
) -> None:
    """Readers seek by the order that bounds are said to have, and by each page's first row."""
    found = judged(_paged(tmp_path, values, change), "f").faults
    assert [one.rule for one in found] == [f"parquet.{rule}" for rule in rules]


def test_checksums_of_pages(tmp_path: Path) -> None:
    """A turned bit that leaves a value within all bounds is found by the page's CRC."""
    file = tmp_path / "f.parquet"
    options = {"use_dictionary": False, "compression": "none", "write_page_checksum": True}
    pq.write_table(pa.table({"i": pa.array([1, 4, 9], pa.int32())}), file, **options)
    data = file.read_bytes()
    assert judged(file, "f").faults == []
    file.write_bytes(data.replace(b"\4\0\0\0\x09", b"\5\0\0\0\x09", 1))
    assert [one.rule for one in judged(file, "f").faults] == ["parquet.unreadable"]


def test_old_bounds_of_unsigned_numbers_have_no_order(tmp_path: Path) -> None:
    """`min` and `max` compare with a sign, which unsigned numbers have not: they mean nothing."""
    file = _file(tmp_path)
    footer = Footer(file.read_bytes())
    _statistics("u")(footer).update({1: Binary(b"\7\0\0\0"), 2: Binary(b"\xff\xff\xff\xff")})
    file.write_bytes(footer.file())
    assert judged(file, "f").faults == []


@pytest.mark.parametrize("cut", [0, 3, 20, 200])
def test_broken_files(tmp_path: Path, cut: int) -> None:
    """A file that is cut, or no Parquet file at all, is named as such."""
    file = _file(tmp_path)
    file.write_bytes(file.read_bytes()[:cut])
    assert [fault.rule for fault in judged(file, "f").faults] == ["parquet.magic"]


def _bloomed(folder: Path) -> Path:
    """A file with a Bloom filter for columns of most types, as DuckDB writes them."""
    file = folder / "b.parquet"
    i = "(i % 50)"
    columns = (
        *(
            f"{i}::INT",
            f"{i}::BIGINT",
            f"{i}::UINTEGER",
            f"'t' || {i}",
            f"repeat('long', {i}::INT)",
        ),
        *(f"1 + {i} / 7.0::DOUBLE", f"(1 + {i})::FLOAT", f"({i} - 9)::DECIMAL(9, 2)"),
        *(f"{i}::DECIMAL(18, 2)", f"DATE '2020-01-01' + {i}::INT", f"make_timestamp({i}::BIGINT)"),
    )
    named = ", ".join(f"{column} c{at}" for at, column in enumerate(columns))
    made = duckdb.sql(f"SELECT {named} FROM range(2000) t(i)")  # noqa: S608
    assert made is not None
    made.write_parquet(str(file))
    return file


def test_bloom_filters(tmp_path: Path) -> None:
    """Each value is in its chunk's filter; what is emptied or has another head is named."""
    file = _bloomed(tmp_path)
    data = file.read_bytes()
    chunks = [(leaf, chunk[3]) for leaf, chunk in Footer(data).chunks() if 14 in chunk[3]]
    assert len(chunks) == 11
    assert judged(file, "f").faults == []
    for leaf, meta in chunks:
        head, begin = struct_to_end(data, meta.whole(14))
        for at, size, rule in ((begin, head.whole(1), "values"), (meta.whole(14), 1, "broken")):
            file.write_bytes(data[:at] + bytes(size) + data[at + size :])
            found = [(one.rule, one.place) for one in judged(file, "f").faults]
            place = f"f, row group 0, column {leaf.path[0]}"
            assert found == [(f"parquet.bloom.{rule}", place)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"", 0xEF46DB3751D8E999),
        (b"a", 0xD24EC4F1A98C6E5B),
        (b"abc", 0x44BC2CF5AD770999),
        (b"Nobody inspects the spammish repetition", 0xFBCEA83C8A378BF1),
    ],
)
def test_hashes_of_filters(text: bytes, code: int) -> None:
    """XXH64 has the values that its own documents give."""
    assert xxh64(text) == code


def test_rows_come_from_one_read(tmp_path: Path) -> None:
    """Who judges a file has its rows without Arrow's own types, and the footer's key-values."""
    table = pa.table({"s": pa.array(["a", "a"]).dictionary_encode()})
    pq.write_table(
        table.replace_schema_metadata({"k": "v"}), file := tmp_path / "f", row_group_size=1
    )
    found = judged(file, "f")
    assert found.rows is not None
    assert found.rows.schema.field("s").type == pa.string()
    assert found.rows.to_pylist() == [{"s": "a"}, {"s": "a"}]
    assert found.metadata[b"k"] == b"v"
