"""Words of known failures."""

import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from seambase.errors import UsageError
from seambench.conformance.load import load_cases
from seambench.conformance.plain import differing_rows
from seambench.conformance.run import Run
from seambench.conformance.xfails import load_xfails, write_digests
from seambench.contracts.outcomes import FAILING, REFUSAL, WORDS, Outcome
from seambench_suites.cases import ROOT

RIGHT = "seambench_suites.meta.simulated:SimulatedReader"
WRONG = "seambench_suites.meta.wrong_readers:BaseRowsOnly"
CASE = "scan/hudi/event-v9/update"


def _file(folder: Path, implementation: str, case: str) -> Path:
    file = folder / "xfails.toml"
    folder.mkdir(exist_ok=True)
    file.write_text(
        f'implementation = "{implementation}"\n[[xfail]]\nid = "{case}"\nreason = "known"\n'
    )
    return file


@cache
def _came(name: str) -> Outcome:
    """What comes of the case where nothing is known of it."""
    [outcome] = Run("scan", [name], patterns=[CASE]).check()
    return outcome


def test_expected_failures(tmp_path: Path) -> None:
    """A known failure is xfail; one that passes is xpass, which fails the run."""
    files = [_file(tmp_path / word, name, CASE) for word, name in (("x", WRONG), ("y", RIGHT))]
    failed, passed = Run("scan", [WRONG, RIGHT], patterns=[CASE], xfails=files).check()
    assert (failed.outcome, failed.failed, failed.known) == ("xfail", False, "known")
    assert (passed.outcome, passed.failed, passed.known) == ("xpass", True, "known")
    assert (failed.came, passed.came) == ("fail", None)


@pytest.mark.parametrize(("name", "word"), [(RIGHT, "pass"), (WRONG, "xfail")])
def test_an_answer_that_is_right_by_chance_is_no_surprise(
    tmp_path: Path, name: str, word: str
) -> None:
    """Where an entry knows of both, a right answer passes and a wrong one is excused."""
    file = _file(tmp_path, name, CASE)
    file.write_text(f'{file.read_text()}outcomes = ["pass", "fail"]\n')
    assert load_xfails(file).judge(_came(name)).outcome == word


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ('outcomes = ["crash"]', "but with crash, not with fail"),
        ('digests = ["000000000000", "refusal"]', "but in another way (digest "),
    ],
)
def test_another_failure_than_the_known_one_is_not_excused(
    tmp_path: Path, key: str, says: str
) -> None:
    """An entry excuses its own word and its own rows: not a wrong answer for a crash."""
    file = _file(tmp_path, WRONG, CASE)
    file.write_text(f"{file.read_text()}{key}\n")
    outcome = load_xfails(file).judge(_came(WRONG))
    assert (outcome.outcome, says in outcome.said) == ("fail", True), outcome.said


def test_written_digests_excuse_what_came_and_nothing_else(tmp_path: Path) -> None:
    """What the command writes excuses this reader's failure, and no other way to be wrong."""
    file = _file(tmp_path, WRONG, CASE)
    file.write_text(f'{file.read_text()}\n[[xfail]]\nid = "scan/x/y"\nreason = "other"\n')
    known = load_xfails(file).judge(_came(WRONG))
    assert write_digests(load_xfails(file), [known]) == 1
    assert write_digests(load_xfails(file), [known]) == 0
    again = load_xfails(file).judge(_came(WRONG))
    other = _came("seambench_suites.meta.wrong_readers:LosesTheLastBatch")
    others = [replace(other, refusal=True, difference=None), other]
    wrong = [load_xfails(file).judge(replace(one, implementation=WRONG)) for one in others]
    assert known.outcome == again.outcome == "xfail"
    assert [one.digest == REFUSAL for one in wrong] == [True, False]
    assert [(one.outcome, "in another way" in one.said) for one in wrong] == [("fail", True)] * 2
    assert load_xfails(file).entries["scan/x/y"].digests == ()


@pytest.mark.parametrize(
    "came",
    [
        [(n, "b") for n in range(19)] + [(19, "c")],
        [(n, "b") for n in range(19)] + [(19, "b" * 200)],
        [(n, "b") for n in range(19)] + [(19, 1)],
        [(n, "b") for n in range(19)],
        [(n, "a" if n else "b") for n in range(20)],
    ],
)
def test_every_row_and_every_value_counts_for_a_digest(came: list[tuple[object, ...]]) -> None:
    """A digest is of all rows, also those that no message shows, and not of their order."""
    want = [(n, "a") for n in range(20)]
    known = differing_rows(want, [(n, "b") for n in range(20)], ["k", "v"])
    turned = differing_rows(want[::-1], [(n, "b") for n in range(20)][::-1], ["k", "v"])
    assert turned.digest == known.digest != differing_rows(want, came, ["k", "v"]).digest


def test_a_failure_without_rows_is_known_by_its_sentence() -> None:
    """Folders are not part of it; a crash has no digest, and no digest excuses it."""
    one = Outcome("scan", "x", "scan/a", "fail", reason="types differ in /tmp/a1/t: int32")
    other = replace(one, reason="types differ in /tmp/b2/t: int32")
    assert one.digest == other.digest != replace(one, reason="types differ: int8").digest
    assert replace(one, outcome="crash").digest == ""


def test_other_implementations_are_not_excused(tmp_path: Path) -> None:
    """A known failure of one implementation excuses no other."""
    file = _file(tmp_path, RIGHT, CASE)
    assert load_xfails(file).judge(_came(WRONG)) == _came(WRONG)
    assert _came(WRONG).outcome == "fail"


def test_implementations_may_name_their_own() -> None:
    """An implementation's own file of known failures counts without being given."""
    cases = [CASE, "scan/hudi/event-v9/default-delete"]
    outcomes = list(
        Run("scan", ["seambench_suites.meta.wrong_readers:Excused"], patterns=cases).check()
    )
    assert {o.case: o.outcome for o in outcomes} == dict(zip(cases, ["xfail", "fail"], strict=True))


@pytest.mark.parametrize(
    ("patterns", "stale"),
    [(["scan/hudi/event-v9/update*"], ["scan/hudi/event-v9/updated"]), ([CASE], [])],
)
def test_stale_entries_fail(tmp_path: Path, patterns: list[str], stale: list[str]) -> None:
    """An entry that names no case is an error of its own, in a run about such cases alone."""
    file = _file(tmp_path, RIGHT, "scan/hudi/event-v9/updated")
    outcomes = list(Run("scan", [RIGHT], patterns=patterns, xfails=[file]).check())
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
    outcomes = list(Run("serde", [serde], golden=tmp_path, xfails=[file]).check())
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
    """An entry for a case that was renamed or dropped excuses nothing, and goes.

    A reader's may be of scripts of writers, whose tables it reads.
    """
    for seam in {name.partition(".")[0], "table-writer"}:
        known = [case.id for case in load_cases(seam)]
        assert [one.case for one in load_xfails(file).stale(seam, known)] == []


#: What they fail by is not written down yet.
_WITHOUT_DIGESTS = frozenset({"spark-hudi.toml"})


@pytest.mark.parametrize(("name", "file"), sorted(_announced()))
def test_known_failures_of_announced_implementations_are_these_and_no_others(
    name: str, file: Path
) -> None:
    """An entry has the digests of what comes in place of the right answer, but by chance."""
    known = load_xfails(file)
    without = [
        one.id
        for one in known.entries.values()
        if "fail" in one.outcomes and "pass" not in one.outcomes and not one.digests
    ]
    if file.name in _WITHOUT_DIGESTS:
        assert without, f"{file.name} has them: take it off this list"
    else:
        assert without == [], f"seambench check --seam {name.partition('.')[0]} --write-digests"


def test_many_implementations_have_such_a_file() -> None:
    """The comparison is not empty."""
    assert len(list(_announced())) > 15
