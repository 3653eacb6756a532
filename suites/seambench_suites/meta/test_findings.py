"""Reports of defects: each names a case, versions of a peer, and a document."""

from __future__ import annotations

from importlib.metadata import entry_points

import pytest

from seambench.conformance.load import load_cases
from seambench.conformance.xfails import load_xfails
from seambench.contracts.peers.catalogue import catalogue
from seambench_suites.findings.__main__ import Finding, read_findings


def test_every_finding_can_be_asked_again() -> None:
    """Case, peer and versions exist, and the case is a `must`: no disputed rule is a defect."""
    cases = {case.id: case for seam in ("scan", "serde") for case in load_cases(seam)}
    for finding in read_findings():
        peer = catalogue()[finding.case.partition("/")[0], finding.peer]
        assert {*finding.shows, *finding.passes} <= set(peer.versions), finding.name
        assert not set(finding.shows) & set(finding.passes), finding.name
        assert cases[finding.case].level == "must", finding.name
        assert finding.link.startswith("https://"), finding.name


@pytest.mark.parametrize("finding", read_findings(), ids=lambda finding: finding.name)
def test_every_finding_is_a_known_failure(finding: Finding) -> None:
    """The peer's file of known failures has its case for each version that shows it."""
    name = f"{finding.case.partition('/')[0]}.{finding.peer}"
    (known,) = entry_points(group="seambench.impl", name=name)
    file = known.load().xfails  # of the class: not every peer can be installed beside the project
    entry = load_xfails(file).entries[finding.case]

    assert [version for version in finding.shows if not entry.holds_for(version)] == []
