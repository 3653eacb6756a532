"""The second pass finds readers that answer otherwise when asked otherwise, or than others do."""

from __future__ import annotations

import pytest

from seambench.conformance.load import load_cases
from seambench.conformance.run import Run
from seambench.contracts.outcomes import Mismatch, NotOffered
from seambench.seams.scan.cases import ScanCase
from seambench.seams.scan.invariants import hold_invariants
from seambench_suites.meta import wrong
from seambench_suites.meta.simulated import SimulatedReader

_TABLE = "scan/hudi/scenarios/windows@v9"


def _case(id_: str) -> ScanCase:
    for case in load_cases("scan"):
        if case.id == id_ and isinstance(case, ScanCase):
            return case
    raise AssertionError(id_)


def test_equal_rows_have_equal_digests() -> None:
    """A reader that holds every invariant is known by a digest of its rows."""
    case = _case(f"{_TABLE}/snapshot")

    assert hold_invariants(case, SimulatedReader()) == hold_invariants(case, SimulatedReader())


@pytest.mark.parametrize("reader", [wrong.LosesTheLastBatch, wrong.CountsOneFewer])
def test_rows_that_depend_on_the_asking_are_found(reader: type[SimulatedReader]) -> None:
    """Fewer rows in small batches, or without columns, are a mismatch without any expectation."""
    with pytest.raises(Mismatch):
        hold_invariants(_case(f"{_TABLE}/snapshot"), reader())


def test_rows_that_depend_on_a_bound_are_found() -> None:
    """A reader that loses rows of `k > 1` alone is told by a condition that has one."""
    with pytest.raises(Mismatch, match="where"):
        hold_invariants(_case(f"{_TABLE}/snapshot"), wrong.LosesARowOfARange())


def test_refusals_have_no_rows_to_compare() -> None:
    """A case that expects a refusal is not asked."""
    with pytest.raises(NotOffered, match="refusal"):
        hold_invariants(
            _case("scan/hudi/scenarios/table-version-99@v9/snapshot"), SimulatedReader()
        )


def test_readers_that_disagree_are_found() -> None:
    """Each holds its own invariants; that their rows differ is told under both names."""
    module = "seambench_suites.meta"
    names = [f"{module}.simulated:SimulatedReader", f"{module}.wrong:IgnoresTheWindow"]
    run = Run("scan", names, patterns=[f"{_TABLE}/since-the-first"])
    *single, last = run.extra_pass("invariants")

    assert [outcome.outcome for outcome in single] == ["pass", "pass"]
    assert last.implementation == " = ".join(names)
    assert last.outcome == "fail"
