"""Files of known failures must not go stale."""

from __future__ import annotations

from seambench.cases import load_cases
from seambench.registry import SEAMS
from seambench.xfails import Xfails


def test_xfails_name_cases(xfails: list[Xfails]) -> None:
    """Every entry of an xfails file names a case that exists."""
    stale = [
        outcome.case
        for seam in SEAMS
        for file in xfails
        for outcome in file.stale(seam, [case.id for case in load_cases(seam)])
    ]

    assert stale == []
