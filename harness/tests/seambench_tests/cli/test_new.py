"""Skeletons build, run and fail honestly: they refuse, give no rows or no table; none is right."""

import errno
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from seambench.cli.app import app
from seambench.conformance.load import find_case
from seambench.contracts.registry import find_seam

COMPILERS = {"c": "cc", "rust": "cargo", "go": "go"}
#: What a language of a scanner is built and run by.
TOOLS = {"python": "python", "c++": "c++", "java": "mvn", "javascript": "npm", **COMPILERS}
FIRST = {
    "delta": "scan/delta/checkpoints/commits-gone",
    "hive": "scan/hive/parquet/written",
    "hudi": "scan/hudi/event-v9/all-rows",
    "iceberg": "scan/iceberg/partitions/buckets/zero",
    "paimon": "scan/paimon/deduplicate/buckets/newest",
}
CASES = {
    "serde": "serde/presto/bigint_1_rows/decode",
    "exchange": "exchange/rows/skew/*",
    "column": "column/fixed/int/some/*",
}
#: How a writer in Python does its steps in Delta, in place of what the template does.
DELTA_STEPS = """\
        write_deltalake(str(step.table), step.rows, mode="append")
"""
BUILT = [
    pytest.param(what, lang, marks=[] if lang == "c" else [pytest.mark.slow])
    for what in sorted(CASES)
    for lang in COMPILERS
]


def _new(folder: Path, what: str, lang: str, *more: str) -> tuple[Path, list[str]]:
    """A template, and the command that checks it, as it was told: the third at most."""
    target = folder / f"{what}-{lang.replace('+', 'p')}"
    done = CliRunner().invoke(app, ["new", what, str(target), "--lang", lang, *more])
    assert done.exit_code == 0, done.exception
    before, check, rest = done.stdout.partition("seambench check")
    told = re.split(r"&&|[;|\n]", before.partition("next:")[2])
    typed = [words for words in map(shlex.split, told) if words and words[0] != "cd"]
    assert typed in ([], [["make"]]), "the tests of what is built type no more than that"
    return target, shlex.split((check + rest).partition("#")[0])


def _check(folder: Path, command: list[str], case: str, code: int = 1) -> list[dict[str, str]]:
    """Outcomes of a few cases, with the command as told, from within the folder."""
    command = [*command[: command.index("--case")], "--case", case, "--json"]
    program = "import sys; from seambench.cli import main; main(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", program, *command[1:]],
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def _refused(outcomes: list[dict[str, str]]) -> bool:
    """Whether each case that was put to it was refused by name."""
    asked = [one for one in outcomes if one["outcome"] != "not-offered"]
    words = ("yet", "refused what it offers")
    return bool(asked) and all(
        one["outcome"] == "fail" and all(word in one["reason"] for word in words) for one in asked
    )


@pytest.mark.slow
@pytest.mark.parametrize("what", sorted(CASES))
def test_templates_in_python_refuse_every_case(what: str, tmp_path: Path) -> None:
    """They are found from the folder they lie in, and refuse by name."""
    folder, command = _new(tmp_path, what, "python")
    assert _refused(_check(folder, command, CASES[what]))


@pytest.mark.parametrize(("what", "lang"), BUILT)
def test_templates_build_and_refuse_every_case(what: str, lang: str, tmp_path: Path) -> None:
    """`make` is all it takes, where the compiler is there."""
    if shutil.which(COMPILERS[lang]) is None or shutil.which("make") is None:
        pytest.skip(f"no {COMPILERS[lang]} or make on this machine")
    folder, command = _new(tmp_path, what, lang)
    subprocess.run(["make"], cwd=folder, check=True, capture_output=True)
    assert _refused(_check(folder, command, CASES[what]))


def _misses_rows(folder: Path, command: list[str], format_name: str) -> bool:
    """Whether the first case says that rows are missing, and nothing else."""
    [outcome] = _check(folder, command, FIRST[format_name])
    difference: Any = outcome.get("difference") or {}
    return (
        outcome["outcome"] == "fail"
        and ", 0 read" in outcome["reason"]
        and difference["missing_rows"] > 0
        and difference["unexpected_rows"] == 0
    )


@pytest.mark.parametrize(
    "format_name",
    [
        pytest.param(name, marks=[] if name in ("hive", "hudi") else pytest.mark.slow)
        for name in sorted(FIRST)
    ],
)
def test_a_scanner_in_python_gives_no_rows_of_any_format(format_name: str, tmp_path: Path) -> None:
    """It states what its format needs, and its first verdict is that rows are missing."""
    folder, command = _new(tmp_path, "scanner", "python", "--format", format_name)
    assert _misses_rows(folder, command, format_name)


@pytest.mark.parametrize(
    "lang",
    [
        pytest.param(lang, marks=[] if lang in ("c", "c++") else [pytest.mark.slow])
        for lang in TOOLS
        if lang != "python"
    ],
)
def test_a_scanner_is_built_and_gives_no_rows(lang: str, tmp_path: Path) -> None:
    """`make` is all it takes, where what builds it is there."""
    if shutil.which(TOOLS[lang]) is None or shutil.which("make") is None:
        pytest.skip(f"no {TOOLS[lang]} or make on this machine")
    folder, command = _new(tmp_path, "scanner", lang, "--format", "delta")
    flags = ["CFLAGS=-O1 -Wall -Wextra -Werror", "CXXFLAGS=-O1 -std=c++17 -Wall -Wextra -Werror"]
    subprocess.run(["make", *(flags if lang[0] == "c" else [])], cwd=folder, check=True)
    assert _misses_rows(folder, command, "delta")


def _makes_no_table(folder: Path, command: list[str], format_name: str) -> bool:
    """Whether the first case says that there is no table after the first step."""
    case = f"table-writer/{format_name}/types/bigint-keyed"
    [outcome] = _check(folder, command, case)
    wanted = ("state after step 1 (create)", "no table lies in it")
    return outcome["outcome"] == "fail" and all(word in outcome["reason"] for word in wanted)


@pytest.mark.parametrize(
    "format_name",
    ["delta", *(pytest.param(n, marks=pytest.mark.slow) for n in ("hudi", "iceberg", "paimon"))],
)
def test_a_writer_in_python_makes_no_table_of_any_format(format_name: str, tmp_path: Path) -> None:
    """The first verdict of the judge of states; the cases that are told are there."""
    folder, command = _new(tmp_path, "writer", "python", "--format", format_name)
    assert _makes_no_table(folder, command, format_name)
    assert f"table-writer/{format_name}/types/bigint*" in command


@pytest.mark.slow
@pytest.mark.parametrize("lang", ["go", "rust"])
def test_a_writer_is_built_makes_no_table_and_refuses_the_rest(lang: str, tmp_path: Path) -> None:
    """It runs for all steps of a script, each with an answer; a crash is none."""
    if shutil.which(COMPILERS[lang]) is None or shutil.which("make") is None:
        pytest.skip(f"no {COMPILERS[lang]} or make on this machine")
    folder, command = _new(tmp_path, "writer", lang, "--format", "delta")
    subprocess.run(["make"], cwd=folder, check=True, capture_output=True)
    case = find_case("table-writer/delta/rows/append")
    steps = find_seam("table-writer").asked(case)
    how: dict[str, Any] = {"cwd": folder, "capture_output": True, "text": True}
    said, again = (subprocess.run("./writer", input=steps, check=False, **how) for _ in range(2))
    assert _makes_no_table(folder, command, "delta")
    done, *rest = map(json.loads, said.stdout.splitlines())
    assert (said.returncode, done, (folder / "table").is_dir()) == (0, {"done": True}, True)
    assert rest == [{"refused": f"{folder.name} does no append yet"}] * 2
    assert (bool(again.returncode), again.stdout) == (True, ""), "the folder is there already"
    assert "refused: " not in again.stderr


def test_a_template_of_a_writer_becomes_one_by_a_line(tmp_path: Path) -> None:
    """With what its comment asks for it is right, and states what it does: nothing is skipped."""
    pytest.importorskip("deltalake")
    folder, command = _new(tmp_path, "writer", "python", "--format", "delta")
    file = folder / "writer.py"
    before, does, _ = file.read_text().partition("        if step.do ==")
    assert does, "the template has other words for its first step"
    imports = "from seambase.errors import RefusedError\n"
    before = before.replace(imports, "from deltalake import write_deltalake\n")
    before = before.replace(', "steps.upsert", "keys"', "")
    file.write_text(before + DELTA_STEPS)
    outcomes = _check(folder, command, "table-writer/delta/types/bigint*", code=0)
    said = {one["case"]: one["outcome"] for one in outcomes}
    assert said["table-writer/delta/types/bigint"] == "pass"
    assert said["table-writer/delta/types/bigint-keyed"] == "not-offered"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["scan"], "no template of 'scan'; there are scanner, column"),
        (["scanner", "--lang", "cobol"], "no template of 'scanner' in 'cobol'"),
        (["serde", "--format", "delta"], "--format goes with scanner and writer"),
        (["writer", "--lang", "c"], "no template of 'writer' in 'c'; there are python, rust, go"),
        (["serde", "--lang", "java"], "no template of 'serde' in 'java'"),
        (["scanner", "--format", "csv"], "unknown table format 'csv'"),
        (["scanner", "taken"], "taken is there already, and not empty"),
        (["scanner", "/proc/none"], "/proc/none cannot be written: No such file"),
        (["scanner", "a b"], "'a b' is no name for it"),
    ],
)
def test_what_has_no_template_is_said(
    arguments: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    done = CliRunner().invoke(app, ["new", *arguments])
    assert says in str(done.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


@pytest.mark.parametrize(
    ("what", "name", "lang"),
    [
        ("scanner", "my-c++", "c++"),
        ("reader", "my-c++", "cpp"),
        ("reader", "my.go_1", "golang"),
        ("table-writer", "my.rs", "rs"),
    ],
)
def test_a_template_takes_its_folder_s_name(
    what: str, name: str, lang: str, tmp_path: Path
) -> None:
    """As languages are called, `+` among their letters; what it states has the name."""
    done = CliRunner().invoke(app, ["new", what, str(tmp_path / name), "--lang", lang])
    [stated] = (tmp_path / name).glob("*.seambench.json")
    assert done.exit_code == 0, done.exception
    assert json.loads(stated.read_text())["name"] == name


@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize("lang", ["python", "go", "java"])
def test_a_full_disk_leaves_nothing_of_a_template(
    is_there: bool, lang: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever file does not fit: the folder is as it was, and named."""
    monkeypatch.chdir(tmp_path)
    write, written = Path.write_text, []

    def full(path: Path, text: str, **how: Any) -> int:
        written.append(path)
        if len(written) > lasts:
            raise OSError(errno.ENOSPC, "no room")
        return write(path, text, **how)

    monkeypatch.setattr(Path, "write_text", full)
    for lasts in range(20):  # noqa: B007  (`full` reads it)
        written.clear()
        if is_there:
            Path("mine").mkdir(exist_ok=True)
        done = CliRunner().invoke(app, ["new", "scanner", "mine", "--lang", lang])
        if done.exit_code == 0:
            break
        assert str(done.exception) == "mine cannot be written: No space left on device"
        assert [path.name for path in tmp_path.rglob("*")] == ["mine"] * is_there
    assert len(written) == lasts
    assert {tmp_path / path for path in written} == {p for p in tmp_path.rglob("*") if p.is_file()}
