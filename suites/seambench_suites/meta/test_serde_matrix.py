"""The matrix finds what a round trip cancels out, and what memory is left after it."""

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from seambase.errors import UsageError
from seambench.cli import main
from seambench.conformance.run import Run
from seambench.contracts.outcomes import Outcome

HERE = "seambench_suites.meta.plain_serde:"
RIGHT, WRONG = f"{HERE}PlainSerde", f"{HERE}LosesTheSign"
CASES = ["serde/presto/decimal_38_38/encode", "serde/presto/bigint_some_nulls/encode"]


def _outcomes(names: Sequence[str]) -> dict[tuple[str, str], Outcome]:
    run = Run("serde", names, patterns=CASES)
    return {(each.implementation, each.case): each for each in run.extra_pass("matrix")}


def test_wrong_producers_are_found_by_others() -> None:
    """Long decimals written in another form fail before every reader; other columns pass."""
    found = _outcomes([RIGHT, WRONG])
    assert len(found) == 2 * 2 * 2 + 2
    right = {found[f"{RIGHT} -> {name}", case].outcome for name in (RIGHT, WRONG) for case in CASES}
    assert right == {"pass"}
    wrong = found[f"{WRONG} -> {RIGHT}", CASES[0]]
    assert (wrong.outcome, "expected" in wrong.reason) == ("fail", True)
    assert found[f"{WRONG} -> {RIGHT}", CASES[1]].outcome == "pass"


def test_memory_is_judged_at_the_end() -> None:
    """One whose blocks of memory grow from vector to vector fails, whatever it hands out."""
    leaks = f"{HERE}Leaking"
    memory = {name: o for (name, _), o in _outcomes([RIGHT, leaks]).items() if " -> " not in name}
    assert memory[RIGHT].outcome == "pass"
    assert "MiB" in memory[RIGHT].reason
    assert memory[leaks].outcome == "fail"
    assert " of memory still held" in memory[leaks].reason


def test_what_is_not_written_is_told() -> None:
    """One that refuses to write fails its whole row, and says so."""
    found = _outcomes([RIGHT, f"{HERE}RefusesAll"])[f"{HERE}RefusesAll -> {RIGHT}", CASES[0]]
    assert found.outcome == "fail"
    assert found.reason.startswith("not written: refused what it offers")


@pytest.mark.parametrize(
    ("pattern", "says"),
    [("nothing/*", "nothing/"), ("serde/presto/bigint_1_rows/flip", "can be written")],
)
def test_patterns_must_match(pattern: str, says: str) -> None:
    """A pattern that matches no case, or none with values to write, is wrong usage."""
    with pytest.raises(UsageError, match=says):
        list(Run("serde", [RIGHT], patterns=[pattern]).extra_pass("matrix"))


def test_passes_are_those_of_the_seam() -> None:
    """A pass that the seam does not have is refused with those that it has."""
    with pytest.raises(UsageError, match="no pass 'matrix'; it has forms, invariants"):
        list(Run("scan", []).extra_pass("matrix"))


@pytest.mark.parametrize(("name", "code"), [(RIGHT, 0), (WRONG, 1)])
def test_command_ends_with_the_verdict(
    capsys: pytest.CaptureFixture[str], name: str, code: int
) -> None:
    """The command prints a line for each pair, and its exit code tells whether all was right."""
    what = ["check", "--seam", "serde", "--pass", "matrix"]
    arguments: list[Any] = [*what, "--impl", RIGHT, "--impl", name, "--case", CASES[0]]
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == code
    assert f"{RIGHT} -> {name}" in capsys.readouterr().out


def test_peers_in_versions_take_part() -> None:
    """Their environments hold what reading needs, and none of the harness's own extras."""
    program = "import sys; sys.modules['psutil'] = None; import seambench.seams.serde.matrix"
    subprocess.run([sys.executable, "-c", program], check=True)
