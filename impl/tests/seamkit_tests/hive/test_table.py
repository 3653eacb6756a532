"""Hive tables described by hand: descriptors, partitions, stretches of files, properties."""

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

import seamkit
from seambase.errors import InputError, RefusedError, UsageError
from seamkit.files.storage import Storage
from seamkit.tables.hive import line_reader
from seamkit.tables.hive.line_reader import LineReader, without_first, without_last
from seamkit.tables.hive.row_format import DESCRIPTOR, RowFormat
from seamkit.tables.hive.table import HiveTable
from seamkit.tables.hive.types import parse_type
from seamkit_tests.files.test_base_reader import as_arrow_22
from seamkit_tests.samples.avro_schemas import container, optional, record

COLUMNS = {"k": "int", "v": "string"}
COMMA = {"field.delim": ","}
_TWICE = (
    '{"format": "text", "columns": [{"name": "a", "type": "int"}, {"name": "A", "type": "int"}]}'
)
_TRANSACTIONAL = (
    '{"format": "text", "columns": [{"name": "a", "type": "int"}], '
    '"properties": {"transactional": "true"}}'
)


def _table(folder: Path, text: str = "1,a\n2,b\n", **how: Any) -> HiveTable:
    (folder / "f.txt").write_text(text)
    return HiveTable(str(folder), **{"columns": COLUMNS, "properties": COMMA, **how})


def _lines(folder: Path, content: bytes, group_bytes: int, **how: Any) -> LineReader:
    (folder / "f").write_bytes(content)
    kinds = {name: parse_type(text, name) for name, text in COLUMNS.items()}
    format_ = RowFormat(separators=b",", **how)
    return LineReader(Storage(str(folder)), "f", kinds, format_, group_bytes)


def _read(reader: LineReader, batch_rows: int = 3, **how: Any) -> list[Any]:
    schema = reader.schema
    batches = reader.batches(schema, batch_rows, use_threads=False, **how)
    return list(pa.Table.from_batches(list(batches), schema).to_pylist())


def test_a_descriptor_tells_what_lies_in_the_folder(tmp_path: Path) -> None:
    """`open_table` finds it; names become lower case; columns of partitions come last."""
    (tmp_path / "P=7").mkdir()
    (tmp_path / "P=7" / "f").write_text("1|a\n")
    stated = {
        "format": "TextFile",
        "columns": [{"name": "K", "type": "INT"}, {"name": "v", "type": "string"}],
        "partitions": [{"name": "p", "type": "bigint"}],
        "properties": {"field.delim": "|"},
    }
    (tmp_path / DESCRIPTOR).write_text(json.dumps(stated))
    table = seamkit.open_table(tmp_path)
    assert isinstance(table, HiveTable)
    assert table.scan().to_table().to_pylist() == [{"k": 1, "v": "a", "p": 7}]
    assert table.scan(["p", "k"]).to_table().to_pylist() == [{"p": 7, "k": 1}]


@pytest.mark.parametrize(
    ("stated", "error"),
    [
        ("{", InputError),
        ("[]", InputError),
        ('{"format": "text"}', InputError),
        ('{"format": "text", "columns": []}', InputError),
        ('{"format": "text", "columns": [{"name": "a"}]}', InputError),
        ('{"format": "text", "columns": [{"name": "a", "type": "int("}]}', InputError),
        ('{"format": "rcfile", "columns": [{"name": "a", "type": "int"}]}', RefusedError),
        ('{"format": "text", "columns": [{"name": "a", "type": "uniontype<int>"}]}', RefusedError),
        ('{"format": 1, "columns": [{"name": "a", "type": "int"}]}', InputError),
        ('{"format": "text", "columns": [{"name": "a", "type": "int"}], "x": 1}', InputError),
        (_TWICE, InputError),
        (_TRANSACTIONAL, RefusedError),
    ],
)
def test_a_descriptor_that_makes_no_sense_is_refused(
    tmp_path: Path, stated: str, error: type[Exception]
) -> None:
    """One sentence that names the file."""
    (tmp_path / DESCRIPTOR).write_text(stated)
    with pytest.raises(error, match=DESCRIPTOR):
        HiveTable(str(tmp_path))


@pytest.mark.parametrize("absolute", [True, False])
def test_a_descriptor_may_lie_in_another_folder_than_the_files(
    tmp_path: Path, absolute: bool
) -> None:
    """Files of other programs stay as they are: `location` names their folder."""
    files, folder = tmp_path / "files", tmp_path / "described"
    (files / "p=7").mkdir(parents=True)
    folder.mkdir()
    (files / "p=7" / "f").write_text("1,a\n")
    stated = {
        "format": "text",
        "columns": [{"name": "k", "type": "int"}, {"name": "v", "type": "string"}],
        "partitions": [{"name": "p", "type": "int"}],
        "properties": COMMA,
        "location": str(files) if absolute else "../files",
    }
    (folder / DESCRIPTOR).write_text(json.dumps(stated))
    table = seamkit.open_table(str(folder))
    assert table.scan().to_table().to_pylist() == [{"k": 1, "v": "a", "p": 7}]


@pytest.mark.parametrize("location", [7, "", ["a"], "gone"])
def test_a_location_that_is_no_folder_is_refused(tmp_path: Path, location: Any) -> None:
    """A table without files has an empty folder, not none."""
    stated = {"format": "text", "columns": [{"name": "k", "type": "int"}], "location": location}
    (tmp_path / DESCRIPTOR).write_text(json.dumps(stated))
    with pytest.raises(InputError, match=r"location|no such folder"):
        HiveTable(str(tmp_path))


@pytest.mark.parametrize(
    ("properties", "error"),
    [
        ({"textinputformat.record.delimiter": ";"}, RefusedError),
        ({"timestamp.formats": "yyyy"}, RefusedError),
        ({"line.delim": ";"}, RefusedError),
        ({"collection.delim": ";"}, RefusedError),
        ({"serialization.encoding": "UTF-16"}, RefusedError),
        ({"serialization.encoding": "klingon"}, RefusedError),
        ({"skip.header.line.count": "-1"}, UsageError),
        ({"skip.footer.line.count": "x"}, UsageError),
    ],
)
def test_properties_that_are_not_followed_are_refused(
    tmp_path: Path, properties: dict[str, str], error: type[Exception]
) -> None:
    """By name, since rows would be others; files of columns have no such rows."""
    with pytest.raises(error):
        _table(tmp_path, properties=properties)
    pq.write_table(_SWAPPED, tmp_path / "f.txt")
    columns = {"k": "int"}
    table = HiveTable(tmp_path, columns=columns, file_format="parquet", properties=properties)
    assert table.scan().to_table().to_pylist() == [{"k": 2}]


@pytest.mark.parametrize(
    ("format_name", "row"), [("csv", '7,"é"'), ("json", '{"v": "é", "k": "7"}')]
)
@pytest.mark.parametrize("encoding", ["ISO-8859-1", "UTF-16", "klingon"])
def test_other_rows_than_text_have_no_encoding(
    tmp_path: Path, format_name: str, row: str, encoding: str
) -> None:
    """Their serdes pass over what a table states."""
    (tmp_path / "f").write_text(row, encoding="utf-8")
    table = HiveTable(
        str(tmp_path),
        columns={"k": "string", "v": "string"},
        file_format=format_name,
        properties={"serialization.encoding": encoding},
    )
    assert table.scan().to_table().to_pylist() == [{"k": "7", "v": "é"}]


def test_every_cut_of_a_file_gives_the_same_rows(tmp_path: Path) -> None:
    """Stretches of any length have each line once, whatever ends it; a header only the first."""
    content = b"\xef\xbb\xbfk,v\n1,a\r\n2,bb\r3,ccc\n\n4,d\n\n5,e"
    whole = _read(_lines(tmp_path, content, 1 << 20, header_lines=1))
    assert [row["k"] for row in whole] == [1, 2, 3, None, 4, None, 5]
    for size in range(7, len(content) + 1):
        reader = _lines(tmp_path, content, size, header_lines=1)
        assert reader.num_row_groups == -(-len(content) // size)
        assert _read(reader) == whole
        apart = [_read(reader, row_groups=[n]) for n in range(reader.num_row_groups)]
        assert [row for rows in apart for row in rows] == whole
        assert reader.num_rows == len(whole)


def test_a_header_longer_than_the_first_stretch_is_refused(tmp_path: Path) -> None:
    """Its other lines would be rows of the next stretch."""
    with pytest.raises(InputError, match="header"):
        _read(_lines(tmp_path, b"1,a\n" * 10, 8, header_lines=5))


def test_batches_of_long_rows_stay_small(tmp_path: Path) -> None:
    """What waits in memory is bounded by bytes of text, and not by rows alone."""
    reader = _lines(tmp_path, (b"1," + b"x" * (1 << 20) + b"\n") * 40, 1 << 26)
    sizes = [batch.num_rows for batch in reader.batches(reader.schema, 1 << 17, use_threads=False)]
    assert sum(sizes) == 40
    assert max(sizes) <= 14


def test_columns_come_as_they_are_wanted(tmp_path: Path) -> None:
    """A reader parses a row's fields in their order, and hands them out in the schema's."""
    reader = _lines(tmp_path, b"1,a\n2,b\n", 4)
    names = reader.schema.names[::-1]
    schema = pa.schema([reader.schema.field(name) for name in names])
    batches = list(reader.batches(schema, 3, use_threads=False))
    assert [batch.schema.names for batch in batches] == [names] * len(batches)
    assert pa.Table.from_batches(batches).column("v").to_pylist() == ["a", "b"]


def test_lines_longer_than_a_block_are_read(tmp_path: Path) -> None:
    """Blocks grow with them, in plain files and in compressed ones."""
    text = "x" * 9_000_000
    (tmp_path / "a.txt").write_text(f"1,{text}\n2,b\n")
    (tmp_path / "b.gz").write_bytes(gzip.compress(f"3,{text}\n4,d".encode(), 1))
    table = HiveTable(str(tmp_path), columns=COLUMNS, properties=COMMA).scan().to_table()
    found = {row["k"]: len(row["v"]) for row in table.to_pylist()}
    assert found == {1: 9_000_000, 2: 1, 3: 9_000_000, 4: 1}


@pytest.mark.parametrize("count", range(9))
def test_rows_are_left_out_at_both_ends(count: int) -> None:
    """Whatever batches they lie in."""
    whole = list(range(7))
    batches = [pa.record_batch({"k": part}) for part in (whole[:2], whole[2:3], whole[3:])]
    first = [k for b in without_first(iter(batches), count) for k in b.column(0).to_pylist()]
    last = [k for b in without_last(iter(batches), count) for k in b.column(0).to_pylist()]
    assert first == whole[count:]
    assert last == whole[: max(0, 7 - count)]


def test_filters_and_counts(tmp_path: Path) -> None:
    """A filter over columns that are not handed out, an empty file, a count without columns."""
    (tmp_path / "empty").write_bytes(b"")
    table = _table(tmp_path)
    assert table.scan(["v"], filter=pc.field("k") > 1).to_table().to_pylist() == [{"v": "b"}]
    assert table.scan().count_rows() == 2
    assert table.scan([]).to_table().num_rows == 2


def test_a_text_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    """Hive would show another character; with its encoding stated it is read."""
    (tmp_path / "f").write_bytes(b"1,\xe9\n")
    table = HiveTable(str(tmp_path), columns=COLUMNS, properties=COMMA)
    with pytest.raises(InputError, match="'v'"):
        table.scan().to_table()
    # A column that is not asked for is not looked at.
    assert table.scan(["k"]).to_table().to_pylist() == [{"k": 1}]


def test_events_of_a_transactional_table_are_no_rows(tmp_path: Path) -> None:
    """A delta's folder taken for a table: Hive itself ends in an error there."""
    names = ["operation", "originalTransaction", "bucket", "rowId", "currentTransaction"]
    table = pa.table({name: [0] for name in names} | {"row": [{"k": 1, "v": "a"}]})
    orc.write_table(table, tmp_path / "bucket_00000")
    with pytest.raises(RefusedError, match="events of a transactional table"):
        HiveTable(tmp_path, columns=COLUMNS, file_format="orc").scan().to_table()
    stated = dict.fromkeys(names, "bigint") | {"row": "struct<k:bigint,v:string>"}
    found = HiveTable(tmp_path, columns=stated, file_format="orc").scan(columns=["row"])
    assert found.to_table().to_pylist() == [{"row": {"k": 1, "v": "a"}}]


_POSITIONS = {
    "parquet": {"parquet.column.index.access": "true"},
    "orc": {"orc.force.positional.evolution": "TRUE"},
    "avro": {"avro.column.index.access": "true"},
}
_SWAPPED = pa.table({"v": pa.array([1], pa.int32()), "k": pa.array([2], pa.int32())})


@pytest.mark.parametrize("stated", _POSITIONS)
@pytest.mark.parametrize("own", _POSITIONS)
def test_columns_are_found_by_position_where_a_property_of_their_format_says_so(
    own: str, stated: str, tmp_path: Path
) -> None:
    """Hive's reader of each format looks at its own: tables keep those of files that they had."""
    file = tmp_path / "f"
    if own == "avro":
        file.write_bytes(container(record(v="int", k="int"), _SWAPPED.to_pylist()))
    else:
        (orc if own == "orc" else pq).write_table(_SWAPPED, file)
    how = {"columns": {"k": "int", "v": "int"}, "file_format": own}
    table = HiveTable(tmp_path, properties=_POSITIONS[stated], **how)  # type: ignore[arg-type]
    by_position = own == stated != "avro"
    assert table.scan().to_table().to_pylist() == [
        {"k": 1, "v": 2} if by_position else {"k": 2, "v": 1}
    ]
    assert table.scan(["k"], filter="v = 2").to_table().num_rows == by_position


@pytest.mark.parametrize(
    ("kind", "logical", "column"),
    [
        ("long", "timestamp-micros", "bigint"),
        ("long", "timestamp-millis", "bigint"),
        ("long", "local-timestamp-micros", "bigint"),
        ("long", "time-micros", "bigint"),
        ("int", "time-millis", "int"),
        ("int", "date", "int"),
    ],
)
def test_a_number_of_avro_is_one_whatever_it_counts(
    kind: str, logical: str, column: str, tmp_path: Path
) -> None:
    """As Hive's classes read it, whose own schema of such a column says nothing else."""
    counted = optional({"type": kind, "logicalType": logical})
    rows: list[dict[str, Any]] = [
        {"n": 7, "s": {"x": 70000}},
        {"n": None, "s": None},
        {"n": -8, "s": {"x": -1}},
    ]
    schema = record(n=counted, s=optional(record("s", x=counted)))
    (tmp_path / "f").write_bytes(container(schema, rows))
    columns = {"n": column, "s": f"struct<x:{column}>"}
    table = HiveTable(tmp_path, columns=columns, file_format="avro")
    assert table.scan().to_table().to_pylist() == rows
    assert table.scan(["s"], filter="n = 7").to_table().to_pylist() == [{"s": {"x": 70000}}]


@pytest.mark.parametrize("own", _POSITIONS)
def test_whole_numbers_become_the_nearest_ones_with_a_floating_point(
    own: str, tmp_path: Path
) -> None:
    """As Hive's classes cast them where `ALTER TABLE` changed the column's type."""
    longs = [(1 << 53) + 1, -((1 << 24) + 1), None, 5]
    rows = pa.table({"d": longs, "f": longs, "s": [{"x": one} for one in longs]})
    file = tmp_path / "f"
    if own == "avro":
        long = optional("long")
        schema = record(d=long, f=long, s=record("s", x=long))
        file.write_bytes(container(schema, rows.to_pylist()))
    else:
        (orc if own == "orc" else pq).write_table(rows, file)
    columns = {"d": "double", "f": "float", "s": "struct<x:double>"}
    table = HiveTable(tmp_path, columns=columns, file_format=own)
    doubles = [9007199254740992.0, -16777217.0, None, 5.0]
    found = table.scan().to_table().to_pydict()
    assert found["d"] == [one["x"] for one in found["s"]] == doubles
    assert found["f"] == [9007199254740992.0, -16777216.0, None, 5.0]
    for test in ("d = 9007199254740992", "f = -16777216", "d > 5 AND f > 5"):
        assert table.scan(["d"], filter=test).to_table().num_rows == 1


@pytest.mark.parametrize("level", ["0", "2"])
def test_fields_by_position_are_refused(level: str, tmp_path: Path) -> None:
    """ORC goes by position as deep as a property says; the default is the columns alone."""
    orc.write_table(_SWAPPED, tmp_path / "f")
    properties = {"orc.force.positional.evolution.level": level}
    how: dict[str, Any] = {"columns": {"k": "int", "v": "int"}, "file_format": "orc"}
    for stated, values in ((properties, [2, 1]), (properties | _POSITIONS["orc"], [])):
        scan = HiveTable(tmp_path, properties=stated, **how).scan()
        if values:
            assert [*scan.to_table().to_pylist()[0].values()] == values
            continue
        with pytest.raises(RefusedError, match=f"evolution.level is {level}; fields of structs"):
            scan.to_table()


@pytest.mark.parametrize("stored", ["INT64", "INT96", "INT96 by Arrow 22"])
def test_digits_below_a_microsecond_are_cut_off_before_1970_too(
    stored: str, tmp_path: Path
) -> None:
    """So Hive's classes show them (`NanoTimeUtils`), as do texts and ORC: 1969 stays 1969."""
    numbers = [-1, -1_000, -1_001, -86_400 * 10**9 - 1, None, 1, 1_999]
    times = pa.array(numbers, pa.timestamp("ns"))
    how: dict[str, Any] = {"use_dictionary": False, "compression": "none"}
    file, is_96 = tmp_path / "a", stored != "INT64"
    rows = pa.table({"t": times, "k": range(len(times))})
    pq.write_table(rows, file, use_deprecated_int96_timestamps=is_96, **how)
    if stored.endswith("22"):
        as_arrow_22(file, times)
    columns = {"t": "timestamp", "k": "bigint"}
    table = HiveTable(str(tmp_path), columns=columns, file_format="parquet")
    found = table.scan().to_table()["t"].cast(pa.int64()).to_pylist()
    assert found == [None if one is None else one // 1_000 for one in numbers]
    before = table.scan(filter="t < TIMESTAMP '1970-01-01 00:00:00'")
    assert before.to_table()["k"].to_pylist() == [0, 1, 2, 3]


_OLD = record(k="int", w="string", s=record("s", x="int"))
_NULL = {"type": optional("string"), "default": None}


@pytest.mark.parametrize(
    ("name", "field", "lacks"),
    [
        # What Hive 2.3's classes read of the file's one row stands behind each.
        ("d", {"type": "string", "default": "dd"}, "d"),  # dd
        ("v", {**_NULL, "aliases": ["w"]}, "v"),  # a
        ("K", {"type": ["int", "null"], "default": 9}, "K"),  # 9
        ("K", {"type": optional("int"), "default": None}, "K"),  # null
        ("d", {"type": optional("string")}, "d"),  # an error: no default
        ("s", {"type": record("s", x="int")}, None),  # 7
        ("s", {"type": record("s", y="string")}, "s.y"),
        ("d", _NULL, None),  # null
        ("w", {"type": "string", "default": "dd"}, None),  # a
    ],
)
def test_avro_schemas_of_tables(
    tmp_path: Path, name: str, field: dict[str, Any], lacks: str | None
) -> None:
    """A column that Hive's own schema gives a value is refused, and other columns are read."""
    row = {"k": 1, "w": "a", "s": {"x": 7}}
    (tmp_path / "f").write_bytes(container(_OLD, [row]))
    kind = "struct<x:int,y:string>" if lacks == "s.y" else "struct<x:int>"
    columns = {"k": "int", "w": "string", "d": "string", "v": "string", "s": kind}
    literal = {"type": "record", "name": "r", "fields": [{"name": name, **field}]}
    stated = {"avro.schema.literal": json.dumps(literal), "avro.schema.url": "hdfs://a/b"}
    for properties in (stated, stated | {"avro.schema.literal": "none"}):
        table = HiveTable(tmp_path, columns=columns, file_format="avro", properties=properties)
        assert table.scan(["w"]).to_table().to_pylist() == [{"w": "a"}]
        at_address = properties["avro.schema.literal"] == "none"
        missing = (name if name in "dv" or lacks == "s.y" else None) if at_address else lacks
        scan = table.scan([name.lower()])
        if missing is None:
            assert scan.to_table().to_pylist() == [{name.lower(): row.get(name.lower())}]
            continue
        with pytest.raises(RefusedError, match=f"lacks '{missing}'.*avro.schema"):
            scan.to_table()


@pytest.mark.filterwarnings("ignore::seambase.scan.TableWarning")
def test_what_lies_beside_partitions_is_told(tmp_path: Path) -> None:
    """A warning, and an error with `strict`; hidden names and folders of data are another thing."""
    (tmp_path / "p=1").mkdir()
    (tmp_path / "p=1" / "f").write_text("1,a\n")
    (tmp_path / "stray").write_text("2,b\n")
    (tmp_path / "_hidden").write_text("3,c\n")
    table = HiveTable(str(tmp_path), columns=COLUMNS, partitions={"p": "int"}, properties=COMMA)
    scan = table.scan()
    assert scan.count_rows() == 1
    assert [warning.file for warning in scan.report().warnings] == [f"{tmp_path}/stray"]
    with pytest.raises(InputError, match="stray"):
        table.scan(strict=True)
    (tmp_path / "p=1" / "below").mkdir()
    with pytest.raises(RefusedError, match="below"):
        table.scan()
    (tmp_path / "p=1" / "below").rename(tmp_path / "p=1" / "delta_0000001_0000001")
    with pytest.raises(RefusedError, match="transactional"):
        table.scan()


def test_a_partition_value_that_is_none_of_its_type_is_refused(tmp_path: Path) -> None:
    """It names folder, column and type."""
    (tmp_path / "p=x").mkdir()
    table = HiveTable(str(tmp_path), columns=COLUMNS, partitions={"p": "int"})
    with pytest.raises(InputError, match=r"p=x: column 'p': the partition value 'x' is no int"):
        table.scan()


def test_arguments_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    """Properties without columns, a past, another view, types that are none."""
    with pytest.raises(UsageError):
        HiveTable(str(tmp_path), properties=COMMA)
    table = _table(tmp_path)
    with pytest.raises(UsageError):
        table.scan(as_of=1)  # type: ignore[arg-type]
    with pytest.raises(RefusedError):
        table.scan(query="incremental")  # type: ignore[arg-type]
    for text in (
        "",
        "int(3)",
        "decimal(39,0)",
        "map<array<int>,int>",
        "struct<>",
        "array<int",
        "x",
    ):
        with pytest.raises(UsageError):
            parse_type(text, "column")
    deep = "array<" * 12 + "int" + ">" * 12
    with pytest.raises(RefusedError, match="separators"):
        _table(tmp_path, columns={"a": deep}).scan().to_table()


@pytest.mark.parametrize("ending", [b"\n2,b\n", b""])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("before", [0, 3, 20])
def test_a_line_without_an_end_in_sight_is_refused(
    before: int, packed: bool, ending: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line may be as long as the bound; the error names the byte at which a longer one begins."""
    monkeypatch.setattr(line_reader, "_BLOCK_BYTES", 16)
    monkeypatch.setattr(line_reader, "_MOST_LINE_BYTES", 256)

    def table(line: bytes) -> HiveTable:
        content = b"1,a\n" * before + line + ending
        name = "f.gz" if packed else "f"
        (tmp_path / name).write_bytes(gzip.compress(content) if packed else content)
        return HiveTable(str(tmp_path), columns=COLUMNS, properties=COMMA)

    text = "x" * 254
    read = table(b"7," + text.encode()).scan(threads=1).to_table()
    assert read["v"].to_pylist() == ["a"] * before + [text] + ["b"] * bool(ending)
    longer = table(b"7," + b"x" * 1000).scan(threads=1)
    with pytest.raises(InputError, match=rf"of over 256 bytes \(at byte {4 * before}\)"):
        longer.to_table()


def test_a_line_across_stretches_is_refused_by_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stretch that begins within such a line looks for its end no further, either."""
    monkeypatch.setattr(line_reader, "_BLOCK_BYTES", 16)
    monkeypatch.setattr(line_reader, "_MOST_LINE_BYTES", 256)
    reader = _lines(tmp_path, b"1," + b"x" * 2000 + b"\n", 100)
    for group in (0, 1, 7):
        with pytest.raises(InputError, match="of over 256 bytes"):
            _read(reader, row_groups=[group])


def test_a_folder_without_a_descriptor_says_what_one_needs(tmp_path: Path) -> None:
    """Files alone do not tell what is in them; the arguments do as well."""
    (tmp_path / "a.txt").write_text("1\n")
    with pytest.raises(InputError, match=r"write it \(docs/hive.md\), or pass columns="):
        HiveTable(str(tmp_path))
    told = HiveTable(str(tmp_path), columns={"k": "int"}, file_format="text")
    assert told.scan().to_table().to_pylist() == [{"k": 1}]


@pytest.mark.parametrize(
    ("row", "a", "b"),
    [
        ('{"A": 1, "a": 2, "b": "x"}', 2, "x"),
        ('{"a": 1, "A": 2, "a": 3}', 3, None),
        ('{"_col0": 5, "_col1": "y"}', 5, "y"),
        ('{"_col0": 5, "a": 6}', 6, None),
        ('{"a": 6, "_col0": 5}', 5, None),
        ('{"_COL0": 5, "_col": 7, "x_col0": 8}', None, None),
        ('{"_col7": 5}', "_col7", None),
        ('{"_col00": 5}', "_col00", None),
    ],
)
def test_a_column_of_json_has_the_last_value_that_names_it(
    tmp_path: Path, row: str, a: int | str | None, b: str | None
) -> None:
    """As Hive 2.3.9's JsonSerDe reads each, which ends at a place that is none of a column."""
    (tmp_path / "f").write_text(f'{row}\n{{"s": {row}}}\n')
    columns = {"a": "int", "b": "string", "s": "struct<a:int,b:string>"}
    table = HiveTable(str(tmp_path), columns=columns, file_format="json")
    if isinstance(a, str):
        with pytest.raises(InputError, match=f"'{a}' is no place of 3 columns"):
            table.to_arrow()
        return
    struct = {"a": None, "b": None, "s": {"a": a, "b": b}}
    assert table.to_arrow().to_pylist() == [{"a": a, "b": b, "s": None}, struct]


@pytest.mark.parametrize(
    ("kind", "value", "alike"),
    [
        ("boolean", 'true, "b": null', True),
        ("boolean", '"false"', True),
        ("boolean", "1", False),
        ("boolean", '"TRUE"', False),
        ("boolean", '" true"', False),
        ("string", "-5", True),
        ("string", "1.10", False),
        ("string", "-0", False),
        ("string", "1e3", False),
        ("varchar(3)", "1.10", False),
        ("decimal(20,10)", "12.3400", True),
        ("decimal(20,10)", "1234567890123456789", True),
        ("decimal(20,10)", "123456789.123456789", False),
        ("double", "1.10", True),
        ("int", '1, "a": 2', False),
        ("int", '1, "A": 2', True),
        ("int", '1, "_col0": 2', False),
        ("int", '1, "z": [1.10, {"y": 1}]', True),
        ("array<boolean>", "[true, 1]", False),
        ("map<boolean,int>", '{"TRUE": 1}', False),
        ("map<string,string>", '{"x": 1.10}', False),
        ("struct<x:string>", '{"X": 1.10}', False),
        ("struct<x:int>", '{"_col0": 1}', False),
    ],
)
def test_json_of_which_hives_own_serde_makes_other_values_is_refused(
    tmp_path: Path, kind: str, value: str, alike: bool
) -> None:
    """As Hive 4.0.1's class does, where Hive 3's has HCatalog's rules; the table tells neither."""
    (tmp_path / "f").write_text(f'{{"a": {value}}}\n')
    ours, hives = (
        HiveTable(str(tmp_path), columns={"a": kind}, file_format=name)
        for name in ("json", "org.apache.hadoop.hive.serde2.JsonSerDe")
    )
    if alike:
        assert hives.to_arrow() == ours.to_arrow()
        return
    assert ours.to_arrow().num_rows == 1
    with pytest.raises(RefusedError, match=r"f: of the line .* makes other values since version 4"):
        hives.to_arrow()


@pytest.mark.parametrize("kind", ["int", "double"])
@pytest.mark.parametrize("key", ["1_0", " 7", "\u0663"])
def test_a_key_of_json_that_is_no_number_of_java_is_refused(
    tmp_path: Path, kind: str, key: str
) -> None:
    """What Python alone takes for a number is no key of a map of numbers, and ends the read."""
    for text, name in (("10", "good"), (key, "bad")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "f").write_text(json.dumps({"m": {text: 5}}))
    good, bad = (
        HiveTable(str(tmp_path / name), columns={"m": f"map<{kind},int>"}, file_format="json")
        for name in ("good", "bad")
    )
    assert good.to_arrow()["m"].to_pylist() == [[(10, 5)]]
    with pytest.raises(InputError, match=f"f: column 'm': '{key}' is no {kind}"):
        bad.to_arrow()
