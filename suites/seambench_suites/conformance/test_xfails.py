"""Files of known failures must not go stale."""

from __future__ import annotations

import pytest

from seambench.conformance.load import load_cases
from seambench.conformance.xfails import Xfails
from seambench.contracts.registry import seams


def test_xfails_name_cases(xfails: list[Xfails]) -> None:
    """An entry of a file that is given, or that an implementation names, is about a case."""
    if not xfails:
        pytest.skip("nobody here has known failures")
    stale = [
        outcome.case
        for seam in seams()
        for file in xfails
        for outcome in file.stale(seam, [case.id for case in load_cases(seam)])
    ]

    assert stale == []
