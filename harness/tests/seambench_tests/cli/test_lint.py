"""`seambench lint` names each broken rule, and its exit code tells whether one must hold."""

import json
from pathlib import Path

import pytest

from seambench.contracts.formats import resolve_format
from seambench_suites.meta.house.installed import Command, command_here
from seambench_tests.formats.planting import unpacked


@pytest.fixture
def lint(capsys: pytest.CaptureFixture[str]) -> Command:
    """The command."""
    return lambda *arguments: command_here(capsys)("lint", *arguments)


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [
        ("evolution", 0, "Delta: no rule is broken"),
        ("types", 0, "4 faults of level should"),
        ("deltalake-types", 1, "must delta.stats.min-values  Delta protocol, Per-file Statistics"),
    ],
)
def test_rules(lint: Command, tmp_path: Path, name: str, code: int, says: str) -> None:
    """A right table ends with 0, what should be otherwise too, what must be otherwise with 1."""
    done = lint(unpacked(resolve_format("delta"), name, tmp_path / "t"))
    assert done.returncode == code, done.stderr
    assert says in done.stdout


def test_json(lint: Command, tmp_path: Path) -> None:
    """Each fault is a line with rule, source, place and sentence."""
    done = lint(unpacked(resolve_format("delta"), "deltalake-types", tmp_path / "t"), "--json")
    [fault] = [json.loads(line) for line in done.stdout.splitlines()]
    assert fault["rule"] == "delta.stats.min-values"
    assert fault["place"].endswith("column n38")
    assert set(fault) == {"schema", "rule", "source", "place", "says", "level"}


def test_no_table(lint: Command, tmp_path: Path) -> None:
    """What is no table is refused, with the formats that can be looked at."""
    nowhere, nothing = lint(tmp_path / "nowhere"), lint(tmp_path)
    assert (nowhere.returncode, nothing.returncode) == (2, 2)
    assert "there is no such folder" in nowhere.stderr
    assert "is no table; there are linters of delta" in nothing.stderr
