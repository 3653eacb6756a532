"""Damaged golden tables: each mutation is read as before, told, or refused by name."""

import io
import json
import struct
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from seambench.formats.forms.footer import Footer
from seambench_suites.mutations.__main__ import Reasons, main
from seambench_suites.mutations.changes import (
    OPERATIONS,
    Mutation,
    contents,
    mutated,
    place,
    random_mutation,
)
from seambench_suites.mutations.footer_fields import random_field
from seambench_suites.mutations.worker import _with_numbers


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A folder of some files."""
    (tmp_path / "sub").mkdir()
    for number, name in enumerate(("a", "b", "sub/c")):
        (tmp_path / name).write_bytes(bytes(range(number, number + 5)))
    (tmp_path / "nothing").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("mutation", "expected"),
    [
        (Mutation("a", "flip", 17), {"a": b"\0\1\0\3\4"}),
        (Mutation("a", "cut", 2), {"a": b"\0\1"}),
        (Mutation("a", "empty"), {"a": b""}),
        (Mutation("sub/c", "remove"), {"sub/c": None}),
        (Mutation("a", "swap", other="b"), {"a": b"\1\2\3\4\5", "b": b"\0\1\2\3\4"}),
    ],
)
def test_a_mutation_lasts_as_long_as_its_context(
    table: Path, mutation: Mutation, expected: dict[str, bytes | None]
) -> None:
    """Its file is changed as it says, no other one is, and all are as before in the end."""
    whole = contents(table)
    with mutated(table, whole, mutation):
        left = {n: c for n, c in {**whole, **expected}.items() if c is not None}
        assert contents(table) == left
    assert contents(table) == whole


def test_mutations_come_from_the_seed_alone(table: Path) -> None:
    """The same seed gives the same ones; all operations come, and all files."""
    whole = contents(table)
    first, second = (
        [random_mutation(whole, random) for _ in range(300)] for random in (Random(5), Random(5))
    )
    assert first == second
    assert {mutation.operation for mutation in first} == set(OPERATIONS)
    assert {mutation.file for mutation in first} == set(whole)


FORMATS = ("delta", "hive", "hudi", "iceberg", "paimon")


@pytest.mark.parametrize("format_", FORMATS)
def test_readers_tell_of_damage(format_: str, capsys: pytest.CaptureFixture[str]) -> None:
    """No crash, no hang, no exception without a name, no other rows in silence."""
    code = main(["--format", format_, "--impl", "auto", "--count", "40", "--seed", "1"])
    assert code == 0, capsys.readouterr().out


def test_a_reason_that_explains_nothing_is_told() -> None:
    """A pattern that fits many mutations of which none is silent, or a reason that fits none.

    That second only in a whole run, and where one pattern of it fits, another one need not.
    """
    reasons = Reasons([["*: flip * a {*"], ["*: flip * b {*", "*: swap * b {*"], ["*: cut * {*"]])
    for number in range(400):
        assert not reasons.explain(f"table: flip bit {number} a {{}}", is_silent=False)
    assert reasons.explain("table: flip bit 1 b {}", is_silent=True)
    assert not reasons.explain("table: flip bit 1 c {}", is_silent=True)
    assert reasons.needless(False) == ["*: flip * a {* (400 fit)"]
    assert reasons.needless(True) == ["*: flip * a {* (400 fit)", "*: cut * {* (0 fit)"]
    assert reasons.explain("table: cut to 3 a {}", is_silent=True)  # as what is planted is
    assert reasons.needless(True) == ["*: flip * a {* (400 fit)"]


_HEADER = "part-00000-2a023610-4a6f-47da-8a19-862f9e89e058-c000"
_CUT = '{{ table = "avro-written", file = "{}", operation = "cut", at = {} }}'


@pytest.mark.parametrize(
    ("pattern", "at", "says"),
    [
        ("avro-*: cut to * between blocks {*", 1187, ""),
        ("avro-*: cut to 1 * between blocks {*", 1187, "auto: silent: avro-written: cut to 1187"),
        ("avro-*: cut to * between blocks {*", 1188, "auto: told: avro-written: cut to 1188"),
    ],
)
def test_what_is_planted_is_done_in_each_run_and_must_be_silent(
    pattern: str, at: int, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A reason that chance seldom needs is proved by it: behind the header, and within a block."""
    reason = f"patterns = ['{pattern}']\nplanted = [{_CUT.format(_HEADER, at)}]\n"
    explained = tmp_path / "explained.toml"
    explained.write_text(f"[[hive.silent]]\n{reason}")
    arguments = ["--format", "hive", "--impl", "auto", "--count", "0", "--explained"]
    assert main([*arguments, str(explained)]) == (1 if says else 0)
    out = capsys.readouterr().out
    assert says in out
    assert ("1 explained" in out) == (not says)


def test_what_is_planted_in_no_table_is_an_error(tmp_path: Path) -> None:
    """A name that is none would never be done, and its reason never be proved."""
    explained = tmp_path / "explained.toml"
    planted = _CUT.format("a", 1).replace("written", "unwritten")
    explained.write_text(f"[[hive.silent]]\npatterns = []\nplanted = [{planted}]\n")
    with pytest.raises(SystemExit):
        main(["--format", "hive", "--impl", "auto", "--count", "1", "--explained", str(explained)])


def test_a_reader_that_reads_on_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    """One that takes whatever it can read for the table is not taken for a careful one."""
    wrong = "seambench_suites.meta.lenient_reader:ReadsOn"
    arguments = ["--format", "hudi", "--impl", wrong, "--count", "100", "--table", "mor-v9-event"]
    assert main(arguments) == 1
    assert "silent" in capsys.readouterr().out


def test_a_reader_that_reads_nothing_is_no_pass(capsys: pytest.CaptureFixture[str]) -> None:
    """Where no table could be read undamaged, nothing was found out."""
    wrong = "seambench_suites.meta.wrong_readers:Raising"
    arguments = ["--format", "hudi", "--impl", wrong, "--count", "20", "--table", "mor-v9-event"]
    assert main(arguments) == 1
    assert "nothing is known" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("format_", FORMATS)
def test_readers_tell_of_much_damage(format_: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Twenty thousand of them; and every reason in `explained.toml` is needed."""
    code = main(["--format", format_, "--impl", "auto", "--count", "20000", "--seed", "2"])
    assert code == 0, capsys.readouterr().out


def _told(name: str, content: bytes, at: int, **others: bytes) -> str:
    """What is said of a bit that is turned in a byte of a file."""
    return place(Mutation(name, "flip", 8 * at), {name: content, **others})


@pytest.mark.parametrize(
    ("text", "said"),
    [("merge", " in options.a.b key"), ("5", " in fields.*.id value"), ("]", " in fields.* mark")],
)
def test_a_bit_of_json_is_told_by_its_place(text: str, said: str) -> None:
    """Names down to the value, so that a reason can name what it is about."""
    content = b'{"fields": [{"id": 1}, {"id": 5}], "options": {"a.b": "merge", "c": "d"}}'
    at = content.index(text.encode()) if text != "merge" else content.index(b"a.b")
    assert _told("schema-0", content, at) == said
    assert place(Mutation("schema-0", "cut", at), {"schema-0": content}) == ""
    assert _told("data", b"a text", 1) == ""


def test_a_cut_of_avro_is_told_where_what_is_left_is_whole() -> None:
    """Behind the header or a block, and nowhere else."""
    out = io.BytesIO()
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "long"}]}
    fastavro.writer(out, schema, [{"a": 1}, {"a": 2}], sync_interval=1)
    content = out.getvalue()
    marker = content[-16:]
    ends = [at + 16 for at in range(len(content)) if content.startswith(marker, at)]
    assert len(ends) == 3
    whole = {"a.avro": content}
    said = {at: place(Mutation("a.avro", "cut", at), whole) for at in range(len(content))}
    found = {at: one for at, one in said.items() if one}
    assert found == dict.fromkeys(ends[:-1], " between blocks")


def test_a_bit_of_parquet_is_told_by_its_place() -> None:
    """In a page or its header, in a field of the footer by its numbers, in an index, at the end."""
    out = io.BytesIO()
    rows = pa.table({"first": ["abc", "def"], "second": [1.5, 2.5]})
    pq.write_table(rows, out, use_dictionary=False, compression="none", write_page_index=True)
    content = out.getvalue()
    metadata = pq.read_metadata(io.BytesIO(content))
    row_group = metadata.row_group(0)
    page = content.index(struct.pack("<dd", 1.5, 2.5))
    header = row_group.column(1).data_page_offset
    names = content.index(b"schema")
    said = partial(_told, "a.parquet", content)
    assert said(page) == said(page + 15) == said(content.index(b"abc")) == " in page"
    assert said(header) == " in header 1"
    assert said(content.index(b"second", names)) == " in footer 2.*.4"
    assert said(content.rindex(b"second")) == " in footer 4.*.1.*.3.3.*"
    assert said(page + 16) == " in rest"
    assert said(len(content) - 8) == said(len(content) - 1) == " in tail"


def _avro_file(codec: str) -> bytes:
    """Two records with a union, a list and a map."""
    tags = {"type": "array", "items": {"type": "fixed", "name": "f", "size": 3}}
    kinds = {"path": ["null", "string"], "tags": tags, "more": {"type": "map", "values": "string"}}
    fields = [{"name": name, "type": kind} for name, kind in kinds.items()]
    schema = {"type": "record", "name": "r", "fields": fields}
    rows = [
        {"path": "first", "tags": [b"abc", b"xyz"], "more": {"name": "value"}},
        {"path": None, "tags": [], "more": {"other": "second"}},
    ]
    out = io.BytesIO()
    fastavro.writer(out, schema, rows, codec=codec, metadata={"by": "a test"})
    return out.getvalue()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"bj\1", "magic"),
        (b"by", "header by key"),
        (b"a test", "header by value"),
        (b"avro.codec", "header avro.codec key"),
        (b'"tags"', "header avro.schema fields.*.name value"),
        (b"first", "record path"),
        (b"xyz", "record tags.*"),
        (b"\x0aother", "record more.key"),
        (b"second", "record more.*"),
    ],
)
def test_a_bit_of_avro_is_told_by_its_place(text: bytes, said: str) -> None:
    """In an entry of the header, down to a name of the schema, or in a field of a record."""
    content = _avro_file("null")
    assert _told("a", content, content.index(text)) == f" in {said}"


def test_a_bit_of_a_block_of_avro_is_told_by_its_place() -> None:
    """Number of records, length and mark of a block; records that are compressed have no places."""
    content = _avro_file("deflate")
    mark = content[-16:]
    begin = content.index(mark) + 16
    said = partial(_told, "a", content)
    assert said(begin - 1) == " in header sync"
    assert said(begin) == " in block count"
    assert said(begin + 1) == " in block size"
    assert said(len(content) - 17) == " in block data"
    assert said(len(content) - 1) == " in block sync"


def _log_block(kind: int, content: bytes, schema: str) -> bytes:
    """A block of a log of Hudi as its format says: all numbers with the highest byte first."""
    header = struct.pack(">i", 2)
    for key, text in ((0, b"20240101"), (2, schema.encode())):
        header += struct.pack(">ii", key, len(text)) + text
    inner = struct.pack(">ii", 1, kind) + header + struct.pack(">q", len(content)) + content
    inner += struct.pack(">i", 0)
    size = len(inner) + 8
    return b"#HUDI#" + struct.pack(">q", size) + inner + struct.pack(">q", size + 6)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"UDI#", "block magic"),
        (b"20240101", "header 0"),
        (b"record", "header 2"),
        (b"\x0afirst", "record k"),
        (b"irst", "record k"),
        (b"a key", "deletes"),
    ],
)
def test_a_bit_of_a_log_is_told_by_its_place(text: bytes, said: str) -> None:
    """In a part of a block, an entry of its header, a field of a record or its deletes."""
    fields = [{"name": "k", "type": "string"}]
    schema = json.dumps({"type": "record", "name": "r", "fields": fields})
    record = b"\x0afirst"
    rows = struct.pack(">iii", 3, 1, len(record)) + record
    content = _log_block(3, rows, schema) + _log_block(1, b"a key", schema)
    length = content.index(record) - 4
    told = partial(_told, "a.log.1", content)
    assert told(content.index(text)) == f" in {said}"
    assert told(len(content) - 1) == " in block total"
    assert told(length) == " in length of a record"
    assert told(length - 1) == " in number of records"


def test_a_bit_of_orc_is_told_by_its_place() -> None:
    """In stripes, the footer, a field of the postscript, or the last byte."""
    out = io.BytesIO()
    orc.write_table(pa.table({"a_name": ["some text"]}), out, compression="uncompressed")
    content = out.getvalue()
    said = partial(_told, "a.orc", content)
    assert said(0) == " in magic"
    assert said(content.index(b"some text")) == " in stripes"
    assert said(content.rindex(b"a_name")) == " in footer"
    assert said(content.rindex(b"ORC")) == " in postscript 8000"
    assert said(len(content) - 1) == " in tail"


def test_a_bit_of_a_packed_footer_of_orc_is_told_by_its_field() -> None:
    """A letter of a name, in a chunk of Snappy: it is one of the names of a type."""
    out = io.BytesIO()
    orc.write_table(pa.table({"a_name": ["some text"]}), out, compression="snappy")
    content = out.getvalue()
    at = content.rindex(b"a_name")
    said = partial(_told, "a.orc", content)
    assert [said(at + letter) for letter in range(6)] == [" in footer 4.3"] * 6
    assert said(len(content) - 2 - content[-1]) != " in footer 4.3"


def test_dates_beyond_those_of_python_are_read() -> None:
    """The worker looks at rows as numbers: another date is another answer, and no breakdown."""
    far = pa.array([1 << 30], pa.int32()).cast(pa.date32())
    rows = pa.table({"d": far, "t": pa.array([1 << 62], pa.timestamp("us")), "k": [1]})
    assert _with_numbers(rows).to_pylist() == [{"d": 1 << 30, "t": 1 << 62, "k": 1}]


@pytest.mark.parametrize(
    ("text", "said"),
    [("table.type", "table.type key"), ("COW", "table.type value"), ("at", "comment")],
)
def test_a_bit_of_properties_is_told_by_its_place(text: str, said: str) -> None:
    """In the key or the value of a line, by the key's name."""
    content = b"#written at noon\ntable.type=COW\nversion=9\n"
    assert _told("a.properties", content, content.index(text.encode())) == f" in {said}"


def test_changed_fields_are_footers_of_the_same_length() -> None:
    """One field says something else, or is gone; the same seed gives the same ones."""
    out = io.BytesIO()
    pq.write_table(pa.table({"a": [1, 2, None], "b": ["x", "y", "z"]}), out, row_group_size=2)
    whole = {"a.parquet": out.getvalue(), "b.json": b"{}"}
    random, again = Random(3), Random(3)
    places = set()
    for _ in range(200):
        change = random_field(whole, random)
        assert change is not None
        assert change == random_field(whole, again)
        content = change.apply(whole)["a.parquet"]
        assert content is not None
        assert len(content) == len(whole["a.parquet"])
        assert content != whole["a.parquet"]
        assert Footer(content).tree != Footer(whole["a.parquet"]).tree
        assert place(change, whole) == f" in footer {change.path}"
        places.add(change.path)
    assert {"2.*.3", "3", "4.*.1.*.3.5", "4.*.1.*.3.9", "4.*.3"} <= places
    assert random_field({"b.json": b"{}"}, random) is None


_LINES: dict[str, Any] = {"format": "text", "columns": [{"name": "i"}, {"name": "v"}]}


@pytest.mark.parametrize(
    ("told", "line", "letter", "said"),
    [
        ({}, "1\1word", "r", "field v"),
        ({}, "1\1word", "\1", "mark"),
        ({}, "1\1word\1more", "e", "field"),
        ({"properties": {"field.delim": "|"}}, "1|word\1", "\1", "field v"),
        ({"properties": {"serialization.format": "44"}}, "1,word", "w", "field v"),
        ({"properties": {"field.delim": "-2"}}, b"1\xfeword", "w", "field v"),
        ({"format": "csv", "properties": {"separatorChar": "\t"}}, "1\tword", "1", "field i"),
        ({"format": "csv"}, "1,word", ",", "mark"),
        ({"format": "json"}, '{"v": {"a": [7]}}', "7", "v.a.* value"),
        ({"format": "json"}, '{"v": {"a": [7]}}', "a", "v.a key"),
    ],
)
def test_a_bit_of_a_line_is_told_by_its_column(
    told: dict[str, Any], line: str | bytes, letter: str, said: str
) -> None:
    """By the columns of the table's descriptor, whatever stands between; here of a second line."""
    content = line if isinstance(line, bytes) else line.encode()
    how = {"_hive_table.json": json.dumps(_LINES | told).encode()}
    lines = b"x\n" + content + b"\n"
    assert _told("a", lines, 2 + content.index(letter.encode()), **how) == f" in {said}"
    assert _told("a", lines, 2 + len(content), **how) == " in mark"
    assert _told("a.gz", content, 1, **how) == " in compressed"


def _sequence(flags: bytes, *after: bytes) -> bytes:
    """A sequence file as Hadoop's documents lay it out, its keys and values `K` and `V`."""
    return b"SEQ\6\1K\1V" + flags + b"\0\0\0\0" + b"m" * 16 + b"".join(after)


_RECORD = struct.pack(">ii", 9, 3) + b"key" + b"\x057\1abc"
_BLOCK = struct.pack(">i", -1) + b"m" * 16 + b"\1" + b"\1a\2bc\1d" + b"\x8f\xc8" + b"e" * 200


@pytest.mark.parametrize(
    ("content", "text", "said"),
    [
        (_sequence(b"\0\0", _RECORD), b"EQ", "magic"),
        (_sequence(b"\0\0", _RECORD), b"K", "header key class"),
        (_sequence(b"\0\0", _RECORD), b"\0\0\0\0m", "header metadata"),
        (_sequence(b"\0\0", _RECORD), b"m", "header sync"),
        (_sequence(b"\0\0", _RECORD), b"\x09", "record length"),
        (_sequence(b"\0\0", _RECORD), b"\3", "key length"),
        (_sequence(b"\0\0", _RECORD), b"key", "key"),
        (_sequence(b"\0\0", _RECORD), b"\5", "length of a text"),
        (_sequence(b"\0\0", _RECORD), b"7", "field i"),
        (_sequence(b"\0\0", _RECORD, b"\xff" * 4, b"n" * 16, _RECORD), b"nn", "record sync"),
        (_sequence(b"\1\0\1C", _RECORD), b"abc", "value"),
        (_sequence(b"\1\0\1C", _RECORD), b"C", "header codec"),
        (_sequence(b"\1\1\1C", _BLOCK), b"\xff", "block sync"),
        (_sequence(b"\1\1\1C", _BLOCK), b"bc", "block keys"),
        (_sequence(b"\1\1\1C", _BLOCK), b"d", "block value lengths"),
        (_sequence(b"\1\1\1C", _BLOCK), b"\xc8", "block values length"),
        (_sequence(b"\1\1\1C", _BLOCK, _BLOCK), b"eeeee", "block values"),
    ],
)
def test_a_bit_of_a_sequence_file_is_told_by_its_place(
    content: bytes, text: bytes, said: str
) -> None:
    """In a part of its header, of a record, or of a block, if it is not the first one, too."""
    how = {"_hive_table.json": json.dumps(_LINES | {"format": "sequence"}).encode()}
    assert _told("a", content, content.rindex(text), **how) == f" in {said}"
