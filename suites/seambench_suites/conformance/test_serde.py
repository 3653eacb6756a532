"""Serdes against bytes of real engines, and against damage."""

from __future__ import annotations

import pytest

from seambench.conformance.pytest_plugin import assert_conforms
from seambench.contracts.outcomes import Outcome


@pytest.mark.seam("serde")
def test_serde(outcome: Outcome) -> None:
    """Bytes give their values, values their bytes, and damage is refused by name."""
    assert_conforms(outcome)
