"""Scanners against golden tables and their defects."""

from __future__ import annotations

import pytest

from seambench.conformance.pytest_plugin import assert_conforms
from seambench.contracts.outcomes import Outcome


@pytest.mark.seam("scan")
def test_scan(outcome: Outcome) -> None:
    """A scanner reads every case's table right, or refuses what the case says it must."""
    assert_conforms(outcome)
