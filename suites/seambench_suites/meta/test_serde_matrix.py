"""The matrix finds what a round trip cancels out, and tells memory before and after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from seambase.errors import UsageError
from seambench.cli import main
from seambench.seams.serde.matrix import Cell, Matrix

HERE = "seambench_suites.meta.plain_serde:"
RIGHT, WRONG = f"{HERE}PlainSerde", f"{HERE}LosesTheSign"
CASES = ["serde/presto/decimal_38_38/encode", "serde/presto/bigint_some_nulls/encode"]


def _cells(names: Sequence[str]) -> tuple[Matrix, dict[tuple[str, str, str], Cell]]:
    matrix = Matrix(names, CASES)
    return matrix, {(cell.producer, cell.consumer, cell.case): cell for cell in matrix.cells()}


def test_wrong_producers_are_found_by_others() -> None:
    """Long decimals written in another form fail before every reader; other columns pass."""
    matrix, cells = _cells([RIGHT, WRONG])

    assert len(cells) == 8
    assert {cells[RIGHT, name, case].outcome for name in (RIGHT, WRONG) for case in CASES} == {
        "pass"
    }
    assert cells[WRONG, RIGHT, CASES[0]].outcome == "fail"
    assert "expected" in cells[WRONG, RIGHT, CASES[0]].reason
    assert cells[WRONG, RIGHT, CASES[1]].outcome == "pass"
    assert matrix.memory[RIGHT].blocks == (0, 0)
    assert all(kib > 0 for kib in matrix.memory[RIGHT].rss_kib)


def test_what_is_not_written_is_told() -> None:
    """One that refuses to write fails its whole row, and says so."""
    _, cells = _cells([RIGHT, f"{HERE}RefusesAll"])
    cell = cells[f"{HERE}RefusesAll", RIGHT, CASES[0]]

    assert cell.outcome == "fail"
    assert cell.reason.startswith("not written: refused what it offers")


def test_missing_implementations_are_outcomes() -> None:
    """An implementation that does not exist costs its own rows and columns."""
    _, cells = _cells([RIGHT, f"{HERE}NoSuchSerde"])

    assert cells[RIGHT, RIGHT, CASES[0]].outcome == "pass"
    assert cells[RIGHT, f"{HERE}NoSuchSerde", CASES[0]].outcome == "error"


def test_patterns_must_match() -> None:
    """A pattern that matches no case is wrong usage."""
    with pytest.raises(UsageError, match="nothing/"):
        list(Matrix([RIGHT], ["nothing/*"]).cells())


@pytest.mark.parametrize(("name", "code"), [(RIGHT, 0), (WRONG, 1)])
def test_command_ends_with_the_verdict(
    capsys: pytest.CaptureFixture[str], name: str, code: int
) -> None:
    """The command prints the table, and its exit code tells whether all was right."""
    arguments: list[Any] = ["matrix", "--impl", RIGHT, "--impl", name, "--case", CASES[0]]
    with pytest.raises(SystemExit) as ended:
        main(arguments)

    assert ended.value.code == code
    assert "written by" in capsys.readouterr().out
