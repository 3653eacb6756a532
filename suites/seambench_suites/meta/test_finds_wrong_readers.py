"""The suite finds readers that are wrong, and lets one that is right pass."""

import contextlib
import fnmatch
import json
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import psutil
import pytest

from seambase.errors import UsageError
from seambench.conformance.isolate import Limits
from seambench.conformance.judge import verdict
from seambench.conformance.load import load_cases
from seambench.conformance.run import Run
from seambench.formats.hudi.golden import TableSpec
from seambench.seams.scan.cases import ScanCase
from seambench_suites.meta import wrong_readers
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
    return {case.id: verdict(case, reader).word for case in chosen}


def test_right_reader_passes() -> None:
    """Rows worked out from the declared operations are the rows that the cases expect."""
    reader = SimulatedReader()
    outcomes = {case.id: verdict(case, reader)[:2] for case in _cases()}
    assert {i: o for i, o in outcomes.items() if o[0] not in ("pass", "not-offered")} == {}
    assert sum(word == "pass" for word, _ in outcomes.values()) > 80


@pytest.mark.parametrize(
    ("reader", "found", "passed"),
    [
        (wrong_readers.BaseRowsOnly, ["event-*/update", "commit-*/delete", "log-only-group/snap*"],
         []),
        (wrong_readers.ForgetsTheFirstLog, ["event-*/update", "commit-*/older-update-wins"], []),
        (
            wrong_readers.IgnoresDeletes,
            ["event-*/default-delete", "commit-*/delete", "typed-delete/newer-than-log"],
            ["event-*/update"],
        ),
        (
            wrong_readers.LastLogWins,
            ["event-*/older-*", "typed-delete/older-*", "event-*/resurrection"],
            ["commit-*/*", "event-*/update"],
        ),
        (
            wrong_readers.KeepsTheOlderOfATie,
            ["event-*/tie-takes-the-later", "typed-delete/equal-to-base"],
            ["event-*/update", "commit-*/*"],
        ),
        (wrong_readers.FiltersBelowTheMerge, ["event-*/filter-on-stale-value"],
         ["event-*/all-rows", "commit-*/*"]),
        (wrong_readers.DeletesAlwaysWin, ["scenarios/soft-delete@*/snapshot"],
         ["event-*/update", "scenarios/windows@*/*"]),
        (wrong_readers.TestsBaseRowsForDeletes, ["scenarios/soft-delete@*"],
         ["event-*/*", "scenarios/windows@*/*"]),
        (
            wrong_readers.SeesWhatWasUndone,
            ["scenarios/rollback@*/at-the-dead", "scenarios/crash-*/snapshot"],
            ["event-*/*", "scenarios/windows@*/*", "scenarios/rollback@*/before-the-dead"],
        ),
        (
            wrong_readers.ForgetsLaterRollbacks,
            ["scenarios/rollback@*/at-the-dead", "scenarios/crash-*/at-the-dead"],
            ["scenarios/rollback@*/snapshot", "scenarios/crash-*/snapshot"],
        ),
        (
            wrong_readers.CountsTheBeginningIn,
            ["scenarios/windows*/since-the-first", "scenarios/windows@*/nothing-new"],
            ["scenarios/windows@*/snapshot", "scenarios/windows@*/from-the-start"],
        ),
        (
            wrong_readers.IgnoresTheWindow,
            ["scenarios/windows-cow*/since-the-first", "scenarios/windows-cow*/the-second"],
            ["scenarios/windows-cow*/snapshot"],
        ),
    ],
)  # fmt: skip
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
    ("reader", "word", "reason"),
    [("Raising", "error", "ZeroDivisionError"), ("Crashing", "crash", "SIGABRT: the end")],
)
def test_breakdowns_are_outcomes(
    reader: str, word: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that raises or dies costs its own case, without colours; the run goes on."""
    monkeypatch.delenv("PYTHONFAULTHANDLER", raising=False)  # its words come last
    cases = ["scan/hudi/event-v9/update", "scan/hudi/event-v9/tie-takes-the-later"]
    name = f"seambench_suites.meta.wrong_readers:{reader}"
    outcomes = list(Run("scan", [name], patterns=cases).check())
    assert [outcome.outcome for outcome in outcomes] == [word, word]
    assert all(reason in outcome.reason for outcome in outcomes)
    assert all("\x1b" not in outcome.reason for outcome in outcomes)
    assert all(outcome.failed for outcome in outcomes)


_WRONG = "seambench_suites.meta.wrong_readers:"
_EVENT_TIME = ["scan/hudi/event-v9/*"]


def test_a_slow_reader_is_right() -> None:
    """Slowness is no failure; how long each case took is told."""
    [outcome] = Run("scan", [f"{_WRONG}Slow"], patterns=["scan/hudi/event-v9/update"]).check()
    assert outcome.outcome == "pass"
    assert outcome.seconds >= 0.3


def test_a_reader_that_often_crashes_is_judged_in_every_case() -> None:
    """A case in which it dies is a crash, every other one is judged."""
    pattern = "scan/hudi/event-v9/[d-f]*"
    run = Run("scan", [f"{_WRONG}CrashingEveryThird"], patterns=[pattern], jobs=2)
    outcomes = list(run.check())
    words = Counter(outcome.outcome for outcome in outcomes)
    assert set(words) == {"crash", "pass"}
    assert words.total() == len(fnmatch.filter([case.id for case in _cases()], pattern))
    assert all("SIGABRT" in one.reason for one in outcomes if one.outcome == "crash")


def test_a_reader_that_only_hangs_is_given_up() -> None:
    """After some cases in a row without an answer no more is waited for, and no case is lost."""
    limits = Limits(0.3, hung=2)
    outcomes = list(Run("scan", [f"{_WRONG}Hanging"], patterns=_EVENT_TIME, limits=limits).check())
    assert [one.outcome for one in outcomes[:2]] == ["timeout", "timeout"]
    assert all("no answer in 0.3 s" in one.reason for one in outcomes[:2])
    assert {one.outcome for one in outcomes[2:]} == {"error"}
    assert all("2 cases in a row before it had no answer" in one.reason for one in outcomes[2:])
    assert all(one.failed for one in outcomes)


def test_a_reader_that_eats_memory_is_ended() -> None:
    """What it took and may take is said, and the next case gets a process of its own."""
    limits = Limits(60, memory_bytes=400_000_000)
    cases = ["scan/hudi/event-v9/update", "scan/hudi/event-v9/tie-takes-the-later"]
    outcomes = list(Run("scan", [f"{_WRONG}Hungry"], patterns=cases, limits=limits).check())
    assert [one.outcome for one in outcomes] == ["crash", "crash"]
    assert all("GB of memory, and may take 0.40 GB" in one.reason for one in outcomes)


def test_what_a_killed_program_started_ends_with_it(tmp_path: Path) -> None:
    """A command that hangs, and its temporary files, are gone when its case is over."""
    program = tmp_path / "reader"
    program.write_text(f"#!/bin/sh\necho $$ $TMPDIR > {tmp_path}/where\nexec sleep 600\n")
    program.chmod(0o755)
    facts = {
        "name": "x",
        "version": "1",
        "capabilities": dict.fromkeys(SimulatedReader().capabilities, True),
    }
    (tmp_path / "reader.seambench.json").write_text(json.dumps(facts))
    cases = ["scan/hudi/event-v9/update"]
    [outcome] = list(Run("scan", [f"cmd:{program}"], patterns=cases, limits=Limits(3)).check())
    pid, folder = (tmp_path / "where").read_text().split()
    assert outcome.outcome == "timeout"
    # The kernel takes what was killed away in its own time: waited for, not looked at once.
    with contextlib.suppress(psutil.NoSuchProcess):
        started = psutil.Process(int(pid))
        assert started.status() == "zombie" or not psutil.wait_procs([started], timeout=600)[1]
    assert not Path(folder).exists()


def test_a_program_cannot_answer_for_the_worker(tmp_path: Path) -> None:
    """What it writes into any descriptor of the process that judges it changes no verdict."""
    program = tmp_path / "reader"
    program.write_text(
        f"#!{sys.executable}\n"
        "import os, time\n"
        'answer = b\'{"outcome": "pass", "number": 1, "seconds": 0}\\n\' * 3\n'
        "folder = f'/proc/{os.getppid()}/fd'\n"
        "for name in os.listdir(folder):\n"
        "    try:\n"
        "        os.write(os.open(f'{folder}/{name}', os.O_WRONLY | os.O_NONBLOCK), answer)\n"
        "    except OSError:\n"
        "        continue\n"
        "time.sleep(0.3)\n"
    )
    program.chmod(0o755)
    stated = dict.fromkeys(SimulatedReader().capabilities, True)
    facts = {"name": "x", "version": "1", "capabilities": stated}
    (tmp_path / "reader.seambench.json").write_text(json.dumps(facts))
    cases = ["scan/hudi/event-v9/update", "scan/hudi/event-v9/untouched"]
    outcomes = list(Run("scan", [f"cmd:{program}"], patterns=cases).check())
    found = {outcome.outcome: outcome.reason for outcome in outcomes}
    # Its own answer may be what it spoils: then it is broken, and no less wrong.
    assert set(found) <= {"fail", "error"}, found


def test_a_reader_that_cannot_be_found_is_one_sentence() -> None:
    """It costs the run, not each of its cases."""
    with pytest.raises(UsageError, match="has no 'NoSuchReader'"):
        list(Run("scan", ["seambench_suites.meta.wrong_readers:NoSuchReader"]).check())
