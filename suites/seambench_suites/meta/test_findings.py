"""Reports of defects: each names a case, releases of a peer, and a document."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from importlib.metadata import entry_points
from io import BytesIO

import pytest

from seambase.errors import UnavailableError, UsageError
from seambench.cli import main
from seambench.conformance.load import find_case, load_cases
from seambench.conformance.xfails import load_xfails
from seambench.contracts.findings import Finding, find_finding, read_findings
from seambench.contracts.peers.catalogue import catalogue
from seambench_suites.findings.scripts import Ran, packed, run_script


def test_every_finding_can_be_asked_again() -> None:
    """Case, peer and versions exist, and the case is a `must`: no disputed rule is a defect.

    What only hardens a reader may be a `should`.
    """
    cases = {case.id: case for seam in ("scan", "serde") for case in load_cases(seam)}
    for finding in read_findings():
        peer = catalogue()[finding.seam, finding.peer]
        assert {*finding.shows, *finding.passes} <= set(peer.versions), finding.name
        assert not set(finding.shows) & set(finding.passes), finding.name
        assert finding.label == "hardening" or cases[finding.case].level == "must", finding.name
        assert finding.link.startswith("https://"), finding.name
        assert finding.since, finding.name


def test_history_is_what_the_newest_release_does_right() -> None:
    """A defect of the newest version is open, or mended on the main branch."""
    for finding in read_findings():
        newest = catalogue()[finding.seam, finding.peer].versions[-1]
        assert (finding.status == "history") == (newest not in finding.shows), finding.name


@pytest.mark.parametrize("finding", read_findings(), ids=lambda finding: finding.name)
def test_every_finding_is_a_known_failure(finding: Finding) -> None:
    """The peer's file of known failures has its case for each version that shows it."""
    (known,) = entry_points(group="seambench.impl", name=f"{finding.seam}.{finding.peer}")
    file = known.load().xfails  # of the class: not every peer can be installed beside the project
    entry = load_xfails(file).entries[finding.case]

    assert [version for version in finding.shows if not entry.holds_for(version)] == []


def test_a_script_shows_a_defect_by_what_it_prints() -> None:
    """Other text than the right one, or no error where one is right."""
    answers = find_finding("hudi-rs-renamed-columns")
    refuses = find_finding("pyiceberg-damaged-vectors")

    right = answers.right.strip()
    assert not Ran(right, "").shows(answers)
    assert not Ran(right, "SIGABRT: at the end of the process", killed=True).shows(answers)
    assert Ran("", "Error: no such column").shows(answers)
    assert Ran("{'k': 'a'}", "").shows(answers)
    assert not Ran("", "ValueError: checksum").shows(refuses)
    assert Ran("", "SIGABRT: exception thrown", killed=True).shows(refuses)
    assert Ran("", "").shows(refuses)
    assert Ran("[]", "").shows(refuses)


def test_a_script_that_cannot_run_shows_nothing() -> None:
    """Requirements that nobody can install are no defect of the peer."""
    finding = replace(find_finding("daft-iceberg-initial-defaults"), requires=["no requirement"])

    with pytest.raises(UnavailableError, match="daft-iceberg-initial-defaults with 0"):
        run_script(finding, "0.7.26")


def test_an_attached_table_is_the_cases_own() -> None:
    """The archive holds the files of the table as the case edits it, the same bytes each time."""
    finding = find_finding("deltalake-vector-cardinality")
    assert finding.attaches
    found = packed(finding)

    assert found == packed(finding)
    names = zipfile.ZipFile(BytesIO(found)).namelist()
    assert any(name.startswith("_delta_log/") for name in names)


def test_a_name_that_is_none_is_refused() -> None:
    """With the nearest one that is."""
    with pytest.raises(UsageError, match="did you mean 'hudi-rs-renamed-columns'"):
        find_finding("hudi-rs-renamed-column")
    with pytest.raises(UsageError, match="no installed suite has the case 'scan/none'"):
        find_case("scan/none")


@pytest.mark.parametrize(
    ("reader", "code", "says"),
    [
        ("seambench_suites.demo.base_files:BaseFilesAlone", 1, "REPRODUCED"),
        ("auto", 0, "NOT REPRODUCED"),
    ],
)
def test_a_finding_is_shown_as_long_as_it_is_there(
    reader: str, code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1 and both sets of rows while a reader is wrong; 0 once it is right."""
    name = "hudi-rs-logs-after-a-planned-compaction"
    with pytest.raises(SystemExit) as ended:
        main(["check", "--finding", name, "--impl", reader])
    printed = capsys.readouterr().out

    assert (ended.value.code or 0, printed.startswith(says)) == (code, True)
    assert ("must come" in printed) == bool(code)


def test_a_peer_that_cannot_be_had_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """No verdict is neither code 0 nor the word."""
    with pytest.raises(SystemExit) as ended:
        main(["check", "--finding", "hudi-rs-renamed-columns", "--impl", "hudi-rs@0.0.0"])
    printed = capsys.readouterr()

    assert ended.value.code not in (0, None)
    assert "REPRODUCED" not in printed.out
