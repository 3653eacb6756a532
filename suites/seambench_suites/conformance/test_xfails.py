"""Files of known failures must not go stale."""

from __future__ import annotations

from seambench.conformance.load import load_cases
from seambench.conformance.xfails import Xfails
from seambench.contracts.registry import seams


def test_xfails_name_cases(xfails: list[Xfails]) -> None:
    """Every entry of an xfails file names a case that exists."""
    stale = [
        outcome.case
        for seam in seams()
        for file in xfails
        for outcome in file.stale(seam, [case.id for case in load_cases(seam)])
    ]

    assert stale == []
