"""Damaged golden tables: each mutation is read as before, told, or refused by name."""

from __future__ import annotations

import io
import struct
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seambench_suites.mutations.__main__ import Reasons, main
from seambench_suites.mutations.changes import (
    OPERATIONS,
    Mutation,
    contents,
    mutated,
    random_mutation,
)
from seambench_suites.mutations.places import place


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
    code = main(["--format", format_, "--impl", "auto", "--count", "100", "--seed", "1"])
    assert code == 0, capsys.readouterr().out


def test_a_reason_that_explains_nothing_is_told() -> None:
    """One that fits many mutations of which none is silent, or none at all in a whole run."""
    reasons = Reasons(["*: flip * a {*", "*: flip * b {*", "*: cut * {*"])
    for number in range(400):
        assert not reasons.explain(f"table: flip bit {number} a {{}}", is_silent=False)
    assert reasons.explain("table: flip bit 1 b {}", is_silent=True)
    assert not reasons.explain("table: flip bit 1 c {}", is_silent=True)
    assert reasons.needless(False) == ["*: flip * a {*"]
    assert reasons.needless(True) == ["*: flip * a {*", "*: cut * {*"]


def test_a_reader_that_reads_on_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    """One that takes whatever it can read for the table is not taken for a careful one."""
    wrong = "seambench_suites.meta.reads_on:ReadsOn"
    arguments = ["--format", "hudi", "--impl", wrong, "--count", "100", "--table", "mor-v9-event"]
    assert main(arguments) == 1
    assert "silent" in capsys.readouterr().out


def test_a_reader_that_reads_nothing_is_no_pass(capsys: pytest.CaptureFixture[str]) -> None:
    """Where no table could be read undamaged, nothing was found out."""
    wrong = "seambench_suites.meta.wrong:Raising"
    arguments = ["--format", "hudi", "--impl", wrong, "--count", "20", "--table", "mor-v9-event"]
    assert main(arguments) == 1
    assert "nothing is known" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("format_", FORMATS)
def test_readers_tell_of_much_damage(format_: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Twenty thousand of them; and every reason in `explained.toml` is needed."""
    code = main(["--format", format_, "--impl", "auto", "--count", "20000", "--seed", "2"])
    assert code == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "said"),
    [("merge", " in options.a.b key"), ("5", " in fields.*.id value"), ("]", " in fields.* mark")],
)
def test_a_bit_of_json_is_told_by_its_place(text: str, said: str) -> None:
    """Names down to the value, so that a reason can name what it is about."""
    content = b'{"fields": [{"id": 1}, {"id": 5}], "options": {"a.b": "merge", "c": "d"}}'
    at = content.index(text.encode()) if text != "merge" else content.index(b"a.b")
    assert place(Mutation("schema-0", "flip", 8 * at), content) == said
    assert place(Mutation("schema-0", "cut", at), content) == ""
    assert place(Mutation("data", "flip", 8), b"Obj\1") == ""


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

    def said(at: int) -> str:
        return place(Mutation("a.parquet", "flip", 8 * at + 3), content)

    assert said(page) == said(page + 15) == said(content.index(b"abc")) == " in page"
    assert said(header) == " in header 1"
    assert said(content.index(b"second", names)) == " in footer 2.*.4"
    assert said(content.rindex(b"second")) == " in footer 4.*.1.*.3.3.*"
    assert said(page + 16) == " in rest"
    assert said(len(content) - 8) == said(len(content) - 1) == " in tail"
