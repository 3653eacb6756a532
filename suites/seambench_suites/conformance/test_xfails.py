"""Files of known failures must not go stale."""

from __future__ import annotations

import pytest

from seambench.conformance.load import load_cases
from seambench.conformance.xfails import Xfails
from seambench.contracts.registry import seams


def test_xfails_name_cases(xfails: list[Xfails]) -> None:
    """Every entry of a file that `--xfails` gives names a case that exists."""
    if not xfails:
        pytest.skip("no file was given with --xfails")
    stale = [
        outcome.case
        for seam in seams()
        for file in xfails
        for outcome in file.stale(seam, [case.id for case in load_cases(seam)])
    ]

    assert stale == []
