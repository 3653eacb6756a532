"""Each example of the documents runs: Python, commands, tutorials from an empty folder.

What takes minutes, a network or an engine of its own is not run here; its words are parsed as the
command itself parses them.
"""

import datetime as dt
import functools
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer

import seamkit
from seambench.cli.app import app
from seambench_tests.samples.documents import CHECKOUT, document, python_blocks
from seamkit.command import parser
from seamkit.serde.rows.codec import UnsafeRows

DOCUMENTS = sorted([*CHECKOUT.glob("[A-Z]*.md"), *CHECKOUT.glob("docs/**/*.md")])
_COMMAND = re.compile(r"^ {3,}\$? ?((?:seambench|seamkit) [a-z](?:.*\\\n)*.*)$", re.MULTILINE)
#: What a tutorial has one put into its skeleton, and the command that judges it then.
_GO = re.compile(
    r"^```go\n(.*?)^```.*?\n {7}(make && seambench check .*?)\n", re.DOTALL | re.MULTILINE
)
_WRITTEN = dt.datetime(2026, 10, 1, tzinfo=dt.UTC).timestamp()


def _part(pattern: str, text: str) -> str:
    """What the group of a pattern finds in a document, which has it."""
    found = re.search(pattern, text, re.MULTILINE)
    assert found is not None, pattern
    return found[1]


def _run(folder: Path, script: str) -> str:
    """What a script of a shell prints, with the commands of this environment on the path."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
    return done.stdout


def _prices(folder: Path) -> list[float]:
    """A Delta table of October 2026 with another write of today; all prices."""
    deltalake = pytest.importorskip("deltalake")
    old, new = [50.0, 150.0, 250.0], [350.0]
    for prices in (old, new):
        rows = pa.table({"id": pa.array(range(len(prices)), pa.int64()), "price": prices})
        deltalake.write_deltalake(str(folder), rows, mode="append")
    os.utime(folder / "_delta_log" / f"{0:020}.json", (_WRITTEN, _WRITTEN))
    return old + new


def test_the_readmes_python_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All blocks one after the other, as a reader types them, over a table with these columns."""
    prices = _prices(tmp_path / "t")
    high = sum(price > 100 for price in prices)
    names: dict[str, Any] = {}
    shown = []
    for block in python_blocks("README.md"):
        exec(block.replace("/data/my_table", str(tmp_path / "t")), names)  # noqa: S102
        shown.append(capsys.readouterr().out)
    assert names["rows"].num_rows == high
    assert names["rows"].column_names == ["id", "price"]
    assert [line for line in shown[1].splitlines() if line] == [str(high - 1)]
    assert re.search(rf"\b{high - 1}\b", shown[2].partition("count_star()")[2])
    assert len(shown) == 4


def test_the_documents_python_runs() -> None:
    """Serdes of pages, rows and streams."""
    batch = pa.record_batch({"id": pa.array([1, 2, 3], pa.int64()), "tags": [["a"], [], None]})
    names: dict[str, Any] = {"batch": batch, "rows_0": [0, 2], "rows_1": [1], "chunks": []}
    (pages,) = python_blocks("docs/presto-pages.md")
    exec(pages, names)  # noqa: S102
    assert names["batches"] == [batch]
    assert len(names["parts"]) == 2
    batch = pa.record_batch({"id": pa.array(range(9), pa.int64()), "tags": [["a"]] * 9})
    (rows,) = python_blocks("docs/rows.md")
    names |= {"batch": batch, "UnsafeRows": UnsafeRows}
    exec(rows, names)  # noqa: S102
    assert names["batch"] == batch.take(pa.array([5, 3, 8]))
    pools, streams = python_blocks("docs/streams.md")
    exec(pools, {})  # noqa: S102
    names = {"batch": batch, "rows": [5, 3], "out": io.BytesIO()}
    exec(streams, names)  # noqa: S102
    assert names["result"].batch()["id"].to_pylist() == [5, 3, *range(9)]


def test_a_linter_and_a_writer_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The linter tells what it finds wrong; a table lies where the writer was asked for one."""
    golden = CHECKOUT / "suites/seambench_suites/golden/paimon/pk-life/table.zip"
    with zipfile.ZipFile(golden) as archive:
        archive.extractall(tmp_path / "orders")
    (tmp_path / "orders/snapshot/snapshot-1").unlink()
    (lint,) = python_blocks("docs/lint.md")
    exec(lint.replace("/data/orders", str(tmp_path / "orders")), {})  # noqa: S102
    assert capsys.readouterr().out.startswith("should paimon.snapshot.hint snapshot/EARLIEST the ")
    pytest.importorskip("deltalake")
    names: dict[str, Any] = {}
    (writer,) = python_blocks("docs/writers.md")
    exec(writer, names)  # noqa: S102
    step = SimpleNamespace(table=tmp_path / "t", rows=pa.table({"k": [1]}))
    names["Mine"]().step(step)
    assert seamkit.open_table(tmp_path / "t").to_arrow() == step.rows


def test_plans_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan is written, read, and read in part; by commands, and in Python."""
    golden = CHECKOUT / "suites/seambench_suites/golden/hudi/mor-v9-event/table.zip"
    with zipfile.ZipFile(golden) as archive:
        archive.extractall(tmp_path / "trips")
    commands, python = (
        textwrap.dedent(f"    {block}")
        for block in re.split(r"\n\n(?:    )?", document("docs/plans.md"))[2:4]
    )
    said = _run(tmp_path, commands.replace("--index 3", "--index 0"))
    names: dict[str, Any] = {"seamkit": seamkit}
    monkeypatch.chdir(tmp_path)
    exec(python.replace("[3]", "[0]"), names)  # noqa: S102
    assert "2 rows" in said
    assert (tmp_path / "part.arrow").stat().st_size
    assert names["part"].to_table().column_names == ["k", "v"]


def test_hives_tables_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the descriptor of docs/hive.md, and by arguments where there is none."""
    text = document("docs/hive.md")
    by_file, by_words, descriptor = (
        textwrap.dedent(f"    {found}")
        for found in (
            _part(r"^    (seamkit\.open_table.*)", text),
            _part(r"^    (seamkit\.HiveTable\((?:.|\n)*?\}\))$", text),
            _part(r"^    (\{\n(?:.|\n)*?^    \})$", text),
        )
    )
    day = tmp_path / "orders" / "day=2026-11-01"
    day.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    (day / "0").write_text("7|a\x035\n")
    (row,) = eval(by_words, {"seamkit": seamkit}).to_arrow().to_pylist()  # noqa: S307
    assert row == {"k": 7, "v": [("a", 5)], "day": dt.date(2026, 11, 1)}
    (day / "0").write_text("k|v\n7|a\x035\n")
    (tmp_path / "orders" / "_hive_table.json").write_text(descriptor)
    (row,) = eval(by_file, {"seamkit": seamkit}).to_arrow().to_pylist()  # noqa: S307
    assert row == {"k": 7, "v": [("a", 5)], "day": dt.date(2026, 11, 1)}


def test_pages_are_commands_that_run(tmp_path: Path) -> None:
    """Rows become a page, which is told byte by byte and read again."""
    pq.write_table(pa.table({"id": pa.array([7, 8], pa.int64())}), tmp_path / "ROWS.parquet")
    commands = [c for c in _commands(document("docs/serde.md")) if c.startswith("seamkit")]
    encode, decode, inspect = (
        next(c for c in commands if word in c) for word in ("encode", "decode", "inspect")
    )
    decode = decode.replace(", tags array(varchar)", "") + " --option codec=lz4"
    assert "7" in _run(tmp_path, f"{encode}\n{decode}")
    assert _run(tmp_path, inspect)


@pytest.mark.parametrize(
    ("name", "tools"),
    [
        ("python-class", ""),
        ("shared-library", "cc make"),
        pytest.param("program", "go make", marks=pytest.mark.slow),
        pytest.param("go", "go make", marks=pytest.mark.slow),
    ],
)
def test_a_tutorial_leads_to_a_verdict(name: str, tools: str, tmp_path: Path) -> None:
    """From an empty folder its first three commands end at a verdict: rows are missing."""
    first = textwrap.dedent(document(f"docs/tutorials/{name}.md").partition("\n\n    ")[2])
    *steps, check = first.partition("\n\n")[0].splitlines()
    if lacking := [tool for tool in tools.split() if shutil.which(tool) is None]:
        pytest.skip(f"no {' or '.join(lacking)} on this machine")
    said = _run(tmp_path, "\n".join([*steps, f"{check} || test $? = 1"]))
    lines = [line.partition(" #")[0] for line in (*steps, check)]
    typed = [part.split() for line in lines for part in re.split(r"&&|[;|]", line)]
    assert sum(words[0] != "cd" for words in typed if words) <= 3
    assert "4 rows expected, 0 read" in said
    for code, again in _GO.findall(document(f"docs/tutorials/{name}.md")):
        (tmp_path / "my-reader" / "answer.go").write_text(code)
        said = _run(tmp_path / "my-reader", f"{again} || test $? = 1")
        assert re.search(r"^scan seam .*pass", said, re.MULTILINE), said
        assert not re.search(r"^scan seam .*(fail|crash|error)", said, re.MULTILINE), said


@pytest.mark.jvm
@pytest.mark.slow
def test_a_scanner_in_java_leads_to_rows(tmp_path: Path) -> None:
    """The tutorial, step by step: it refuses, is given its value, and passes."""
    text = document("docs/tutorials/java-class.md")
    first = textwrap.dedent(text.partition("\n\n    ")[2]).partition("\n\n")[0]
    *steps, check = first.splitlines()
    assert "appends no values yet" in _run(tmp_path, "\n".join([*steps, f"{check} || test $? = 1"]))
    value = _part(r"`MyValue\.java`:\n\n((?:       .*\n|\n)+)", text)
    append = " ".join(_part(r"refuses: `(if (?:.|\n)*?)`\.", text).split())
    folder = tmp_path / "my-columns"
    (folder / "MyValue.java").write_text(textwrap.dedent(value))
    scanner = folder / "MyColumns.java"
    refusal = re.compile(r"throw new RefusedException\(\"my-columns appends no values.*?;")
    source, count = refusal.subn(lambda _: append, scanner.read_text())
    scanner.write_text(source)
    assert count == 1
    assert _run(folder, check.replace("fixed/*", "fixed/int/*"))


def _commands(text: str) -> Iterator[str]:
    for found in _COMMAND.findall(text):
        yield re.sub(r"\\\n\s*", "", found)


def _complaint(command: str) -> str:
    """What a command says of its words, none of which is carried out; empty if it takes them."""
    words = shlex.split(command, comments=True)
    words = words[: next((i for i, word in enumerate(words) if word in (">", "|")), None)]
    try:
        if words[0] == "seamkit":
            parser._parser().parse_args(words[1:])
        else:
            _unmanned_app().main(words[1:], standalone_mode=False)
    except (Exception, SystemExit) as error:
        return str(error) or type(error).__name__
    return ""


@functools.cache
def _unmanned_app() -> Any:
    whole = typer.main.get_command(app)
    _unmanned(whole)
    return whole


def _unmanned(command: Any) -> None:
    command.callback = lambda **_: None
    for below in getattr(command, "commands", {}).values():
        _unmanned(below)


def test_commands_of_documents_are_taken() -> None:
    """Names and options of each, as they stand; of findings, too."""
    commands = {one for file in DOCUMENTS for one in _commands(file.read_text(encoding="utf-8"))}
    assert len(commands) > 50
    assert {one: said for one in commands if (said := _complaint(one))} == {}


@pytest.mark.parametrize(
    "command", ["seamkit scan T --colums k", "seambench check --seem scan", "seambench nothing"]
)
def test_a_command_that_is_not_taken_is_seen(command: str) -> None:
    """The finder itself finds."""
    assert _complaint(command)
    assert list(_commands(f"    $ {command}  # x")) == [f"{command}  # x"]


def test_the_function_of_the_doors_reads_delta(tmp_path: Path) -> None:
    """As it is written there, with its file beside it, it is right about a table's versions."""
    pytest.importorskip("deltalake")
    text = document("docs/doors.md").partition("## A Python function")[2].partition("\n## ")[0]
    (tmp_path / "mine.py").write_text(_part(r"```python\n((?:.|\n)*?)```", text))
    (tmp_path / "mine.seambench.json").write_text(_part(r"```json\n((?:.|\n)*?)```", text))
    check = _part(r"^    (seambench check .*)", text)
    said = _run(tmp_path, f"{check} --jobs 1 --case 'scan/delta/writers/deltalake/evolved/*'")
    assert re.search(r"pass\nmine:read +4\n", said), said


def test_a_service_that_is_not_there_is_told_so(tmp_path: Path) -> None:
    """Who could not be asked states nothing that could be blamed: the reason is told."""
    check = "seambench check --impl http://127.0.0.1:9 --jobs 1 --case 'scan/delta/checkpoints/*'"
    said = _run(tmp_path, f"{check} 2>&1 || test $? = 1")
    assert "unavailable: http://127.0.0.1:9: http://127.0.0.1:9: no service answers" in said
    assert "http://127.0.0.1:9 is unavailable, so there is no verdict" in said
    assert "states" not in said


def test_a_function_that_states_nothing_is_told_where_to(tmp_path: Path) -> None:
    """The sentence names the file beside the module, and what it shows makes cases of it."""
    (tmp_path / "mine.py").write_text("import pyarrow as pa\ndef read(path): return pa.table({})\n")
    check = "seambench check --impl mine:read --jobs 1 --case scan/delta/checkpoints/commits-gone"
    said = _run(tmp_path, f"{check} 2>&1 || test $? = 1")
    assert "it states no capability" in said
    file, content = _part(r"states its own in (\S+),", said), _part(r"such as (\{.*?\}\})", said)
    assert Path(file) == tmp_path / "mine.seambench.json"
    Path(file).write_text('{"capabilities": {"formats.delta": true}}')
    said = _run(tmp_path, f"{check} --case 'scan/*/damage/*' 2>&1 || test $? = 1")
    assert "what it states is enough for none of " in said, said
    Path(file).write_text(content)
    said = _run(tmp_path, f"{check} || test $? = 1")
    assert "mine:read scan/delta/checkpoints/commits-gone" in said
