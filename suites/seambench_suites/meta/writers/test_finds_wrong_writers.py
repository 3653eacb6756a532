"""A writer that does one thing wrong is found by the state, by its metadata, or by its answers."""

import json
import sys
from pathlib import Path

import pytest

from seambench.conformance.judge import verdict
from seambench.conformance.load import find_case
from seambench.contracts.registry import resolve
from seambench_suites.meta.writers.wrong_writers import MISTAKES, OF_ICEBERG, WrongWriter

_FOUND = {
    "forgets-deletes": ("rows/delete", "after step 3 (delete), read by auto: 2 rows expected, 4"),
    "appends-twice": ("rows/append", "3 rows expected, 6 read"),
    "deletes-by-the-first-test": ("bounds/nan", "missing"),
    "appends-upserts": ("keys/upsert", "unexpected (id=int:2"),
    "appends-overwrites": ("rows/overwrite", "2 rows expected, 7 read"),
    "refuses-too-late": ("rows/append", "state after step 3 (append) was refused"),
    "writes-small-letters": ("names/capitals", "columns ['Id', 'ID2'] expected"),
    "narrows-bounds": ("bounds/large-numbers", "metadata after step 2 (append): delta.stats.max"),
    "tears-a-file": ("rows/append", "state after step 2 (append): auto refuses the table"),
    "rounds-doubles": ("types/double", "missing (id=int:6, v=float:0x1.fffffffffffffp+1023)"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_it_is_found(name: str) -> None:
    """The verdict is a failure that says after which step which judge saw it, and what."""
    case, says = _FOUND[name]
    found = verdict(find_case(f"table-writer/delta/{case}"), WrongWriter(name))
    assert found.word == "fail"
    assert says in found.reason


@pytest.mark.parametrize(
    ("name", "case", "says"),
    [
        ("appends-to-main", "named/branch", "as of b1: 4 rows expected, 3 read"),
        ("moves-tags", "named/tag", "after step 4 (append), read by auto, as of t1: 3 rows"),
        ("deletes-of-one-partitioning", "repartitioned/again", "after step 7 (delete)"),
    ],
)
def test_it_is_found_in_iceberg(name: str, case: str, says: str) -> None:
    """Tags and branches keep their rows, and those of earlier partitionings are still there."""
    assert name in OF_ICEBERG
    found = verdict(find_case(f"table-writer/iceberg/{case}"), WrongWriter(name, "pyiceberg"))
    assert found.word == "fail"
    assert says in found.reason


_PROGRAM = """
import json, sys
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
for line in sys.stdin:
    step = json.loads(line)
    rows = pa.ipc.open_file(step["rows"]).read_all()
    if step["do"] not in ("create", "open", "append"):
        print(json.dumps({"refused": "rows alone"}), flush=True)
        continue
    if step["do"] == "append" and MODE == "dies":
        sys.exit(3)
    if step["do"] != "open" and (MODE != "forgets" or step["do"] == "create"):
        write_deltalake(step["table"], rows, mode="append")
    print("well" if MODE == "chats" else json.dumps({"done": True}), flush=True)
"""


@pytest.mark.parametrize(
    ("mode", "case", "word", "says"),
    [
        ("right", "rows/append", "pass", ""),
        ("right", "rows/delete", "not-offered", "step 3 (delete): writer: rows alone"),
        ("forgets", "rows/append", "fail", "state after step 2 (append)"),
        ("right", "two-writers/append-append", "pass", ""),
        pytest.param("right", "killed/append", "pass", "", marks=pytest.mark.slow),
        ("chats", "rows/append", "fail", "no answer to create: well"),
        ("dies", "rows/append", "crash", "ended with exit code 3"),
    ],
)
def test_a_program_writes(tmp_path: Path, mode: str, case: str, word: str, says: str) -> None:
    """A program gets a step a line, answers each, and is judged as any writer."""
    program = tmp_path / "writer.py"
    program.write_text(f"MODE = {mode!r}\n{_PROGRAM}")
    words = ("formats.delta", "steps.create", "steps.open", "steps.append", "steps.delete")
    facts = {"name": "writer", "capabilities": dict.fromkeys(words, True)}
    (tmp_path / "writer.seambench.json").write_text(json.dumps(facts))
    writer = resolve("table-writer", f"cmd:{sys.executable} {program}")
    found = verdict(find_case(f"table-writer/delta/{case}"), writer)
    assert found.word == word, found.reason
    assert says in found.reason
