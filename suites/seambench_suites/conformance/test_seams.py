"""Every implementation meets every case of its seam."""

from __future__ import annotations

import pytest

from seambench.conformance.pytest_plugin import assert_conforms
from seambench.contracts.outcomes import Outcome


@pytest.mark.seam
def test_seam(outcome: Outcome) -> None:
    """The answer is right, or the refusal that the case says it must be."""
    assert_conforms(outcome)
