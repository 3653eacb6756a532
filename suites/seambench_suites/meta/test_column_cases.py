"""The column cases find tables that are wrong."""

import ctypes
import json
from pathlib import Path
from typing import Any

import pytest

from seambase.errors import UsageError
from seambench.conformance.load import find_case
from seambench.contracts.outcomes import ProtocolError
from seambench.seams.column.cases import column_cases, kinds_of
from seambench.seams.column.check import masked_difference
from seambench.seams.column.doors import read_chain
from seambench.seams.column.oracle import TypeTree


@pytest.mark.parametrize(
    ("golden", "content", "differs"),
    [("00ff", b"\x00\xff", False), ("??ff", b"\x07\xff", False), ("??ff", b"\x07\xfe", True)],
)
def test_masked_bytes_may_be_anything(golden: str, content: bytes, differs: bool) -> None:
    """`??` stands for any byte, and only for that one."""
    assert (masked_difference(golden, content) is not None) == differs


def test_a_difference_names_its_byte() -> None:
    """The first that is another, not the first of its stretch."""
    assert masked_difference("00??11ff", b"\0\0\x11\xfe") == "byte 3 must be ff, it is fe"


def test_bytes_of_an_engine_say_whose_they_are() -> None:
    """A golden file is vouched for by StarRocks, which wrote it."""
    assert find_case("column/offheap/worked_example").witness.startswith("StarRocks, ")


@pytest.mark.parametrize(
    ("words", "kind", "says"),
    [
        ([2, 0, 0], "int", "the nulls of a are 2 bytes at address 0"),
        ([2, 7], "unknown", "the word of a, which there is not, is 0x7, not 0"),
        ([-1, 0, 0], "int", "-1 rows"),
    ],
)
def test_chains_that_lead_nowhere_are_told(words: list[int], kind: str, says: str) -> None:
    """Nothing is read where nothing is said to be; what went wrong is named."""
    chain = (ctypes.c_int64 * len(words))(*words)
    with pytest.raises(ProtocolError, match=says):
        read_chain(ctypes.addressof(chain), [("a", TypeTree(kind, 4 if kind == "int" else 0))])


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("decimal(10,2)", ["decimal"]),
        ("varchar(20)", ["string"]),
        ("map<string,array<smallint>>", ["map", "string", "array", "short"]),
        ("struct<name:string,int:timestamp-micros>", ["struct", "string", "timestamp"]),
    ],
)
def test_kinds_of_type_strings(text: str, kinds: list[str]) -> None:
    """A type string needs the kinds it names; fields of structs are no kinds."""
    assert list(kinds_of(text)) == kinds


def _golden(**changes: Any) -> dict[str, Any]:
    slots = [
        {"kind": "nulls", "column": "a", "hex": "00"},
        {"kind": "data", "column": "a", "hex": "07"},
    ]
    return {
        "name": "mine",
        "author": "somebody",
        "fetch_size": 1,
        "fields": ["a"],
        "types": ["tinyint"],
        "rows": [[7]],
        "required_fields": ["a"],
        "chunks": [{"num_rows": 1, "slots": slots}],
    } | changes


def _with_hex(text: Any) -> dict[str, Any]:
    slots = [{"kind": "nulls", "column": "a", "hex": text}]
    return _golden(chunks=[{"num_rows": 1, "slots": slots}])


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "mine.json: not readable as JSON"),
        ([], "not empty"),
        (5, "a table or a list of type strings"),
        ([5], "entry 1: an object is expected"),
        ([{"input": "int", "ok": True}], "entry 1: Object missing required field `grammar`"),
        ({"a": 1}, "mine.json: Object missing required field `fields`"),
        (_golden(rows=7), "got `int` - at `$.rows`"),
        (_golden(rows=[[7, 8]]), "row 1 has 2 values for 1 field"),
        (_golden(types=[]), "1 field with 0 types"),
        (_golden(chunks=[]), "it tests nothing"),
        (_golden(chunks=[7]), "got `int` - at `$.chunks[0]`"),
        (_golden(chunks=[{"num_rows": 1}]), "chunk 1: Object missing required field `slots`"),
        (_golden(chunks=[{"num_rows": 2, "slots": []}]), "the chunks have 2 rows, the file 1"),
        (_with_hex("0"), "chunk 1, slot 1: hex is not pairs"),
        (_with_hex("0X"), "chunk 1, slot 1: hex is not pairs"),
        (_with_hex(None), "chunk 1, slot 1: hex is not pairs"),
        (_with_hex(7), "chunk 1, slot 1: Expected `str | null`, got `int`"),
    ],
)
def test_golden_files_that_are_none_are_named(content: Any, says: str, tmp_path: Path) -> None:
    """A file of somebody's own that lacks something is told with the place; it never passes."""
    file = tmp_path / "mine.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    (case,) = column_cases(tmp_path, tmp_path)
    with pytest.raises(UsageError) as told:
        case.content()
    assert says in str(told.value)


def test_golden_files_may_say_more_about_themselves(tmp_path: Path) -> None:
    """Keys that no check needs are let pass."""
    (tmp_path / "mine.json").write_text(json.dumps(_golden()))
    (case,) = column_cases(tmp_path, tmp_path)
    assert case.content()["rows"] == [[7]]
