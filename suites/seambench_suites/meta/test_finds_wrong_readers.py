"""The suite finds readers that are wrong, and lets one that is right pass."""

from __future__ import annotations

import fnmatch
from functools import cache

import pytest

from seambase.errors import UsageError
from seambench.conformance.isolate import Limits
from seambench.conformance.judge import run_one
from seambench.conformance.load import load_cases
from seambench.conformance.run import run_checks
from seambench.formats.hudi.golden import TableSpec
from seambench.seams.scan.cases import ScanCase
from seambench_suites.meta import wrong
from seambench_suites.meta.simulated import SimulatedReader, simulates


@cache
def _cases() -> list[ScanCase]:
    """Scan cases that a reader of declarations can meet: no damage, no plans, no foreign rules."""
    cases = [case for case in load_cases("scan") if isinstance(case, ScanCase)]
    return [case for case in cases if not case.edits and _is_simulated(case)]


def _is_simulated(case: ScanCase) -> bool:
    """Whether the rows of a case follow from its table's declaration alone."""
    spec = case.table.spec
    if not isinstance(spec, TableSpec):
        return False
    compacts = {write.operation for write in spec.writes} & {"compact", "schedule-compaction"}
    asks_for_files = case.request.query == "read-optimized" and compacts
    return simulates(spec) and not asks_for_files and not case.extra_needs


def _words(reader: SimulatedReader, patterns: list[str]) -> dict[str, str]:
    """Outcomes by case for those that match; the dataset's invariants are left out, for speed."""
    reader.capabilities = {**reader.capabilities, "pushdown": False}
    chosen = [c for c in _cases() if any(fnmatch.fnmatch(c.id, p) for p in patterns)]
    return {case.id: run_one(case, reader)[0] for case in chosen}


def test_right_reader_passes() -> None:
    """Rows worked out from the declared operations are the rows that the cases expect."""
    reader = SimulatedReader()
    outcomes = {case.id: run_one(case, reader) for case in _cases()}

    assert {i: o for i, o in outcomes.items() if o[0] not in ("pass", "not-offered")} == {}
    assert sum(word == "pass" for word, _ in outcomes.values()) > 80


@pytest.mark.parametrize(
    ("reader", "found", "passed"),
    [
        (wrong.BaseRowsOnly, ["event-*/update", "commit-*/delete", "log-only-group/snap*"], []),
        (wrong.ForgetsTheFirstLog, ["event-*/update", "commit-*/older-update-wins"], []),
        (
            wrong.IgnoresDeletes,
            ["event-*/default-delete", "commit-*/delete", "typed-delete/newer-than-log"],
            ["event-*/update"],
        ),
        (
            wrong.LastLogWins,
            ["event-*/older-*", "typed-delete/older-*", "event-*/resurrection"],
            ["commit-*/*", "event-*/update"],
        ),
        (
            wrong.KeepsTheOlderOfATie,
            ["event-*/tie-takes-the-later", "typed-delete/equal-to-base"],
            ["event-*/update", "commit-*/*"],
        ),
        (
            wrong.FiltersBelowTheMerge,
            ["event-*/filter-on-stale-value"],
            ["event-*/all-rows", "commit-*/*"],
        ),
        (
            wrong.DeletesAlwaysWin,
            ["scenarios/soft-delete@*/snapshot"],
            ["event-*/update", "scenarios/windows@*/*"],
        ),
        (
            wrong.TestsBaseRowsForDeletes,
            ["scenarios/soft-delete@*"],
            ["event-*/*", "scenarios/windows@*/*"],
        ),
        (
            wrong.SeesWhatWasUndone,
            ["scenarios/rollback@*/at-the-dead", "scenarios/crash-*/snapshot"],
            ["event-*/*", "scenarios/windows@*/*", "scenarios/rollback@*/before-the-dead"],
        ),
        (
            wrong.ForgetsLaterRollbacks,
            ["scenarios/rollback@*/at-the-dead", "scenarios/crash-*/at-the-dead"],
            ["scenarios/rollback@*/snapshot", "scenarios/crash-*/snapshot"],
        ),
        (
            wrong.CountsTheBeginningIn,
            ["scenarios/windows*/since-the-first", "scenarios/windows@*/nothing-new"],
            ["scenarios/windows@*/snapshot", "scenarios/windows@*/from-the-start"],
        ),
        (
            wrong.IgnoresTheWindow,
            ["scenarios/windows-cow*/since-the-first", "scenarios/windows-cow*/the-second"],
            ["scenarios/windows-cow*/snapshot"],
        ),
        (wrong.NullsAreZero, ["types/*", "slices/base-only"], ["event-*/*"]),
        (wrong.LosesTheLastBatch, ["event-*/all-rows", "slices/*-optimized"], []),
        (wrong.CountsOneFewer, ["event-*/all-rows", "slices/*-optimized"], []),
    ],
)
def test_wrong_reader_is_found(
    reader: type[SimulatedReader], found: list[str], passed: list[str]
) -> None:
    """Each kind of wrong reader fails the cases about its defect and no unrelated ones."""
    found, passed = ([f"scan/hudi/{p}" for p in patterns] for patterns in (found, passed))
    words = _words(reader(), found + passed)

    for pattern in found:
        hits = fnmatch.filter(words, pattern)
        assert hits, pattern
        assert {words[hit] for hit in hits} == {"fail"}, pattern
    for pattern in passed:
        hits = fnmatch.filter(words, pattern)
        assert {words[hit] for hit in hits} <= {"pass", "not-offered"}, pattern


@pytest.mark.parametrize(
    ("reader", "timeout", "word", "reason"),
    [
        ("Raising", 60, "error", "ZeroDivisionError"),
        ("Crashing", 60, "crash", "SIGABRT"),
        ("Hanging", 1, "timeout", "no answer in 1 s"),
    ],
)
def test_breakdowns_are_outcomes(reader: str, timeout: float, word: str, reason: str) -> None:
    """A reader that raises, dies or hangs costs its own case, and the run goes on."""
    cases = ["scan/hudi/event-v9/update", "scan/hudi/event-v9/tie-takes-the-later"]
    name = f"seambench_suites.meta.wrong:{reader}"
    outcomes = list(run_checks("scan", [name], patterns=cases, limits=Limits(timeout)))

    assert [outcome.outcome for outcome in outcomes] == [word, word]
    assert all(reason in outcome.reason for outcome in outcomes)
    assert all(outcome.failed for outcome in outcomes)


def test_a_reader_that_cannot_be_found_is_one_sentence() -> None:
    """It costs the run, not each of its cases."""
    with pytest.raises(UsageError, match="has no 'NoSuchReader'"):
        run_checks("scan", ["seambench_suites.meta.wrong:NoSuchReader"])
