"""Exchanges: where rows arrive, in which order, how often, and what becomes of a failure."""

from __future__ import annotations

import pytest

from seambench.conformance.pytest_plugin import assert_conforms
from seambench.contracts.outcomes import Outcome


@pytest.mark.seam("exchange")
def test_exchange(outcome: Outcome) -> None:
    """Every row arrives once, where it belongs and in the order promised, or there is an error."""
    assert_conforms(outcome)
