"""Skeletons build, run and fail honestly: every case is refused, none is right by chance."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from seambench.cli.app import app

COMPILERS = {"c": "cc", "rust": "cargo", "go": "go"}
CASES = {
    "scanner": "scan/hudi/event-v9/update",
    "serde": "serde/presto/bigint_1_rows/decode",
    "exchange": "exchange/rows/skew/*",
    "column": "column/fixed/int/some/*",
}
BUILT = [
    pytest.param(what, lang, marks=[] if lang == "c" else [pytest.mark.slow])
    for what in ("scanner", "column", "serde", "exchange")
    for lang in COMPILERS
]


def _new(folder: Path, what: str, lang: str) -> tuple[Path, list[str]]:
    """A skeleton, and the command that checks it, as it was told."""
    target = folder / f"{what}-{lang}"
    done = CliRunner().invoke(app, ["new", what, str(target), "--lang", lang])
    assert done.exit_code == 0, done.exception
    told = next(line for line in done.stdout.splitlines() if "seambench check" in line)
    return target, shlex.split(told.partition("#")[0])


def _check(folder: Path, command: list[str], what: str) -> list[dict[str, str]]:
    """Outcomes of a few cases, with the command as told, from within the folder."""
    command = [*command[: command.index("--case")], "--case", CASES[what], "--json"]
    program = "import sys; from seambench.cli import main; main(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", program, *command[1:]],
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
    )
    assert done.returncode == 1, done.stderr
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
def test_skeletons_in_python_refuse_every_case(what: str, tmp_path: Path) -> None:
    """They are found from the folder they lie in, and refuse by name."""
    folder, command = _new(tmp_path, what, "python")

    assert _refused(_check(folder, command, what))


@pytest.mark.parametrize(("what", "lang"), BUILT)
def test_skeletons_build_and_refuse_every_case(what: str, lang: str, tmp_path: Path) -> None:
    """`make` is all it takes, where the compiler is there."""
    if shutil.which(COMPILERS[lang]) is None or shutil.which("make") is None:
        pytest.skip(f"no {COMPILERS[lang]} or make on this machine")
    folder, command = _new(tmp_path, what, lang)
    subprocess.run(["make"], cwd=folder, check=True, capture_output=True)

    assert _refused(_check(folder, command, what))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["reader"], "no skeleton of 'reader'; there are scanner, column"),
        (["scanner", "--lang", "cobol"], "no skeleton of 'scanner' in 'cobol'"),
        (["scanner", "taken"], "taken is there already, and not empty"),
        (["scanner", "a b"], "'a b' is no name for it"),
    ],
)
def test_what_has_no_skeleton_is_said(
    arguments: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    done = CliRunner().invoke(app, ["new", *arguments])

    assert says in str(done.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
