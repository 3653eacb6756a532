"""What the command line shows, and what it leaves: safe texts, whole numbers, whole files."""

import errno
import json
import os
import re
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from seambase.command.ending import ended
from seambase.command.terminal import plain_text, print_rows
from seambase.errors import UnavailableError
from seambase.wording import counted
from seambase.written import whole_file
from seambench.cli.app import app
from seambench.cli.shared.common import console, error_console, narrow_table
from seambench_tests.samples.ends import (
    check_a_full_disk_is_one_line,
    check_a_name_that_is_no_utf8_is_refused,
    check_the_version_is_a_line,
)


def command(*arguments: object) -> list[str]:
    """A command of its own process."""
    return [sys.executable, "-m", "seambench.cli", *map(str, arguments)]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain \u00fc", "plain \u00fc"),
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("two\nlines\r", "two\\nlines\\r"),
        ("\x9bm", "\\x9bm"),
        ("\u202eback", "\\u202eback"),
        ("\udcff", "\\udcff"),
    ],
)
def test_texts_command_no_terminal(text: str, shown: str) -> None:
    """What does not show is written as an escape: no value moves a cursor or sets a title."""
    assert plain_text(text) == shown


def test_a_narrow_terminal_drops_columns_but_no_digit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Columns that do not fit are named; a number is shown whole or not at all."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    number = Decimal("1234567890123456789012345678.90")
    print_rows(["n", "text", "m", "last"], [[number, "t" * 100, number, 1]])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["n"]
    assert lines[1].strip() == str(number)
    assert lines[2] == "not shown, for want of width: text, m, last"


def test_off_a_terminal_nothing_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    """A program gets every column, every digit and every character."""
    print_rows([f"c{i}" for i in range(60)], [[10**20 + i for i in range(60)]])
    header, row = capsys.readouterr().out.splitlines()
    assert header.split() == [f"c{i}" for i in range(60)]
    assert row.split() == [str(10**20 + i) for i in range(60)]


def test_a_link_with_the_temporary_name_is_not_followed(tmp_path: Path) -> None:
    """What is half-written has a name that nobody can guess, and takes the place of the file."""
    names = []
    for _ in range(2):
        with whole_file(tmp_path / "out.csv") as temporary:
            names.append(temporary.name)
            temporary.write_text("rows")
    assert names[0] != names[1]
    assert str(os.getpid()) not in names[0]
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_a_file_that_cannot_be_is_one_sentence(tmp_path: Path) -> None:
    """The operating system's reason is told with the name that was meant."""
    with (
        pytest.raises(UnavailableError, match=r"absent/out\.csv cannot be written: No such file"),
        whole_file(tmp_path / "absent" / "out.csv"),
    ):
        pass


def test_a_read_only_disk_is_told_with_the_name_that_was_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a disk refuses to remove a file, too, even one that is not there."""

    def refuses(*_: Any, **__: Any) -> Any:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), ".out.csv.tmp")

    monkeypatch.setattr(os, "open", refuses)
    monkeypatch.setattr(Path, "unlink", refuses)
    with (
        pytest.raises(UnavailableError, match=r"/out\.csv cannot be written: Read-only file"),
        whole_file(tmp_path / "out.csv"),
    ):
        pass


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize("arguments", [["--version"], ["report", "--schema"]])
def test_output_that_cannot_be_written_is_one_line(arguments: list[str]) -> None:
    """A full disk behind standard output is exit code 1 and a sentence, no traceback."""
    check_a_full_disk_is_one_line(command(*arguments))


def test_an_error_without_a_name_adds_nothing_to_the_output(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Whether a full output was meant is tried by a line's end for want of room alone."""

    def fails() -> int:
        sys.stdout.write("[1]")
        raise OSError(errno.ECONNRESET, "reset by peer")

    assert ended("seambench", [], fails) == 1
    assert capsys.readouterr() == ("[1]", "seambench: reset by peer\n")


def test_a_name_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    """Arrow and records hold texts only: such a name is exit code 2 and one sentence."""
    check_a_name_that_is_no_utf8_is_refused(command("audit"), tmp_path)


def test_the_version_is_the_package_s() -> None:
    """`seambench --version` prints one line."""
    check_the_version_is_a_line(command(), "seambench")


def test_on_a_narrow_terminal_columns_of_sentences_stand_below_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At 80 columns no line is longer, and each name is whole on a line; a wide one has columns."""
    results = Path(__file__).parents[4] / "results"
    shown = {}
    for width in (80, 200):
        out = Console(width=width, highlight=False)
        monkeypatch.setattr("seambench.cli.stages.judging.console", lambda out=out: out)
        asked = ["bars", "--only", "hudi-rs", "--results", str(results)]
        shown[width] = CliRunner().invoke(app, asked).output.splitlines()
    names = [line.split("  ")[0].strip() for line in shown[200][1:]]
    assert shown[200][0].split()[0] == "bar"
    assert max(map(len, shown[80])) <= 80
    assert names != []
    assert [name for name in names if not any(name in line for line in shown[80])] == []


def test_a_path_is_never_broken(capsys: pytest.CaptureFixture[str]) -> None:
    """Wider than the terminal it is whole on a line of its own; what fits has columns."""
    path = f"/warehouse/{'a' * 90}/part-0.parquet"
    rows = [("orders", f"{path}: cut", "a remark"), ("b", "c", "")]
    narrow_table(Console(width=80), rows, whole=True)
    narrow_table(Console(width=80), [("orders", "/a: cut", "a remark")], whole=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:5] == ["orders", f"    {path}: cut", "    a remark", "b", "    c"]
    assert lines[5].split() == ["orders", "/a:", "cut"]


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 bytes are"), (1, "1 byte is"), (1234, "1,234 bytes are")]
)
def test_a_number_has_its_noun_and_its_verb(count: int, said: str) -> None:
    """One is told otherwise than none and several."""
    assert counted(count, "byte", "are") == said
    assert counted(count, "byte") == said.rpartition(" ")[0]
    assert counted(count, "row", "follow").endswith("s" if count == 1 else "follow")


@pytest.mark.parametrize("kind", ["seams", "formats"])
def test_lists_cut_no_word_on_a_narrow_terminal(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At 80 columns each word that programs are told is whole on a line, and no line is longer."""
    out = Console(width=80, highlight=False)
    monkeypatch.setattr("seambench.cli.listing.console", lambda: out)
    lines = CliRunner().invoke(app, ["list", kind]).output.splitlines()
    listed = json.loads(CliRunner().invoke(app, ["list", kind, "--json"]).output)[kind]
    words = [word for row in listed for word in row.get("capabilities", row.get("jars", ()))]
    assert max(map(len, lines)) <= 80
    assert words != []
    assert [word for word in words if not any(word in line for line in lines)] == []


_DATASETS = [
    {
        "name": f"mor-v9-event-avro-u{n}-s100",
        "path": f"/data/{'long' * n}/tpch-0.01",
        "formats": ["hudi", "delta"],
        "tables": ["lineitem", "orders"],
        "lineitem_rows": 60_175,
    }
    for n in range(1, 20)
]


@pytest.mark.parametrize("arguments", [["doctor"], ["list", "data"]])
def test_what_is_only_read_is_narrow_when_it_is_piped(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most 80 columns, with every word of the table of a wide terminal."""
    monkeypatch.setattr("seambench.cli.listing._datasets", lambda _: _DATASETS)
    shown = {}
    for columns in (None, "1000"):
        if columns:
            monkeypatch.setenv("COLUMNS", columns)
        else:
            monkeypatch.delenv("COLUMNS", raising=False)
        shown[columns] = CliRunner().invoke(app, [*arguments, "--data", str(tmp_path)]).output
    assert max(map(len, str(shown[None]).splitlines())) <= 80
    letters = re.sub(r"\s", "", shown[None])
    rows = shown["1000"].splitlines()[2:]
    words = [word for row in rows for word in row.split() if not word[0].isdigit()]
    assert len(words) > 20
    assert [word for word in words if word not in letters] == []


def test_values_are_shown_as_they_came(capsys: pytest.CaptureFixture[str]) -> None:
    """Rich makes a picture of `:fire:`, which would be another value than the reader gave."""
    console().print('k=":fire:"', markup=False)
    error_console().print("boom :fire:")
    out, err = capsys.readouterr()
    assert ':fire:"' in out
    assert "boom :fire:" in err
