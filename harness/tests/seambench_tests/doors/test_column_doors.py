"""Off-heap columns that are commands or libraries: what they are given, and what is made of it."""

import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seambase.errors import RefusedError, UsageError
from seambench.conformance.judge import verdict
from seambench.conformance.load import load_cases
from seambench.contracts.column import ColumnRequest
from seambench.contracts.outcomes import NotOffered, ProtocolError
from seambench.contracts.registry import find_seam, resolve
from seambench.seams.column.doors import CommandColumns, LibraryColumns
from seambench.seams.column.request_rows import column_request, row_batches
from seambench_tests import SAMPLES
from seambench_tests.samples.compiled import compiled
from seambench_tests.samples.taking_part import stated_program

_KINDS = (
    *("array", "bigint", "binary", "boolean", "date", "decimal", "double", "float", "int", "map"),
    *("short", "string", "struct", "time", "timestamp", "tinyint", "variant"),
)
_STATED = ("kinds.int", "kinds.string")
_SEEN = [
    *("column/fixed/date/some/fetch-4095", "column/fixed/decimal128-whole/some/fetch-4095"),
    *("column/offheap/map", "column/offheap/missing_columns", "column/offheap/no_columns"),
    *("column/offheap/growth_fixed", "column/nested/variant/some/fetch-300"),
]


def _request(
    names: Sequence[str], types: Sequence[str], rows: Sequence[Any], **more: Any
) -> ColumnRequest:
    return ColumnRequest(names, types, rows, names, None, 16, **{"chunk_rows": [len(rows)], **more})


@pytest.fixture
def command(tmp_path: Path) -> Callable[..., CommandColumns]:
    """Makes the test's command, which states some words, and does something wrong."""

    def make(*words: str, wrong: str = "nothing") -> CommandColumns:
        program = stated_program(tmp_path, "columns", SAMPLES / "column_command.py", words)
        made = resolve("column", f"cmd:{program} {wrong}")
        assert isinstance(made, CommandColumns)
        return made

    return make


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library in C, compiled."""
    target = tmp_path_factory.mktemp("library") / "columns.so"
    return compiled(SAMPLES / "column_library.c", target, _STATED)


def _cases(*patterns: str) -> Sequence[Any]:
    every = load_cases("column")
    found = [case for case in every if any(fnmatch(case.id, one) for one in patterns)]
    assert found
    return found


@pytest.mark.parametrize("pattern", _SEEN)
def test_a_good_command_passes(command: Callable[..., CommandColumns], pattern: str) -> None:
    """Values of every kind arrive as Arrow rows, and chunks come back, at the extremes, too."""
    made = command(*(f"kinds.{kind}" for kind in _KINDS), "missing-columns")
    for case in _cases(pattern):
        assert verdict(case, made)[:2] == ("pass", ""), case.id


def test_a_good_library_passes(library: Path) -> None:
    """Chains of addresses in this process are followed, and every block comes back."""
    made = resolve("column", f"lib:{library}")
    cases = _cases("column/fixed/int/*", "column/runs/string/*", "column/offheap/string")
    for case in cases:
        assert verdict(case, made)[:2] == ("pass", ""), case.id
    assert made.live_blocks() == 0


@pytest.mark.parametrize(
    ("right", "wrong", "case"),
    [
        (
            "buffers[1] + column->offset;\n    uint8_t",
            "buffers[1];\n    uint8_t",
            "fixed/int/some/fetch-4097",
        ),
        (
            "buffers[1] + column->offset;\n    const",
            "buffers[1];\n    const",
            "runs/string/some/fetch-4097",
        ),
        ("column->offset + row", "row", "fixed/int/some/fetch-4097"),
        (
            "buffers[2] + from[row]",
            "buffers[2] + from[row] - from[0]",
            "runs/string/none/fetch-4097",
        ),
        ("nulls[row] ? 0 : from[row + 1]", "from[row + 1]", "runs/string/some/fetch-4097"),
        ("valid && !(", "!valid || !(", "fixed/int/none/fetch-4097"),
    ],
)
def test_libraries_that_read_buffers_wrongly_are_found(
    tmp_path: Path, right: str, wrong: str, case: str
) -> None:
    """Values, flags and texts from a buffer's begin, a text beneath a NULL, and no flags at all."""
    source = (SAMPLES / "column_library.c").read_text(encoding="utf-8")
    assert source.count(right) == 1
    changed = tmp_path / "columns.c"
    changed.write_text(source.replace(right, wrong), encoding="utf-8")
    made = resolve("column", f"lib:{compiled(changed, tmp_path / 'columns.so', _STATED)}")
    [asked] = _cases(f"column/{case}")
    assert verdict(asked, made).word == "fail"


@pytest.mark.parametrize(
    ("wrong", "outcome", "says"),
    [
        ("shift", "fail", "the chain must be"),
        ("text", "fail", "line 1 tells no chunk"),
        ("refuse", "fail", "refused what it offers: RefusedError: columns: no room for 3 chunks"),
    ],
)
def test_wrong_commands_are_found(
    command: Callable[..., CommandColumns], wrong: str, outcome: str, says: str
) -> None:
    """Another order of words, a line that is none, and a refusal of what is stated."""
    [case] = _cases("column/fixed/int/some/fetch-1")
    word, reason = verdict(case, command("kinds.int", wrong=wrong))[:2]
    assert (word, says in reason) == (outcome, True), reason


@pytest.mark.parametrize(
    ("column", "error", "says"),
    [
        ("refuse", RefusedError, "clib: no room"),
        ("nowhere", ProtocolError, "without a meta chain"),
        ("below", ProtocolError, "-1 rows"),
    ],
)
def test_failures_of_a_library(
    library: Path, column: str, error: type[Exception], says: str
) -> None:
    """A refusal has its sentence; what cannot be is told before it is followed."""
    with pytest.raises(error, match=says):
        LibraryColumns(str(library)).chunks(_request([column], ["int"], [[1], [None]]))


def test_blocks_that_stay_are_counted(library: Path) -> None:
    """A library counts its own blocks, and one that keeps some is told."""
    made = LibraryColumns(str(library))
    before = made.live_blocks()
    made.chunks(_request(["leak"], ["int"], [[1]]))
    assert made.live_blocks() - before == 2


def test_words_about_methods_pass_no_door(command: Callable[..., CommandColumns]) -> None:
    """A method that only classes have is refused where it is stated."""
    with pytest.raises(UsageError, match="states 'type-strings', which passes no door"):
        command("type-strings")


def test_a_request_is_one_line() -> None:
    """The members that docs/doors.md names; absent where nothing is asked."""
    request = _request(["a", "b"], ["int", "map<int,string>"], [[1, None]], chunk_rows=[1, 0])
    assert json.loads(column_request(request)) == {
        "version": 1,
        "seam": "column",
        "fields": ["a", "b"],
        "types": ["int", "map<int,string>"],
        "required_fields": ["a", "b"],
        "fetch_size": 16,
        "chunks": 2,
    }
    as_text = json.loads(column_request(replace(request, form="text")))
    assert as_text.pop("form") == "text"
    assert as_text == json.loads(column_request(request))


def test_rows_are_arrow_data() -> None:
    """Types as docs/doors.md says; maps are lists of entries, whose keys may be NULL."""
    types = ["decimal(5,2)", "map<int,string>", "date", "timestamp", "time", "variant"]
    row = ["1.5", [[None, "x"]], "1969-12-31", "0001-01-01 00:00:00.5", -1, ["00", "ff"]]
    [batch, empty] = row_batches(_request(list("abcdef"), types, [row], chunk_rows=[1, 0]))
    assert batch.schema.types == [
        pa.decimal128(38, 2),
        pa.list_(pa.struct([("key", pa.int32()), ("value", pa.string())])),
        *(pa.date32(), pa.timestamp("us"), pa.int32()),
        pa.struct([("metadata", pa.binary()), ("value", pa.binary())]),
    ]
    assert batch["a"][0].as_py() == 1.5
    assert batch["b"].to_pylist() == [[{"key": None, "value": "x"}]]
    assert batch["c"].view(pa.int32()).to_pylist() == [-1]
    assert batch["d"].view(pa.int64()).to_pylist() == [-62135596800000000 + 500000]
    assert batch["f"].to_pylist() == [{"metadata": b"\0", "value": b"\xff"}]
    assert (empty.schema, empty.num_rows) == (batch.schema, 0)


def test_rows_without_columns_are_counted() -> None:
    """A batch of no columns has rows all the same."""
    [batch] = row_batches(_request([], [], [[], [], []]))
    assert (batch.num_rows, batch.num_columns) == (3, 0)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int", "x"),
        ("int", 1 << 31),
        ("date", "2023-02-30"),
        ("decimal(5,2)", "1.234"),
        ("timestamp", "2020-01-01 00:00:00.1234567"),
        ("array<int>", [1, "x"]),
        ("struct<a:int,b:int>", [1]),
    ],
)
def test_what_arrow_cannot_hold_is_not_asked(kind: str, value: Any) -> None:
    """A case of such rows is no verdict on who sits behind a door."""
    with pytest.raises(NotOffered, match="Arrow columns cannot hold these rows"):
        row_batches(_request(["v"], [kind], [[value]]))


def test_a_kept_case_is_what_the_command_reads(
    command: Callable[..., CommandColumns], tmp_path: Path
) -> None:
    """Request and rows in a folder, put to the program by hand, give chunks."""
    made = command("kinds.int")
    [case] = _cases("column/fixed/int/some/fetch-1")
    folder = tmp_path / "kept"
    find_seam("column").keep(case, folder)
    given = (folder / "request.json").read_bytes() + (folder / "input").read_bytes()
    done = subprocess.run(made.arguments, input=given, capture_output=True, check=True)
    rows = [json.loads(line)["num_rows"] for line in done.stdout.splitlines()]
    assert rows == [chunk["num_rows"] for chunk in case.content()["chunks"]]
