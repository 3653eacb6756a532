"""Off-heap columns against golden buffers."""

from __future__ import annotations

import pytest

from seambench.conformance.pytest_plugin import assert_conforms
from seambench.contracts.outcomes import Outcome


@pytest.mark.seam("column")
def test_column(outcome: Outcome) -> None:
    """Every determined byte of every buffer is the golden one, and no memory is left behind."""
    assert_conforms(outcome)
