"""Words of known failures."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from seambase.errors import UsageError
from seambench.conformance.load import load_cases
from seambench.conformance.run import run_checks
from seambench.conformance.xfails import digest_of, load_xfails
from seambench.contracts.outcomes import FAILING, WORDS
from seambench_suites.cases import ROOT

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
    (outcome,) = run_checks("scan", [name], patterns=[CASE], xfails=[file])

    assert outcome.outcome == word
    assert outcome.failed == (word == "xpass")
    assert outcome.known == "known"
    assert outcome.came == ("fail" if word == "xfail" else None)


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ('outcomes = ["crash"]', "but with crash, not with fail"),
        ('digest = "000000000000"', "but by other rows (digest "),
    ],
)
def test_another_failure_than_the_known_one_is_not_excused(
    tmp_path: Path, key: str, says: str
) -> None:
    """An entry excuses its own word and its own rows: not a wrong answer for a crash."""
    file = _file(tmp_path, WRONG, CASE)
    file.write_text(f"{file.read_text()}{key}\n")
    (outcome,) = run_checks("scan", [WRONG], patterns=[CASE], xfails=[file])

    assert (outcome.outcome, says in outcome.reason) == ("fail", True), outcome.reason


def test_the_rows_that_are_known_are_excused(tmp_path: Path) -> None:
    """The digest that a failure tells is the one that excuses it, whatever the order of rows."""
    (failed,) = run_checks("scan", [WRONG], patterns=[CASE])
    assert failed.difference is not None
    found = digest_of(failed.difference)
    turned = replace(failed.difference, missing=failed.difference.missing[::-1])
    file = _file(tmp_path, WRONG, CASE)
    file.write_text(f'{file.read_text()}digest = "{found}"\n')
    (outcome,) = run_checks("scan", [WRONG], patterns=[CASE], xfails=[file])

    assert (outcome.outcome, digest_of(turned)) == ("xfail", found)


def test_other_implementations_are_not_excused(tmp_path: Path) -> None:
    """A known failure of one implementation excuses no other."""
    file = _file(tmp_path, RIGHT, CASE)
    (outcome,) = run_checks("scan", [WRONG], patterns=[CASE], xfails=[file])

    assert outcome.outcome == "fail"


def test_implementations_may_name_their_own() -> None:
    """An implementation's own file of known failures counts without being given."""
    cases = [CASE, "scan/hudi/event-v9/default-delete"]
    outcomes = run_checks("scan", ["seambench_suites.meta.wrong:Excused"], patterns=cases)

    assert {o.case: o.outcome for o in outcomes} == dict(zip(cases, ["xfail", "fail"], strict=True))


@pytest.mark.parametrize(
    ("patterns", "stale"),
    [(["scan/hudi/event-v9/update*"], ["scan/hudi/event-v9/updated"]), ([CASE], [])],
)
def test_stale_entries_fail(tmp_path: Path, patterns: list[str], stale: list[str]) -> None:
    """An entry that names no case is an error of its own, in a run about such cases alone."""
    file = _file(tmp_path, RIGHT, "scan/hudi/event-v9/updated")
    outcomes = run_checks("scan", [RIGHT], patterns=patterns, xfails=[file])

    assert [(o.case, o.outcome) for o in outcomes] == [
        (CASE, "pass"),
        *((id_, "error") for id_ in stale),
    ]


def test_entries_for_installed_cases_are_not_stale_elsewhere(tmp_path: Path) -> None:
    """With golden files of somebody's own, known failures of the installed cases say nothing."""
    for ending in ("bin", "json"):
        shutil.copy(ROOT / "golden" / "presto" / f"bigint_1_rows.{ending}", tmp_path)
    serde = "seambench_suites.meta.plain_serde:PlainSerde"
    file = _file(tmp_path, serde, "serde/presto/bigint_1_rows/decode")
    outcomes = run_checks("serde", [serde], golden=tmp_path, xfails=[file])

    assert {outcome.outcome for outcome in outcomes} == {"pass", "not-offered"}


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


def _announced() -> Iterator[tuple[str, Path]]:
    """Files of known failures that announced implementations name, by implementation."""
    for point in entry_points(group="seambench.impl"):
        with suppress(ImportError):  # of a peer that is not installed
            if file := getattr(point.load(), "xfails", None):
                yield point.name, file


@pytest.mark.parametrize(("name", "file"), sorted(_announced()))
def test_known_failures_of_announced_implementations_name_cases(name: str, file: Path) -> None:
    """An entry for a case that was renamed or dropped excuses nothing, and goes."""
    seam = name.partition(".")[0]
    known = [case.id for case in load_cases(seam)]

    assert [one.case for one in load_xfails(file).stale(seam, known)] == []


def test_many_implementations_have_such_a_file() -> None:
    """The comparison is not empty."""
    assert len(list(_announced())) > 15
