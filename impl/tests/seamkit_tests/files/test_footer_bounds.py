"""A value that a strict read takes from a Parquet file lies within the bounds of its chunk.

Pages without a checksum tell of a flipped bit by nothing else. Bounds are those that parquet.thrift
describes (`Statistics`, `ColumnOrder`); what writers put into dictionaries beside is no damage.
"""

import datetime as dt
import io
import struct
from collections.abc import Callable
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

from seambase.errors import InputError
from seambench.formats.forms.footer import Binary, Footer, Struct
from seamkit.files.footers.chunks import contradicts_anywhere
from seamkit.files.parquet import ParquetReader
from seamkit.files.storage import Storage
from seamkit.ranges.plan_file import scan_from_json, scan_to_json
from seamkit.tables.hive.table import HiveTable

#: Of each type three values in order, as PLAIN has the one in the middle.
_VALUES: dict[str, tuple[pa.DataType, list[Any], bytes]] = {
    "int32": (pa.int32(), [-5, 7, 300], struct.pack("<i", 7)),
    "int64": (pa.int64(), [-5, 7, 1 << 40], struct.pack("<q", 7)),
    "uint32": (pa.uint32(), [5, 7, 1 << 31], struct.pack("<I", 7)),
    "uint64": (pa.uint64(), [5, 7, 1 << 63], struct.pack("<Q", 7)),
    "float": (pa.float32(), [-1.5, 0.5, 2.5], struct.pack("<f", 0.5)),
    "double": (pa.float64(), [-1.5, 0.5, 2.5], struct.pack("<d", 0.5)),
    "text": (pa.string(), ["a", "longer than eight", "é"], b"longer than eight"),
    "near": (pa.string(), ["same begin 1", "same begin 2", "same begin 3"], b"same begin 2"),
    "binary": (pa.binary(), [b"", b"\x7f", b"\xff"], b"\x7f"),
    "fixed": (pa.binary(3), [b"\x01ab", b"\x7fab", b"\xffab"], b"\x7fab"),
    "decimal": (
        pa.decimal128(20, 2),
        [Decimal("-1.00"), Decimal("0.07"), Decimal("3.00")],
        (7).to_bytes(9, "big"),
    ),
    "date": (pa.date32(), [dt.date(1969, 1, 1), dt.date(1970, 1, 8), dt.date(2000, 1, 1)], b"\x07"),
    "time": (pa.timestamp("us"), [-5, 7, 1 << 40], struct.pack("<q", 7)),
}
_BYTES = (pa.string(), pa.binary(3))  # a text may be none, once it is damaged
_FORMS: dict[str, dict[str, Any]] = {
    "dictionary": {},
    "plain": {"use_dictionary": False},
    "delta": {"use_dictionary": False, "column_encoding": "DELTA_BINARY_PACKED"},
    "pages of version 2": {"data_page_version": "2.0", "compression": "zstd"},
}
_WRAPS: dict[str, tuple[Callable[[pa.Array], pa.Array], str]] = {
    "flat": (lambda values: values, "a"),
    "list": (
        lambda values: pa.ListArray.from_arrays(
            pa.array([0, *range(len(values))], pa.int32()),
            values.take(pa.array(range(len(values)))),
        ),
        "a.list.element",
    ),
    "struct": (lambda values: pa.StructArray.from_arrays([values], ["x"]), "a.x"),
    "map": (
        lambda values: pa.MapArray.from_arrays(
            pa.array([0, len(values)], pa.int32()), pa.array(range(len(values))), values
        ),
        "a.key_value.value",
    ),
}


def _written(values: pa.Array, **how: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table({"a": values}), out, store_schema=False, **how)
    return out.getvalue()


def _read(
    content: bytes, folder: Path, batch_rows: int = 100, limit: int | None = None
) -> pa.Table:
    (folder / "a.parquet").write_bytes(content)
    reader = ParquetReader(Storage(str(folder)).within(limit, strict=True), "a.parquet")
    batches = reader.batches(reader.schema, batch_rows, use_threads=False)
    return pa.Table.from_batches(batches, reader.schema)


def _bounds(footer: Footer, group: int, column: int = 0) -> Struct:
    """Of which 5 is the greatest and 6 the least."""
    found: Struct = footer.tree[4].items[group][1].items[column][3][12]
    return found


@pytest.mark.parametrize("end", ["least", "greatest"])
@pytest.mark.parametrize("kind", _VALUES)
def test_a_value_outside_of_the_bounds_is_refused(kind: str, end: str, tmp_path: Path) -> None:
    """The error names the file, the column, the row group, the value and the bound.

    The value in the middle becomes the bound of the other two: the least is less then.
    """
    own, values, stored = _VALUES[kind]
    stored = stored.ljust(4, b"\0") if kind == "date" else stored
    whole = _written(pa.array([*values, None] * 3, own))
    assert _read(whole, tmp_path).num_rows == 12
    footer = Footer(whole)
    _bounds(footer, 0)[6 if end == "least" else 5] = Binary(stored)
    with pytest.raises(InputError) as refused:
        _read(footer.file(), tmp_path)
    told = str(refused.value)
    shown = [pa.scalar(value, own).cast(pa.binary() if own in _BYTES else own) for value in values]
    value, word = (shown[0], "less") if end == "least" else (shown[2], "greater")
    assert told.startswith(f"{tmp_path / 'a.parquet'}: column 'a', row group 0: its value {value} ")
    assert f"{word} than the {end} that its footer tells, {shown[1]}" in told


@pytest.mark.parametrize("form", _FORMS)
@pytest.mark.parametrize("wrap", _WRAPS)
def test_chunks_of_every_form_are_held(wrap: str, form: str, tmp_path: Path) -> None:
    """Nested columns, whatever the encoding, the last of several row groups."""
    make, path = _WRAPS[wrap]
    values = make(pa.array([10, 20, 30, 20], pa.int64()))
    values = pa.concat_arrays([values] * 2)
    rows = len(values) // 2
    whole = _written(values, row_group_size=rows, **_FORMS[form])
    assert _read(whole, tmp_path).num_rows == 2 * rows
    footer = Footer(whole)
    leaf = next(
        number for number, (leaf, _) in enumerate(footer.chunks()) if ".".join(leaf.path) == path
    )
    _bounds(footer, 1, leaf)[5] = Binary(struct.pack("<q", 25))
    for batch_rows in (1, 100):
        with pytest.raises(InputError, match=f"'{path}', row group 1: its value 30 is greater"):
            _read(footer.file(), tmp_path, batch_rows)


@pytest.mark.parametrize("at", range(8))
def test_a_flipped_bit_in_a_dictionary_is_refused(at: int, tmp_path: Path) -> None:
    """The page itself is damaged: any byte of the greatest number, to what is more or negative."""
    whole = _written(pa.array([1, 2, 0x0101010101010101] * 4, pa.int64()), compression="none")
    place = whole.index(struct.pack("<q", 0x0101010101010101))
    damaged = bytearray(whole)
    damaged[place + at] ^= 0x82
    with pytest.raises(InputError, match=r"row group 0: its value .* footer tells"):
        _read(bytes(damaged), tmp_path)


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("s"), pa.string()])
def test_values_that_python_has_not_are_told(kind: pa.DataType, tmp_path: Path) -> None:
    """A damaged date or time may lie beyond Python's years, and a text be none."""
    whole = _written(pa.array([1, 2]), compression="none")
    if kind == "string":
        whole = _written(pa.array(["aa", "ab"]), compression="none").replace(b"ab", b"a\xff", 1)
    else:
        stored = pa.array([1, 2], pa.int32() if kind == "date32" else pa.int64()).view(kind)
        whole = _written(stored, compression="none", coerce_timestamps=None)
        width = 4 if kind == "date32" else 8
        scale = 1 if kind == "date32" else 1000
        low = (2 * scale).to_bytes(width, "little")
        whole = whole.replace(low, low[:-1] + b"\x7f", 1)
    with pytest.raises(InputError, match=r"its value (\d{6,}|b'a.xff') is greater"):
        _read(whole, tmp_path)


@pytest.mark.parametrize("nested", [False, True])
def test_strict_scans_hold_what_a_filter_leaves(nested: bool, tmp_path: Path) -> None:
    """Through a table's scan, by pages or not; a plan that is read back is as strict."""
    rows = [{"x": n} if nested else n for n in range(1000)]
    out = io.BytesIO()
    how = {"write_page_index": True, "data_page_size": 100, "write_batch_size": 50}
    pq.write_table(pa.table({"k": range(1000), "a": rows}), out, store_schema=False, **how)
    footer = Footer(out.getvalue())
    _bounds(footer, 0, 1)[5] = Binary(struct.pack("<q", 998))
    (tmp_path / "a.parquet").write_bytes(footer.file())
    columns = {"k": "bigint", "a": "struct<x:bigint>" if nested else "bigint"}
    table = HiveTable(str(tmp_path), columns=columns, file_format="parquet")
    scan = table.scan(["a"], filter="k = 999", strict=True)
    for one in (scan, scan_from_json(scan_to_json(scan))):
        with pytest.raises(InputError, match=r"its value 999 is greater than the greatest .* 998"):
            one.to_table()
    assert table.scan(["a"], filter="k = 999").to_table().num_rows == 1


def _unused() -> bytes:
    """Arrow writes a dictionary that it is given as it is, and bounds of what rows name.

    Rows are enough for a limit of memory to have the texts read as a dictionary.
    """
    named = pa.array([1, 2] * 600, pa.int32())
    texts = pa.DictionaryArray.from_arrays(named, ["z" * 2000, "b", "c", "a"])
    return _written(texts)


def _with_bounds(values: pa.Array, least: bytes, greatest: bytes) -> bytes:
    footer = Footer(_written(values))
    _bounds(footer, 0).update({5: Binary(greatest), 6: Binary(least)})
    return footer.file()


def _without_orders() -> bytes:
    footer = Footer(_with_bounds(pa.array([10, 20]), struct.pack("<q", 15), struct.pack("<q", 15)))
    del footer.tree[7]
    return footer.file()


def _misordered(writer: bytes = b"parquet-mr version 1.8.1 (build 0)") -> bytes:
    """parquet-mr before 1.10 took bytes for numbers with a sign; others decimals for bytes."""
    values = pa.array([Decimal(-1), Decimal(1), Decimal(2)], pa.decimal128(20, 0))
    footer = Footer(_with_bounds(values, (1).to_bytes(9, "big"), (1).to_bytes(9, "big")))
    footer.tree[6] = Binary(writer)
    return footer.file()


_WITHOUT_SIGNS = (
    *(b"Polars", b"github.com/parquet-go/parquet-go version 0.32.0(build )"),
    *(b"github.com/segmentio/parquet-go version 0.0.0", b"parquet-cpp version 1.5.1-SNAPSHOT"),
    *(b"parquet-rs version 9.1.0", b"parquet-rs version 12.0.0"),
    *(b"ClickHouse v24.3.1.2672", b"ClickHouse v25.7.9.1"),
)

_SOUND: dict[str, Callable[[], bytes]] = {
    "values that no row names": _unused,
    "NaN": lambda: _with_bounds(
        pa.array([1.0, float("nan"), 3.0]), struct.pack("<d", 2.0), struct.pack("<d", 2.0)
    ),
    "a bound of NaN": lambda: _with_bounds(
        pa.array([1.0, 3.0]), struct.pack("<d", float("nan")), struct.pack("<d", float("nan"))
    ),
    "zeros of both signs": lambda: _with_bounds(
        pa.array([-0.0, 0.0]), struct.pack("<d", 0.0), struct.pack("<d", -0.0)
    ),
    "halves": lambda: _written(pa.array([1.5, None, -2.0], pa.float16())),
    "texts cut": lambda: _with_bounds(pa.array(["abc", "abd", "xyz"]), b"ab", b"y"),
    "no order of columns": _without_orders,
    "an order of signed bytes": _misordered,
    **{f"decimals by {name.decode()}": partial(_misordered, name) for name in _WITHOUT_SIGNS},
    "nothing but nulls": lambda: _written(pa.array([None, None], pa.int64())),
    "no rows": lambda: _written(pa.array([], pa.string())),
    "plain": lambda: _written(pa.array([1, 2]), use_dictionary=False),
}


@pytest.mark.parametrize("limit", [None, 1])
@pytest.mark.parametrize("name", _SOUND)
def test_what_writers_may_do_is_no_damage(name: str, limit: int | None, tmp_path: Path) -> None:
    """Values that no row names, NaN, zeros, bounds that are cut, and orders that nobody knows."""
    content = _SOUND[name]()
    found = _read(content, tmp_path, limit=limit)
    rows = pq.read_table(pa.BufferReader(content)).combine_chunks()
    assert found.num_rows == rows.num_rows
    assert [*map(str, found["a"].to_pylist())] == [*map(str, rows["a"].to_pylist())]


_SURE = (
    *(b"parquet-rs version 14.0.0", b"parquet-rs version 120.0.0", b"parquet-mr version 1.10.0"),
    *(b"ClickHouse v25.8.1.1", b"ClickHouse v26.1.1.1", b"parquet-cpp-arrow version 4.0.0"),
)


@pytest.mark.parametrize("writer", [*_WITHOUT_SIGNS, *_SURE])
def test_ranges_of_decimals_without_signs_rule_nothing_out(writer: bytes, tmp_path: Path) -> None:
    """Of writers that compare their bytes so (polars#29347, parquet-go#592, ClickHouse#83754)."""
    (tmp_path / "a.parquet").write_bytes(_misordered(writer))
    reader = ParquetReader(Storage(str(tmp_path)), "a.parquet")
    test = pc.field("a") < pa.scalar(Decimal(0), pa.decimal128(20, 0))
    left = [] if writer in _SURE else [0]
    for counted in (None, ["a"]):
        assert reader.row_groups_that_may_match(test, reader.schema, counted) == left
    if writer in _SURE:
        return
    table = HiveTable(str(tmp_path), columns={"a": "decimal(20,0)"}, file_format="parquet")
    assert table.scan(strict=True).to_table().num_rows == 3
    assert table.scan(filter=test).count_rows() == 1
    with duckdb.connect() as connection:
        found = table.scan().relation(connection).filter("a < 0").fetchall()
    assert found == [(Decimal(-1),)]
    assert table.scan().lazy().filter(pl.col("a") < 0).collect().height == 1


def test_decimals_of_polars_are_found(tmp_path: Path) -> None:
    """It puts pages of a row group together by bytes (polars#29347)."""
    numbers = [n * 10**7 for n in range(-10_000, 10_000)]
    values = pa.array([Decimal(n) for n in numbers], pa.decimal128(24, 0))
    pl.from_arrow(pa.table({"a": values})).write_parquet(
        tmp_path / "a.parquet", data_page_size=1000, row_group_size=20_000
    )
    table = HiveTable(str(tmp_path), columns={"a": "decimal(24,0)"}, file_format="parquet")
    assert table.scan().count_rows() == 20_000
    assert len(table.scan(strict=True).to_table()) == 20_000
    for number in (numbers[0], numbers[-1], 0):
        test = pc.field("a") == pa.scalar(Decimal(number), values.type)
        assert table.scan(filter=test).count_rows() == 1


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("writer", "is_believed"),
    [
        ("parquet-rs version 5.1.0", False),
        ("hyparquet", False),
        ("github.com/segmentio/parquet-go version 0.0.0(build 9f6a9e1)", False),
        ("github.com/parquet-go/parquet-go", False),
        ("github.com/parquet-go/parquet-go version 0.17.0(build )", False),
        ("github.com/parquet-go/parquet-go version 0.18.0(build )", True),
        ("parquet-go version 18.4.0", True),
        ("parquet-rs version 5.2.0", True),
    ],
)
def test_texts_whose_greatest_is_another_are_found(
    writer: str, is_believed: bool, tmp_path: Path, *, strict: bool
) -> None:
    """Writers that told such ranges of texts rule nothing out by them.

    Rust's library did before 5.2, JavaScript's, which cuts the greatest as it cuts the least, and
    Go's before 0.18, whose bounds lay in memory that it wrote to again.
    """
    footer = Footer(_with_bounds(pa.array(["andover", "reading"]), b"andover", b"lexington"))
    footer.tree[6] = Binary(writer.encode())
    (tmp_path / "f").write_bytes(footer.file())
    table = HiveTable(str(tmp_path), columns={"a": "string"}, file_format="parquet")
    scan = table.scan(filter="a = 'reading'", strict=strict)
    assert scan.to_table().num_rows == (not is_believed)
    if not is_believed:
        assert len(scan.relation(duckdb.connect()).fetchall()) == 1
        assert table.scan(strict=strict).to_table()["a"].to_pylist() == ["andover", "reading"]


@pytest.mark.parametrize(
    ("writer", "is_dictionary", "is_believed"),
    [
        ("parquet-cpp-arrow version 6.0.1", True, False),
        ("parquet-cpp-arrow version 10.0.1", True, False),
        ("parquet-cpp-arrow version 11.0.0", True, True),
        ("parquet-cpp-arrow version 10.0.1", False, True),
    ],
)
def test_ranges_of_a_first_dictionary_are_none(
    writer: str, is_dictionary: bool, is_believed: bool, tmp_path: Path
) -> None:
    """Arrow before its release 11 told those of a chunk's first dictionary as the chunk's.

    Whether there was one its schema tells, which is among the words of the footer.
    """
    values, out = pa.array(["rusty", "sean", "aa", "zzz"]), io.BytesIO()
    own = pa.table({"a": values.dictionary_encode() if is_dictionary else values})
    pq.write_table(own, out)
    footer = Footer(out.getvalue())
    _bounds(footer, 0).update({5: Binary(b"sean"), 6: Binary(b"aa")})
    footer.tree[6] = Binary(writer.encode())
    (tmp_path / "f").write_bytes(footer.file())
    table = HiveTable(str(tmp_path), columns={"a": "string"}, file_format="parquet")
    assert table.scan(filter="a = 'zzz'").to_table().num_rows == (not is_believed)
    assert (table.scan().statistics().columns["a"].greatest is not None) == is_believed


_LONG = [bytes([n]) * 100 for n in (5, 1, 9)]


def _cut_bounds(stored: pa.Array, fields: tuple[int, int], *, is_told: bool) -> bytes:
    """As arrow-rs cuts them to 64 bytes: the greatest is one more at its end."""
    out = io.BytesIO()
    rows = pa.table({"k": pa.array([0, 1, 2] * 2), "a": pa.concat_arrays([stored] * 2)})
    pq.write_table(rows, out, row_group_size=3, store_schema=is_told)
    footer = Footer(out.getvalue())
    greatest, least = fields
    for group in (0, 1):
        known = _bounds(footer, group, 1)
        del known[5], known[6]
        known.update({greatest: Binary(b"\x09" * 63 + b"\x0a"), least: Binary(b"\x01" * 64)})
    return footer.file()


@pytest.mark.parametrize("is_told", [False, True])
@pytest.mark.parametrize("fields", [(5, 6), (1, 2)])
@pytest.mark.parametrize("nested", [False, True])
def test_bounds_of_a_fixed_length_may_be_cut(
    fields: tuple[int, int], tmp_path: Path, *, nested: bool, is_told: bool
) -> None:
    """arrow-rs does so beyond 64 bytes; they rule nothing out, and those of others do.

    Engines' own readers get no such file, which Polars refuses.
    """
    fixed = pa.array(_LONG, pa.binary(100))
    stored = pa.StructArray.from_arrays([fixed], ["x"]) if nested else fixed
    values = [{"x": one} for one in _LONG] if nested else _LONG
    content = _cut_bounds(stored, fields, is_told=is_told)
    (tmp_path / "f").write_bytes(content)
    table = HiveTable(
        str(tmp_path),
        columns={"k": "bigint", "a": "struct<x:binary>" if nested else "binary"},
        file_format="parquet",
    )
    for _ in range(2):  # as it is read, and as it was kept
        assert table.scan(strict=True).to_table()["a"].to_pylist() == values * 2
        reader = ParquetReader(Storage(str(tmp_path)), "f")
        assert reader.has_cut_bounds
        assert reader.schema.field("a").type == stored.type
        for value in () if nested else _LONG:
            test = pc.field("a") == pa.scalar(value, pa.binary(100))
            assert reader.row_groups_that_may_match(test, reader.schema) == [0, 1]
        test = pc.field("k") > 2
        assert reader.row_groups_that_may_match(test, reader.schema, ["k"]) == []
        assert table.scan(filter="k = 1").to_table().num_rows == 2
        assert len(table.scan().relation(duckdb.connect()).filter("k = 1")) == 2
        assert table.scan().lazy().filter(pl.col("k") == 1).collect().height == 2
        assert table.scan().engine_plan(masks=True).files == []
    if not nested:
        assert reader.statistics(reader.schema).columns["a"].least is None


@pytest.mark.parametrize("size", [0, 101])
def test_other_bounds_of_a_fixed_length_are_refused(size: int, tmp_path: Path) -> None:
    """They are no beginnings of values."""
    footer = Footer(_written(pa.array(_LONG, pa.binary(100))))
    _bounds(footer, 0)[6] = Binary(b"\x01" * size)
    with pytest.raises(InputError, match="a bound has another length than a value of its type"):
        _read(footer.file(), tmp_path)


_SOME = pa.array(["a", None, "b", None] * 5)


def _counting(nulls: int, writer: str, values: pa.Array = _SOME) -> bytes:
    """A file whose footer counts so many nulls of its column in two row groups."""
    footer = Footer(_written(values, row_group_size=10))
    footer.tree[6] = Binary(writer.encode())
    for group in (0, 1):
        _bounds(footer, group)[3].value = nulls
    return footer.file()


_WRONG_COUNTS = [
    (10, "Polars"),
    (15, "Polars"),
    (10, "Arrow2 - Native Rust implementation of Arrow"),
    (0, "Arrow2 - Native Rust implementation of Arrow"),
    (0, "parquet-cpp version 1.5.1-SNAPSHOT"),
    (0, "parquet-cpp-arrow version 5.0.0"),
    (0, "parquet-rs version 4.1.0"),
    (3, "parquet-go version latest"),
    (3, "parquet-go"),
    (-3, "Parquet.Net v6.0.0"),
]


@pytest.mark.parametrize(("nulls", "writer"), _WRONG_COUNTS)
def test_nulls_that_a_writer_counted_wrongly_are_found(
    nulls: int, writer: str, tmp_path: Path
) -> None:
    """Counts of columns as dictionaries are none where Polars multiplied them, or Arrow saw none.

    Polars up to 2.1 counts a chunk's nulls once a page, Arrow before its release 6 never. Rust's
    library before 5 forgot those of chunks without a value, two of Go's count others; less than
    none are none.
    """
    (tmp_path / "f").write_bytes(_counting(nulls, writer))
    table = HiveTable(str(tmp_path), columns={"a": "string"}, file_format="parquet")
    rows = table.scan().relation(duckdb.connect())
    for spelled, count in (("a IS NULL", 10), ("a IS NOT NULL", 10), ("a = 'a'", 5), (None, 20)):
        assert table.scan(filter=spelled, strict=True).to_table().num_rows == count
        assert table.scan(filter=spelled).count_rows() == count
        assert len(rows.filter(spelled or "true")) == count
    assert table.scan().statistics().columns["a"].nulls is None


@pytest.mark.parametrize(
    ("values", "writer"),
    [
        (_SOME, "parquet-cpp-arrow version 6.0.0"),
        (pa.array([1, None] * 10), "parquet-cpp-arrow version 5.0.0"),
        (_SOME, "parquet-mr version 1.12.0"),
        (_SOME, "parquet-go version 18.4.0"),
        (_SOME, "parquet-rs version 5.0.0"),
    ],
    ids=["Arrow", "numbers", "parquet-mr", "arrow-go", "parquet-rs"],
)
def test_other_counts_of_nulls_are_held(values: pa.Array, writer: str, tmp_path: Path) -> None:
    """A footer that counts other nulls than there are is damaged, whoever else wrote it."""
    (tmp_path / "f").write_bytes(_counting(0, writer, values))
    kind = "string" if values is _SOME else "bigint"
    table = HiveTable(str(tmp_path), columns={"a": kind}, file_format="parquet")
    with pytest.raises(InputError, match="'a' has 5 nulls, and its footer counts 0"):
        table.scan().to_table()


@pytest.mark.parametrize(
    ("writer", "is_believed"),
    [("hyparquet", False), ("parquet-cpp-arrow version 9.0.0", True)],
)
def test_ranges_of_decimals_stored_as_numbers(
    writer: str, tmp_path: Path, *, is_believed: bool
) -> None:
    """JavaScript's library writes them as the bits of floating-point numbers."""
    values = pa.array([Decimal("123.45")], pa.decimal128(6, 2))
    footer = Footer(_written(values, store_decimal_as_integer=True))
    told = struct.pack("<i", 20_000) if is_believed else struct.pack("<f", 12_345)
    _bounds(footer, 0).update({end: Binary(told) for end in (5, 6)})
    footer.tree[6] = Binary(writer.encode())
    (tmp_path / "f").write_bytes(footer.file())
    table = HiveTable(str(tmp_path), columns={"a": "decimal(6,2)"}, file_format="parquet")
    scan = table.scan(filter="a < 124")
    assert scan.to_table().num_rows == (not is_believed)
    assert (table.scan().statistics().columns["a"].least is not None) == is_believed
    if not is_believed:
        assert table.scan(strict=True).to_table().num_rows == 1
        assert len(table.scan().relation(duckdb.connect()).filter("a < 124")) == 1


def test_ranges_of_numbers_count_where_those_of_bytes_do_not(tmp_path: Path) -> None:
    """Whoever compares bytes otherwise compares numbers as all do."""
    footer = Footer(_written(pa.array([5, 7])))
    footer.tree[6] = Binary(b"hyparquet")
    (tmp_path / "f").write_bytes(footer.file())
    table = HiveTable(str(tmp_path), columns={"a": "bigint"}, file_format="parquet")
    assert table.scan().statistics().columns["a"].greatest is not None


@pytest.mark.parametrize("n_groups", [1, 2])
@pytest.mark.parametrize(
    ("values", "least", "greatest", "kind"),
    [
        ([5, 7], struct.pack("<q", 7), struct.pack("<q", 5), "bigint"),
        (["a", "b"], b"b", b"a", "string"),
        ([dt.date(1970, 1, 2), dt.date(1970, 1, 3)], b"\2\0\0\0", b"\1\0\0\0", "date"),
        ([Decimal(-1), Decimal(1)], (1).to_bytes(9, "big"), b"\xff" * 9, "decimal(20,0)"),
    ],
    ids=["int64", "text", "date", "decimal"],
)
def test_ranges_that_contradict_themselves_rule_nothing_out(
    values: list[Any], least: bytes, greatest: bytes, kind: str, n_groups: int, tmp_path: Path
) -> None:
    """Whatever a writer compared them by, they are none; a strict read tells so."""
    own = pa.array(values, pa.decimal128(20, 0) if kind.startswith("decimal") else None)
    footer = Footer(_written(own, row_group_size=len(values) // n_groups))
    for group in range(n_groups):
        _bounds(footer, group).update({5: Binary(greatest), 6: Binary(least)})
    (tmp_path / "f").write_bytes(footer.file())
    table = HiveTable(str(tmp_path), columns={"a": kind}, file_format="parquet")
    reader = ParquetReader(Storage(str(tmp_path)), "f")
    for value in values:
        test = pc.field("a") == pa.scalar(value, own.type)
        assert table.scan(filter=test).to_table()["a"].to_pylist() == [value]
        for counted in (None, ["a"]):
            left = reader.row_groups_that_may_match(test, reader.schema, counted)
            assert left == list(range(n_groups))
        with duckdb.connect() as connection:
            spelled = value if isinstance(value, int | Decimal) else f"'{value}'"
            found = table.scan().relation(connection).filter(f"a = {spelled}").fetchall()
        assert found == [(value,)]
    assert table.scan().engine_plan(masks=True).files == []
    assert table.scan().statistics().columns["a"].least is None
    with pytest.raises(InputError, match=r"than the (least|greatest) that its footer tells"):
        table.scan(filter="a IS NOT NULL", strict=True).to_table()


@pytest.mark.parametrize(
    "values",
    [
        pa.array([5, 1 << 31], pa.uint32()),
        pa.array([5, 1 << 63], pa.uint64()),
        pa.array([5, 200], pa.uint8()),
        pa.array([Decimal(-1), Decimal(1)], pa.decimal128(20, 0)),
        pa.array([Decimal(-1), Decimal(1)], pa.decimal128(6, 0)),
        pa.array([b"\x01", b"\xff"]),
        pa.array([-3, -1]),
        pa.array([-2.0, 1.5], pa.float16()),
    ],
    ids=lambda values: str(values.type),
)
def test_ranges_in_order_rule_out_what_they_did(values: pa.Array, tmp_path: Path) -> None:
    """Those of numbers without signs, and of decimals as bytes, contradict nothing."""
    (tmp_path / "f").write_bytes(_written(values, store_decimal_as_integer=True))
    reader = ParquetReader(Storage(str(tmp_path)), "f")
    assert not reader.of_footer(contradicts_anywhere)
    if values.type == pa.float16():
        return
    greatest = values[1:]
    for counted in (None, ["a"]):
        for test, left in (("equal", [0]), ("greater", [])):
            condition = pc.Expression._call(test, [pc.field("a"), pc.scalar(greatest[0])])
            assert reader.row_groups_that_may_match(condition, reader.schema, counted) == left


@pytest.mark.parametrize("rows", [2, 1000])
def test_nulls_of_several_pages_of_polars_are_found(rows: int, tmp_path: Path) -> None:
    """By Polars itself: of one value and one null in two pages it counts two nulls."""
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [None, "x"] * (rows // 2)}, schema={"a": polars.String})
    frame.write_parquet(tmp_path / "f", data_page_size=rows // 2)
    table = HiveTable(str(tmp_path), columns={"a": "string"}, file_format="parquet")
    for spelled in ("a IS NULL", "a IS NOT NULL", "a = 'x'"):
        assert table.scan(filter=spelled).to_table().num_rows == rows // 2
    assert table.scan().to_table().num_rows == rows
