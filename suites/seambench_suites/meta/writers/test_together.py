"""Two writers at once, and one that is killed: who loses, doubles or halves a step is found."""

import functools

import pytest

from seambench.conformance.judge import verdict
from seambench.conformance.load import find_case, load_cases
from seambench.conformance.run import Run
from seambench.contracts.registry import resolve
from seambench.seams.table_writer import several
from seambench.seams.table_writer.cases import WriterCase
from seambench_suites.meta.writers import wrong_together as wrong

_APPENDS = "two-writers/append-append"
_slow = functools.partial(pytest.param, marks=pytest.mark.slow)
_BOTH = "state after step 3 (append beside append: done, done), read by auto: "


@pytest.mark.parametrize(
    ("made", "case", "says"),
    [
        (wrong.LastWins, _APPENDS, _BOTH),
        (wrong.RefusesTooLate, _APPENDS, "step 3 (append beside append: done, refused), read by"),
        (wrong.DeletesByStaleState, "two-writers/append-delete", "nor is it another of 2 states"),
        (wrong.LogBeforeData, "killed/append", "(append: killed): auto refuses the table"),
        _slow(wrong.LosesSteps, _APPENDS, _BOTH),
        _slow(wrong.CommitsTwice, _APPENDS, _BOTH),
        _slow(wrong.LosesSteps, "two-writers/overwrite-append", "(overwrite beside append: done,"),
        _slow(wrong.LastWins, "two-writers/upsert-upsert", "(upsert beside upsert: done, done)"),
        _slow(wrong.HalfAnOverwrite, "killed/overwrite", "(overwrite: killed), read by auto: "),
        _slow(wrong.LeavesALock, "killed/append", "append was done before, and is refused now"),
    ],
)
def test_it_is_found(
    made: type[wrong.Wrong], case: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who is wrong beside another by the state before, or dies in the middle, fails."""
    # They die by themselves, at the worst moment: who would kill them comes later.
    monkeypatch.setattr(several, "_LATEST", 10_000.0)
    found = verdict(find_case(f"table-writer/delta/{case}"), made())
    assert found.word == "fail"
    assert says in found.reason


@pytest.mark.parametrize(
    ("name", "case"),
    [
        ("deltalake", "delta/two-writers/append-append"),
        _slow("deltalake", "delta/killed/overwrite"),
        _slow("pyiceberg", "iceberg/two-writers/append-delete"),
        ("deltalake + polars-delta", "delta/two-writers/append-overwrite"),
    ],
)
def test_a_right_writer_is_right(name: str, case: str) -> None:
    """Whoever is told of a conflict or tries again, and whoever is killed anywhere, passes."""
    found = verdict(find_case(f"table-writer/{case}"), resolve("table-writer", name))
    assert found.word == "pass", found.reason


@pytest.mark.parametrize("case", ["rows/append", "killed/append"])
def test_two_writers_are_asked_for_what_two_do(case: str) -> None:
    """A script without a step beside another is not put to two writers."""
    found = verdict(
        find_case(f"table-writer/delta/{case}"), resolve("table-writer", "deltalake + polars-delta")
    )
    assert found.word == "not-offered"
    assert "beside another" in found.reason


@pytest.mark.slow
@pytest.mark.parametrize("name", ["deltalake", "polars-delta", "polars-iceberg", "pyiceberg"])
def test_installed_writers(name: str) -> None:
    """Beside themselves, and killed, they do as they should, but for what is known of them."""
    cases = [
        one.id for one in load_cases("table-writer") if isinstance(one, WriterCase) and one.apart
    ]
    outcomes = list(Run("table-writer", [name], patterns=cases).check())
    assert [f"{o.case}: {o.outcome}: {o.said}" for o in outcomes if o.failed] == []
    assert any(outcome.outcome == "pass" for outcome in outcomes)
