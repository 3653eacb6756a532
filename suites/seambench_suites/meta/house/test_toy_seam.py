"""A fifth seam, brought by a package from outside, is checked and shown like the others."""

import json
from pathlib import Path
from typing import Any

import pytest

from seambench_suites.meta.house.installed import command_apart, command_here, install

_ENTRY_POINTS = """
[seambench.seam]
adder = seambench_suites.meta.house.toy_seam:SEAM
[seambench.impl]
adder.right = seambench_suites.meta.house.toy_seam:Adder
adder.forgets = seambench_suites.meta.house.toy_seam:ForgetsToCarry
[seambench.cases]
adder = seambench_suites.meta.house.toy_seam:ROOT
"""


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "toy-seam", _ENTRY_POINTS, monkeypatch)


def _lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_check_judges_it() -> None:
    """Right, wrong, refused, not offered and not quite as it should be: each has its word."""
    done = command_apart("seambench.cli", "check", "--seam", "adder", "--json")
    words = {(o["implementation"], o["case"].split("/")[-1]): o for o in _lines(done.stdout)}
    assert done.returncode == 1, done.stderr
    assert {case: o["outcome"] for (name, case), o in words.items() if name == "right"} == {
        "two": "pass",
        "carry": "pass",
        "lenient-carry": "pass",
        "below-zero": "not-offered",
        "too-many": "pass",
    }
    carry = words["forgets", "carry"]
    assert (carry["outcome"], carry["reason"]) == ("fail", "15 expected, 5 came")
    assert (carry["level"], carry["group"], carry["version"]) == ("must", "small", "1.0")
    assert words["forgets", "lenient-carry"]["level"] == "should"


@pytest.mark.parametrize(
    ("implementation", "case", "code", "says"),
    [
        ("right", "adder/small/*", 0, "right"),
        ("forgets", "adder/small/carry", 1, "15 expected, 5 came"),
        ("forgets", "adder/small/lenient-carry", 0, "fail (should) forgets"),
        ("right", "adder/small/below-zero", 1, "so there is no verdict: no negative"),
        ("wright", "adder/*", 2, "did you mean 'right'"),
        ("right", "adder/large/*", 2, "no case matches"),
    ],
)
def test_exit_codes(
    capsys: pytest.CaptureFixture[str], implementation: str, case: str, code: int, says: str
) -> None:
    """A `should` that is not met fails no run; no verdict is no success; wrong usage is 2."""
    what = ["check", "--seam", "adder", "--impl", implementation, "--case", case]
    done = command_here(capsys)(*what)
    assert done.returncode == code, done.stdout + done.stderr
    assert says in done.stdout + done.stderr


def test_list_and_doctor_show_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Seams, implementations and cases are listed, and doctor counts who can be checked."""
    seambench = command_here(capsys)
    listed = json.loads(seambench("list", "--json").stdout)
    assert (listed["schema"], listed["implementations"][0].keys() >= {"kind", "version"}) == (
        1,
        True,
    )
    doctor = seambench("doctor", "--json", "--data", tmp_path)
    assert {row["name"] for row in listed["seams"]} >= {"adder", "scan"}
    assert {row["name"] for row in listed["implementations"] if row["seam"] == "adder"} == {
        "right",
        "forgets",
    }
    assert sum(row["seam"] == "adder" for row in listed["cases"]) == 5
    found = {row["subject"]: row["found"] for row in json.loads(doctor.stdout)["findings"]}
    assert found["adder seam"] == "2 implementations: forgets, right"


def test_pytest_runs_it(tmp_path: Path) -> None:
    """The suite under pytest has the cases of every installed seam; peers only when named."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    done = command_apart(
        *("pytest", "-q", "-rA", "-p", "no:cacheprovider", "-c", str(tmp_path / "pytest.ini")),
        *("--pyargs", "seambench_suites.conformance.test_seams", "--import-mode=importlib"),
        *("--case", "adder/*"),
    )
    assert done.returncode == 0, done.stdout
    assert "4 passed, 1 skipped" in done.stdout
    assert "forgets" not in done.stdout
