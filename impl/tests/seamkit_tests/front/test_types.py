"""What type checkers tell users: mistakes in their scripts are found, right ones pass."""

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest

_RIGHT = Path(__file__).with_name("user_script.py")
_HEAD = "import seamkit\n"
#: A mistake of each kind, each on its only line.
_MISTAKES = {
    "keyword of any table": 'seamkit.open_table("t").scan(colums=["id"])',
    "query of any table": 'seamkit.open_table("t").scan(query="snap")',
    "query of a format": 'seamkit.DeltaTable("t").scan(query="read-optimized")',
    "keyword of another format": 'seamkit.DeltaTable("t").scan(row_kinds=True)',
    "option of opening": 'seamkit.open_table("t", alow=["s3://b"])',
    "name of a format": 'seamkit.open_table("t", format="dleta")',
    "method of a table": 'seamkit.open_table("t").to_panda()',
    "method of a scan": 'seamkit.open_table("t").scan().collect()',
    "length of a scan": 'len(seamkit.open_table("t").scan())',
    "wrong kind of value": 'seamkit.HudiTable("t").scan(threads="2")',
    "query by register": 'seamkit.scan_table("t", query="increment")',
    "field of a state": 'print(seamkit.open_table("t").history()[0].timestamp)',
}


def _by_mypy(folder: Path) -> set[str]:
    """Names of the files in which mypy finds a mistake."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--config-file", "", "."],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert not [line for line in lines if "py.typed" in line or "[import" in line], lines
    return {line.partition(":")[0] for line in lines}


def _by_pyright(folder: Path) -> set[str]:
    """Names of the files in which pyright finds a mistake."""
    arguments = ["--outputjson", "--pythonpath", sys.executable, "."]
    done = subprocess.run(
        [sys.executable, "-m", "pyright", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = json.loads(done.stdout)["generalDiagnostics"]
    return {Path(one["file"]).name for one in found if one["severity"] == "error"}


@pytest.mark.parametrize("checker", [_by_mypy, _by_pyright])
def test_each_mistake_is_found_and_no_other(
    tmp_path: Path, checker: Callable[[Path], set[str]]
) -> None:
    """Of scripts with one mistake each, and a right one, all but the right one are told."""
    pytest.importorskip(checker.__name__.removeprefix("_by_"))
    mistaken = {}
    for number, (name, line) in enumerate(_MISTAKES.items()):
        mistaken[f"mistake_{number}.py"] = name
        (tmp_path / f"mistake_{number}.py").write_text(f"{_HEAD}{line}\n")
    (tmp_path / "right.py").write_text(_RIGHT.read_text())
    found = checker(tmp_path)
    assert "right.py" not in found
    assert {name for file, name in mistaken.items() if file not in found} == set()


@pytest.mark.parametrize("package", ["seamkit", "seambase", "seambench"])
def test_packages_say_that_they_are_typed(package: str) -> None:
    """The marker of PEP 561 lies in each package as it is installed."""
    assert files(package).joinpath("py.typed").is_file()
