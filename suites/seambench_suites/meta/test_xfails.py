"""Words of known failures."""

from __future__ import annotations

from pathlib import Path

import pytest

from seambase.errors import UsageError
from seambench.conformance.check import run_checks
from seambench.conformance.xfails import load_xfails
from seambench.contracts.outcomes import FAILING, WORDS

RIGHT = "seambench_suites.meta.simulated:SimulatedReader"
WRONG = "seambench_suites.meta.wrong:BaseRowsOnly"
CASE = "scan/hudi/event-v9/update"


def _file(folder: Path, implementation: str, case: str) -> Path:
    file = folder / "xfails.toml"
    file.write_text(
        f'implementation = "{implementation}"\n[[xfail]]\nid = "{case}"\nreason = "known"\n'
    )
    return file


@pytest.mark.parametrize(("name", "word"), [(WRONG, "xfail"), (RIGHT, "xpass")])
def test_expected_failures(tmp_path: Path, name: str, word: str) -> None:
    """A known failure is xfail; one that passes is xpass, which fails the run."""
    file = _file(tmp_path, name, CASE)
    (outcome,) = run_checks("scan", [name], cases=[CASE], xfails=[file])

    assert outcome.outcome == word
    assert outcome.failed == (word == "xpass")
    assert "known" in outcome.reason


def test_other_implementations_are_not_excused(tmp_path: Path) -> None:
    """A known failure of one implementation excuses no other."""
    file = _file(tmp_path, RIGHT, CASE)
    (outcome,) = run_checks("scan", [WRONG], cases=[CASE], xfails=[file])

    assert outcome.outcome == "fail"


def test_implementations_may_name_their_own() -> None:
    """An implementation's own file of known failures counts without being given."""
    cases = [CASE, "scan/hudi/event-v9/default-delete"]
    outcomes = run_checks("scan", ["seambench_suites.meta.wrong:Excused"], cases=cases)

    assert {o.case: o.outcome for o in outcomes} == dict(zip(cases, ["xfail", "fail"], strict=True))


def test_stale_entries_fail(tmp_path: Path) -> None:
    """An entry that names no case is an error of its own."""
    file = _file(tmp_path, RIGHT, "scan/hudi/gone")
    outcomes = list(run_checks("scan", [RIGHT], cases=[CASE], xfails=[file]))

    assert [(o.case, o.outcome) for o in outcomes] == [(CASE, "pass"), ("scan/hudi/gone", "error")]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[xfail]]\nid = 'a'\nreason = 'b'\n", "implementation"),
        ("implementation = 'x'\n[[xfail]]\nid = 'a'\n", "reason"),
        ("implementation = 'x'\n[[xfail]]\nid = 'a'\nreason = ' '\n", "no reason"),
        ("implementation = 'x'\n[[xfail]]\nid = 'a'\nreason = 'b'\nwhy = 'c'\n", "why"),
        ("implementation = \n", "not readable"),
    ],
)
def test_broken_files_are_refused(tmp_path: Path, text: str, says: str) -> None:
    """Every entry has a reason, and unknown keys are errors."""
    file = tmp_path / "x.toml"
    file.write_text(text)

    with pytest.raises(UsageError, match=says):
        load_xfails(file)


def test_words() -> None:
    """The words that fail a run are just these, and `unavailable` is never a pass."""
    assert set(WORDS) - FAILING == {"pass", "xfail", "not-offered", "unavailable"}
