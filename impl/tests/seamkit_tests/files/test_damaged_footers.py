"""Damaged footers of Parquet files are typed errors: none of them ends the process."""

import base64
import io
import itertools
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest

from seambase.errors import InputError, RefusedError, SeambenchError
from seambench.formats.forms.footer import Binary, Footer, Listed, Number, Struct
from seamkit.command.inspected import inspect_parquet
from seamkit.files.parquet import ParquetReader, open_parquet
from seamkit.files.storage import Storage
from seamkit.offheap.connector.factory import connector_scanner
from seamkit.scan.unit_scan import UnitScan
from seamkit.scan.units import DataFile, ReadPlan, ReadUnit
from seamkit.tables.hive.table import HiveTable
from seamkit_tests.samples.apart import apart
from seamkit_tests.samples.delta_tables import unpack_delta

#: Of a row group's column of texts, histograms of its repetition and of its definition levels.
_WHOLE: tuple[list[int], list[int]] = ([], [1, 2])
_DAMAGED: dict[str, tuple[list[int], list[int]]] = {
    "repetition levels": ([1, 2], []),
    "definition levels": ([1], [2]),
}


def look(path: str) -> str:
    """How a file is opened and its chunks are looked at."""
    return _looked_at(Path(path).read_bytes())


def _looked_at(data: bytes) -> str:
    try:
        file = open_parquet(pa.BufferReader(data), "the file")
    except SeambenchError as error:
        return f"refused: {error}"
    for group in range(file.num_row_groups):
        for column in range(file.metadata.num_columns):
            chunk = file.metadata.row_group(group).column(column)
            # An exception is caught by readers.
            with suppress(OSError, ValueError, OverflowError, pa.ArrowException):
                _ = chunk.encodings, chunk.compression, chunk.statistics and chunk.statistics.min
    return "looked at"


def scan(path: str) -> str:
    """How the connector's scanner begins a file."""
    told = {"data_file_path": path, "required_fields": "id,name"}
    try:
        with connector_scanner("parquet", 9, told) as scanner:
            scanner.open()
            scanner.get_next_off_heap_chunk()
            return "read"
    except SeambenchError as error:
        return f"refused: {error}"


def explain(path: str) -> str:
    """How a file's explanation begins."""
    try:
        return next(iter(inspect_parquet(Path(path)))).what
    except SeambenchError as error:
        return f"refused: {error}"


def flip(path: str) -> Counter[str]:
    """How often a file is refused or looked at with bits of its footer flipped."""
    whole = Path(path).read_bytes()
    begin = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    found: Counter[str] = Counter()
    for at in range(begin, len(whole) - 8):
        for flipped in (1 << at % 8, 0x10, 0xFF):
            damaged = bytearray(whole)
            damaged[at] ^= flipped
            found[_looked_at(bytes(damaged)).split(":")[0]] += 1
    return found


_READ: dict[Callable[[str], str], str] = {look: "looked at", scan: "read", explain: "Parquet file"}


@pytest.mark.parametrize("by", _READ)
@pytest.mark.parametrize("levels", [None, *_DAMAGED])
def test_histograms_of_another_length_are_refused(
    tmp_path: Path, levels: str | None, by: Callable[[str], str]
) -> None:
    """A damaged histogram, even in the last row group, is an InputError; a whole file is read."""
    path = tmp_path / "a.parquet"
    rows = {"id": list(range(9)), "name": ["a", "b", None] * 3}
    pq.write_table(pa.table(rows), path, row_group_size=3)
    footer = Footer(path.read_bytes())
    *_, (_, chunk) = footer.chunks()
    counts = [Listed(6, [Number(6, n) for n in one]) for one in _DAMAGED.get(levels or "", _WHOLE)]
    chunk[3][16] = Struct({1: Number(6, 2), 2: counts[0], 3: counts[1]})
    path.write_bytes(footer.file())
    found = apart(by, str(path))
    if levels is None:
        assert found == _READ[by]
    else:
        name = "the file" if by is look else path
        assert found.startswith(f"refused: {name}: footer: row group 2, column 1: its histogram")
        assert levels in found


def test_flipped_bits_end_no_process(tmp_path: Path) -> None:
    """Bits flipped in each byte of a footer are refused or passed over, in one process."""
    path = tmp_path / "a.parquet"
    rows = {"id": [1, None], "name": ["a", None], "list": [[1], []], "flag": [True, False]}
    pq.write_table(pa.table(rows), path, store_schema=False, write_page_index=True)
    found = apart(flip, str(path))
    assert {*found} == {"refused", "looked at"}


def _with_footer(path: Path, old: bytes, new: bytes) -> None:
    """Replace bytes that stand once in a file's footer, which may become longer or shorter."""
    content = path.read_bytes()
    begin = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    footer = content[begin:-8]
    assert footer.count(old) == 1
    footer = footer.replace(old, new)
    path.write_bytes(content[:begin] + footer + len(footer).to_bytes(4, "little") + b"PAR1")


# Of the columns below, in Thrift's compact form: a text is its length and its bytes, a number is
# twice itself, or less by one below 0, in groups of seven bits.
_LEAST, _GREATEST = (4_919_131_752_989_213_764 + number for number in (0, 1))
_MOST = b"\x28\x08" + _GREATEST.to_bytes(8, "little")
_BOUNDS = _MOST + b"\x18\x08" + _LEAST.to_bytes(8, "little")
_EDITS = {
    "an empty bound": (
        _BOUNDS,
        b"\x28\x00\x18\x00",
        "a bound has another length than a value of its type",
    ),
    "a short bound": (
        _BOUNDS,
        _MOST + b"\x18\x01\x44",
        "a bound has another length than a value of its type",
    ),
    "repetition 8": (b"\x25\x02\x18\x02id", b"\x25\x10\x18\x02id", "repetition is not required"),
    "repetition -1": (b"\x25\x02\x18\x02id", b"\x25\x01\x18\x02id", "repetition is not required"),
    "repetition 2^30": (
        b"\x25\x02\x18\x02id",
        b"\x25\x80\x80\x80\x80\x08\x18\x02id",
        "repetition is not required",
    ),
    "required, with nulls": (
        b"\x25\x02\x18\x04null",
        b"\x25\x00\x18\x04null",
        "nulls are counted where there are none",
    ),
    "more values than rows": (
        b"\x19\x18\x02id\x15\x00\x16\x06",
        b"\x19\x18\x02id\x15\x00\x16\x08",
        "another number of values than a column before it",
    ),
    "fewer values in a list than rows": (
        b"\x04list\x07element\x15\x00\x16\x08",
        b"\x04list\x07element\x15\x00\x16\x04",
        "other numbers of values than it has rows",
    ),
}


def outlets(folder: Path, names: list[str]) -> list[tuple[str, str, str | None]]:
    """What each file is refused for, by each outlet, or None."""
    schema = pq.read_schema(folder / "whole").remove_metadata()
    some = pc.field("id") > 5

    def scan(name: str, *condition: Any) -> UnitScan:
        reader = partial(ParquetReader, Storage(str(folder)), name)
        file = DataFile(name, (folder / name).stat().st_size, reader)
        plan = ReadPlan("here", schema, [ReadUnit(name, [file], {})])
        return UnitScan(plan, schema.names, *condition)

    calls: dict[str, Callable[[str], object]] = {
        "to_table": lambda name: scan(name).to_table(),
        "filter": lambda name: scan(name, some).to_table(),
        "count_rows": lambda name: scan(name, some).count_rows(),
        "head": lambda name: scan(name).head(1),
        "statistics": lambda name: scan(name).statistics(),
        "dataset": lambda name: scan(name).dataset().to_table(filter=some),
        "relation": lambda name: scan(name).relation(duckdb.connect()).filter("id > 5").fetchall(),
        "lazy": lambda name: scan(name).lazy().filter(pl.col("id") > 5).collect(),
    }
    found: list[tuple[str, str, str | None]] = []
    for name, (outlet, call) in itertools.product(names, calls.items()):
        try:
            call(name)
        except InputError as error:
            found.append((name, outlet, str(error)))
        else:
            found.append((name, outlet, None))
    return found


def test_footers_that_contradict_themselves_are_refused(tmp_path: Path) -> None:
    """Through every outlet one InputError: bounds shorter than their type end pyarrow's process.

    Repetition is 0, 1 or 2, and a chunk has a value for each row, as parquet.thrift says.
    """
    rows = pa.table(
        {
            "head": [True, False, True],
            "id": pa.array([_LEAST, _GREATEST, _LEAST], pa.int64()),
            "null": ["a", None, "b"],
            "list": [[1, 2], [3], []],
        }
    )
    files = {"whole": ""} | {f"file {i}": why for i, (_, _, why) in enumerate(_EDITS.values())}
    for name in files:
        path = tmp_path / name
        pq.write_table(rows, path, store_schema=False, use_dictionary=False, compression="none")
    for number, (old, new, _) in enumerate(_EDITS.values()):
        _with_footer(tmp_path / f"file {number}", old, new)
    answers = apart(outlets, tmp_path, [*files])
    assert len(answers) == 8 * len(files)
    for name, outlet, why in answers:
        assert (why is not None) == bool(files[name]), (name, outlet)
        assert files[name] in (why or ""), (name, outlet)


def _rename(element: Struct, name: bytes) -> None:
    element[4] = Binary(name)


def _lead(footer: Footer, column: int, *names: bytes) -> None:
    """Other names that lead to a chunk."""
    _chunk(footer, column)[3] = Listed(8, [Binary(name) for name in names])


def _chunk(footer: Footer, column: int) -> Struct:
    """What the first row group says of a column."""
    found: Struct = footer.tree[4].items[0][1].items[column][3]
    return found


def _element(footer: Footer, column: int) -> Struct:
    found: Struct = footer.schema.items[column + 1]
    return found


def _as_parquet_mr(footer: Footer) -> None:
    """Encodings are those of pages and levels alone, as that writer names them for flat columns."""
    footer.tree[6] = Binary(b"parquet-mr version 1.13.1")
    for leaf, chunk in footer.chunks():
        chunk[3].pop(16, None)  # counts of levels
        levels = [Number(5, 4)] if leaf.definition == 0 else [Number(5, 4), Number(5, 3)]
        chunk[3][2] = Listed(5, [Number(5, 0), Number(5, 8), *levels])


def _set(struct: Struct, field: int, value: int) -> None:
    struct[field].value = value


def _unsigned(footer: Footer) -> None:
    element = _element(footer, 0)
    element[6] = Number(5, 18)  # INT_64
    element[10] = Struct({10: Struct({1: (3, bytes([64])), 2: Number(1, 1)})})
    assert (
        open_parquet(pa.BufferReader(footer.file()), "f").schema_arrow.field("id").type == "int64"
    )
    element[10][10][2] = Number(2, 0)


def _unit(footer: Footer, column: int, kind: int, unit: int) -> None:
    """Another unit of a time of day (7) or an instant (8): 1 is for ms, 3 for ns."""
    element = _element(footer, column)
    element[6] = Number(5, 8 if kind == 7 else 10)  # TIME_MICROS, TIMESTAMP_MICROS
    element[10][kind][2] = Struct({unit: Struct()})


def _as_instant(footer: Footer) -> None:
    _element(footer, 5)[6] = Number(5, 10)  # TIMESTAMP_MICROS, of a time of day


def _long_values(footer: Footer) -> None:
    del _chunk(footer, 3)[12]  # bounds, which tell the length, too
    _set(_element(footer, 3), 2, 1 << 30)


#: Before release 20 Arrow tells no kind from one that it does not know.
def _bytes(footer: Footer) -> int:
    """What the chunks of the first row group take in the file."""
    group = footer.tree[4].items[0]
    return sum(chunk[3][7].value for chunk in group[1].items)


_LONG_GROUP = "a row group has more bytes than its columns"
_TELLS_NO_KIND = int(pa.__version__.split(".")[0]) >= 20
_NO_KIND = "a logical type of no kind" if _TELLS_NO_KIND else r"that pyarrow 19\.\S+ does not know"
_CONTRADICTIONS: dict[str, tuple[Callable[[Footer], object], str]] = {
    "a codec taken away": (lambda f: _set(_chunk(f, 0), 4, 0), "two sizes, and is not compressed"),
    "another column's pages": (
        lambda f: _set(_chunk(f, 1), 9, _chunk(f, 0).whole(9)),
        "lie where others do",
    ),
    "a dictionary before all": (
        lambda f: _set(_chunk(f, 2), 11, _chunk(f, 0).whole(9)),
        "lie where others do",
    ),
    "pages in the footer": (lambda f: _set(_chunk(f, 3), 7, 5000), "lie where others do"),
    "another scale": (lambda f: _set(_element(f, 1)[10][5], 1, 3), "a decimal has two scales"),
    "another precision": (lambda f: _set(_element(f, 1), 8, 8), "two numbers of digits"),
    "another sign": (_unsigned, "an integer has two widths or signs"),
    "milliseconds": (lambda f: _unit(f, 4, 8, 1), "a time has two units"),
    "nanoseconds": (lambda f: _unit(f, 4, 8, 3), "a time has two units"),
    "old milliseconds": (lambda f: _set(_element(f, 4), 6, 9), "a time has two units"),
    "nanoseconds of a day": (lambda f: _unit(f, 5, 7, 3), "a time has two units"),
    "an instant of a day": (_as_instant, "a time has two units"),
    "another name": (lambda f: _rename(_element(f, 2), b"texu"), "its path is another"),
    "a longer name": (lambda f: _rename(_element(f, 2), b"texts"), "its path is another"),
    "a shorter name": (lambda f: _rename(_element(f, 2), b"tex"), "its path is another"),
    "another path": (lambda f: _lead(f, 3, b"fixee"), "its path is another"),
    "another column's path": (lambda f: _lead(f, 0, b"text"), "its path is another"),
    "a path in two": (lambda f: _lead(f, 2, b"t", b"xt"), "its path is another"),
    "a path of more names": (lambda f: _lead(f, 2, b"text", b"x"), "its path is another"),
    "a path of one name more": (lambda f: _lead(f, 2, b"", b"text"), "its path is another"),
    "a long row group": (lambda f: _set(f.tree[4].items[0], 6, 2 * _bytes(f) + 2), _LONG_GROUP),
    "a row group of less than nothing": (lambda f: _set(f.tree[4].items[0], 6, -1), _LONG_GROUP),
    "no kind of a type": (lambda f: _element(f, 2)[10].clear(), _NO_KIND),
    "a long value": (_long_values, "longer than all of its pages"),
    "another length of values": (
        lambda f: _set(_element(f, 3), 2, 2),
        "a bound has another length",
    ),
    "required": (lambda f: _set(_element(f, 2), 3, 0), "encodings name one of levels"),
    "optional": (lambda f: _set(_element(f, 0), 3, 1), "name none of levels"),
}


@pytest.mark.parametrize("name", _CONTRADICTIONS)
def test_what_a_footer_says_twice_must_agree(name: str) -> None:
    """Sizes, places and types that contradict each other; and a file whose footer does not."""
    rows = pa.table(
        {
            "id": pa.array([1, 2, 3], pa.int64()),
            "price": pa.array([Decimal("1.50")] * 3, pa.decimal128(9, 2)),
            "text": ["a" * 500, "b", "c"],
            "fixed": pa.array([b"abcd"] * 3, pa.binary(4)),
            "instant": pa.array([1, 2, 3], pa.timestamp("us", "UTC")),
            "noon": pa.array([1, 2, 3], pa.time64("us")),
        },
        pa.schema(
            [
                pa.field("id", pa.int64(), nullable=False),
                pa.field("price", pa.decimal128(9, 2)),
                pa.field("text", pa.string()),
                pa.field("fixed", pa.binary(4)),
                pa.field("instant", pa.timestamp("us", "UTC")),
                pa.field("noon", pa.time64("us")),
            ]
        ),
    )
    out = io.BytesIO()
    pq.write_table(rows, out, compression="zstd", store_schema=False)
    edit, why = _CONTRADICTIONS[name]
    footer = Footer(out.getvalue())
    _as_parquet_mr(footer)
    whole = footer.file()
    assert open_parquet(pa.BufferReader(whole), "f").read().equals(rows)
    edit(footer)
    with pytest.raises(RefusedError if "does not know" in why else InputError, match=why):
        open_parquet(pa.BufferReader(footer.file()), "f")


@pytest.mark.parametrize("n_groups", [1, 2])
def test_a_name_that_was_damaged_makes_no_column_null(n_groups: int, tmp_path: Path) -> None:
    """At any depth, by the names that lead to each chunk: without them it looked as if added since.

    Spark and Hive, that is parquet-mr, go by these, and refuse such a file, too.
    """
    rows = pa.table(
        {
            "s": [{"x": 1, "ü": {"z": "a"}}, None],
            "l": [[{"y": 1}], []],
            "m": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
            "a.b": [1, 2],
        }
    )
    out = io.BytesIO()
    pq.write_table(rows, out, row_group_size=2 // n_groups, store_schema=False)
    whole = open_parquet(pa.BufferReader(out.getvalue()), "f")
    assert whole.read().to_pylist() == rows.to_pylist()
    count = len(Footer(out.getvalue()).schema.items)
    assert count == 14
    for number in range(1, count):
        footer = Footer(out.getvalue())
        name = footer.schema.items[number][4].value.decode()
        _rename(footer.schema.items[number], f"{name[:-1]}#".encode())
        with pytest.raises(InputError, match=r"row group 0, column \d: its path is another"):
            open_parquet(pa.BufferReader(footer.file()), "f")
    footer = Footer(out.getvalue())
    _rename(footer.schema.items[2], b"y")
    (tmp_path / "f").write_bytes(footer.file())
    table = HiveTable(str(tmp_path), columns={"a.b": "bigint"}, file_format="parquet")
    with pytest.raises(InputError, match="its path is another than the schema's column has"):
        table.scan().to_table()


def test_a_row_groups_middle_lies_in_the_file() -> None:
    """Spark, and all that read files range by range, look for it there, or pass over the group."""
    out = io.BytesIO()
    pq.write_table(pa.table({"a": [1, 2], "b": ["x", "y"]}), out, store_schema=False)
    footer = Footer(out.getvalue())
    _set(footer.tree[4].items[0], 6, 2 * _bytes(footer) + 1)
    assert open_parquet(pa.BufferReader(footer.file()), "f").read().num_rows == 2
    del footer.tree[4].items[0][6]
    assert open_parquet(pa.BufferReader(footer.file()), "f").read().num_rows == 2


class _Keys(pe.KmsClient):  # type: ignore[misc]  # pyarrow has no types
    def wrap_key(self, key: bytes, name: str) -> bytes:
        """The key itself: nobody has to keep it."""
        del name
        return base64.b64encode(key)


@pytest.mark.parametrize("is_plain", [False, True])
def test_encrypted_files_are_refused_and_not_called_broken(
    tmp_path: Path, *, is_plain: bool
) -> None:
    """Their footers may be encrypted or not; of the latter a column is."""
    made = pe.CryptoFactory(lambda _: _Keys())
    how = pe.EncryptionConfiguration("k", column_keys={"k": ["a"]}, plaintext_footer=is_plain)
    rows = pa.table({"a": [1, 2], "b": [3, 4]})
    properties = made.file_encryption_properties(pe.KmsConnectionConfig(), how)
    with pq.ParquetWriter(tmp_path / "f", rows.schema, encryption_properties=properties) as writer:
        writer.write_table(rows)
    assert ((tmp_path / "f").read_bytes()[-4:] == b"PAR1") == is_plain
    columns = {"a": "bigint", "b": "bigint"}
    with pytest.raises(RefusedError, match=r"it is encrypted"):
        HiveTable(str(tmp_path), columns=columns, file_format="parquet").scan(["b"]).to_table()


@pytest.mark.parametrize("codec", [3, 8, -1])
def test_codecs_that_nobody_here_has_are_refused_as_such(codec: int) -> None:
    """LZO, which Arrow leaves out, and numbers of which Parquet has no codec."""
    out = io.BytesIO()
    pq.write_table(pa.table({"a": [1, 2]}), out, store_schema=False)
    footer = Footer(out.getvalue())
    _set(_chunk(footer, 0), 4, codec)
    with pytest.raises(RefusedError, match="column 0: its codec is LZO, or one that is not known"):
        open_parquet(pa.BufferReader(footer.file()), "f")


@pytest.mark.parametrize("names", [(), (b"",), (b"", b"")])
def test_a_path_of_no_letters_says_nothing(names: tuple[bytes, ...]) -> None:
    """Go's parquet-go leaves such where a writer is used again (parquet-go#602)."""
    out = io.BytesIO()
    pq.write_table(pa.table({"a": [1], "b": [2]}), out, store_schema=False)
    footer = Footer(out.getvalue())
    _lead(footer, 1, *names)
    read = open_parquet(pa.BufferReader(footer.file()), "f").read()
    assert read.to_pylist() == [{"a": 1, "b": 2}]


@pytest.mark.parametrize("levels", [[], [Number(5, 3)]])
def test_row_groups_of_others_in_files_of_parquet_mr_are_read(levels: list[Number]) -> None:
    """It puts them there as they are; DuckDB names no encoding of levels, Arrow always does."""
    kinds = [pa.field("a", pa.int64(), nullable=False), pa.field("b", pa.int64())]
    rows = pa.table([[1, 2], [3, None]], pa.schema(kinds))
    out = io.BytesIO()
    pq.write_table(rows, out, use_dictionary=False, store_schema=False)
    footer = Footer(out.getvalue())
    _as_parquet_mr(footer)
    for _, chunk in footer.chunks():
        chunk[3][2] = Listed(5, [Number(5, 0), *levels])
    assert open_parquet(pa.BufferReader(footer.file()), "f").read().equals(rows)


@pytest.mark.parametrize("batch_rows", [1, 7])
@pytest.mark.parametrize("name", ["one null more", "a struct that is required"])
def test_nulls_that_are_read_are_those_that_the_footer_counts(
    name: str, batch_rows: int, tmp_path: Path
) -> None:
    """Of flat columns and, of parquet-mr, of those within structs; whichever columns are read.

    Levels of a field of a struct that is said to be required are one too high, which Arrow finds in
    pages of other writers, and takes for a null in those of parquet-mr.
    """
    [file] = unpack_delta("evolution", tmp_path).glob("part-00000-b7bb588d*")
    footer = Footer(file.read_bytes())
    for other in tmp_path.rglob("*"):
        if other.is_file() and other != file:
            other.unlink()
    columns = {"k": "int", "s": "struct<a:int,b:string>"}
    table = HiveTable(str(file.parent), columns=columns, file_format="parquet")
    whole = table.scan(batch_rows=batch_rows).to_table().to_pylist()
    assert [row["s"]["a"] is None for row in whole] == [False]
    if name == "one null more":
        _chunk(footer, 1)[12][3] = Number(6, 1)
    else:
        _set(footer.schema.items[4], 3, 0)
    file.write_bytes(footer.file())
    why = {
        "one null more": "column 'k' has 0 nulls, and its footer counts 1",
        "a struct that is required": r"column 's\.a' has 1 null, and its footer counts 0",
    }
    for chosen in (None, [why[name].split("'")[1][0]]):
        with pytest.raises(InputError, match=why[name]):
            table.scan(chosen, batch_rows=batch_rows).to_table()


@pytest.mark.parametrize("writer", ["pyarrow", "polars", "duckdb"])
def test_footers_of_other_writers_are_taken(tmp_path: Path, writer: str) -> None:
    """Columns without a value, without a row, of nothing but NaN, and lists have sound footers."""
    rows = pa.table(
        {
            "none": pa.array([None] * 3, pa.int64()),
            "nan": [float("nan")] * 3,
            "text": ["", None, "ä" * 500],
            "flag": pa.array([None, True, False]),
            "list": pa.array([None, [], [None, 1]], pa.list_(pa.int32())),
            "struct": [{"x": [1.5]}, None, {"x": None}],
        }
    )
    for number, part in enumerate((rows, rows.slice(0, 0))):
        path = tmp_path / f"{number}.parquet"
        if writer == "pyarrow":
            pq.write_table(part, path, write_page_index=True)
        elif writer == "polars":
            pl.DataFrame(part).write_parquet(path)
        else:
            duckdb.from_arrow(part).write_parquet(str(path))
        assert open_parquet(pa.OSFile(str(path)), path.name).read().num_rows == part.num_rows
