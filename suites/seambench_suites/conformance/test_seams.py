"""Every implementation meets every case of its seam."""

from __future__ import annotations

import pytest

from seambench.conformance.pytest_plugin import assert_conforms
from seambench.contracts.outcomes import Outcome


@pytest.mark.seam
def test_seam(outcome: Outcome, pytestconfig: pytest.Config) -> None:
    """The answer is right, or the refusal that the case says it must be.

    Where nobody is named, our own are asked: they keep the rules that others dispute, too.
    """
    if not pytestconfig.getoption("--impl"):
        assert outcome.outcome != "fail", outcome.said
    assert_conforms(outcome)
