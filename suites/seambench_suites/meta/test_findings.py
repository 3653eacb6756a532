"""Reports of defects: each names a case, releases of a peer, and a document."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from importlib.metadata import entry_points
from io import BytesIO
from typing import Any

import pytest

from seambase.errors import UnavailableError, UsageError
from seambase.serde import SerdeRequest
from seambench.cli import main
from seambench.cli.checks.finding import outcomes_of
from seambench.conformance.load import find_case, load_cases
from seambench.conformance.xfails import load_xfails
from seambench.contracts.findings import Finding, find_finding, read_findings
from seambench.contracts.peers.catalogue import catalogue
from seambench.contracts.registry import resolve
from seambench.seams.serde.cases import SerdeCase
from seambench_suites.cases import ROOT
from seambench_suites.findings.scripts import Ran, packed, run_script

_RECORDED = [finding for finding in read_findings() if finding.recorded]
_ASKED = [finding for finding in read_findings() if not finding.recorded]


class NoBits:
    """Reads as Velox does: it passes over no flags of nulls where elements are unknown."""

    name = "no-bits"

    def __init__(self) -> None:
        self._right = resolve("serde", "seambench")

    def __getattr__(self, name: str) -> Any:
        """Whatever else is asked."""
        return getattr(self._right, name)

    def deserialize(self, request: SerdeRequest, data: bytes) -> Any:
        """The last value of the row begins with the flags, a byte too early."""
        return self._right.deserialize(request, data[:-8] + data[-9:-1])


def test_every_finding_can_be_asked_again() -> None:
    """Case, peer and versions exist, and the case is a `must`: no disputed rule is a defect.

    What only hardens a reader may be a `should`.
    """
    cases = {
        case.id: case for seam in ("scan", "serde", "table-writer") for case in load_cases(seam)
    }
    for finding in _ASKED:
        peer = catalogue()[finding.seam, finding.peer]
        assert {*finding.shows, *finding.passes} <= set(peer.versions), finding.name
        assert not set(finding.shows) & set(finding.passes), finding.name
        assert finding.label == "hardening" or cases[finding.case].level == "must", finding.name
        assert finding.link.startswith("https://"), finding.name
        assert finding.since, finding.name


def test_what_is_on_record_stands_on_a_case_that_somebody_does_right() -> None:
    """Without a script or versions, with a build, on a rule that the suites hold others to."""
    cases = {case.id: case for case in load_cases("serde")}
    for finding in _RECORDED:
        assert not any((finding.script, finding.shows, finding.passes)), finding.name
        assert finding.until, finding.name
        assert finding.label == "hardening" or cases[finding.case].level == "must", finding.name
        [outcome] = outcomes_of(finding, [finding.right_by]).values()
        assert outcome.outcome == "pass", finding.name


def _bytes_of(name: str) -> bytes | None:
    case = find_case(name)
    assert isinstance(case, SerdeCase)
    return case.vector().data


def test_the_smallest_bytes_of_a_record_are_those_of_the_engine() -> None:
    """They are a part of a golden file, with a bit of it changed where that is the defect."""
    velox = ROOT / "golden" / "velox"
    row = _bytes_of("serde/compactrow/array-of-unknown/decode")
    page = _bytes_of("serde/velox/rows-beyond-columns/decode")
    assert row is not None
    whole = (velox / "uuid_all_nulls_8_rows.bin").read_bytes()
    assert row in (velox / "compact_array_void.bin").read_bytes()
    assert page == whole[:3] + bytes([whole[3] ^ 1]) + whole[4:]


@pytest.mark.parametrize(
    ("name", "reader", "code", "says"),
    [
        ("velox-compact-arrays-of-unknown", None, 0, "RECORDED velox of 15 April 2025"),
        ("velox-compact-arrays-of-unknown", f"{__name__}:NoBits", 1, "REPRODUCED"),
    ],
    ids=["record", "again"],
)
def test_a_record_is_shown_and_whoever_is_asked_is_judged(
    name: str, reader: str | None, code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bytes, rule and what came are printed; a reader that does as the engine did ends with 1."""
    with pytest.raises(SystemExit) as ended:
        main(["check", "--finding", name, *(["--impl", reader] if reader else [])])
    printed = capsys.readouterr().out
    assert (ended.value.code or 0, printed.startswith(says)) == (code, True)
    assert "01 00 00 00   # elements" in printed
    assert ("12 GB" in printed) == (reader is None)


def test_history_is_what_the_newest_release_does_right() -> None:
    """A defect of the newest version is open, or mended on the main branch."""
    for finding in _ASKED:
        newest = catalogue()[finding.seam, finding.peer].versions[-1]
        assert (finding.status == "history") == (newest not in finding.shows), finding.name


@pytest.mark.parametrize("finding", _ASKED, ids=lambda finding: finding.name)
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
