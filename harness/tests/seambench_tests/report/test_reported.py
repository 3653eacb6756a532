"""Reported defects on the page: which verdicts are theirs, and what is known of them upstream."""

from __future__ import annotations

from dataclasses import replace

from seambench.contracts.findings import find_finding
from seambench.report.views.outcomes import Column, Seen
from seambench.report.views.vouched import by_status, findings_of, reported_cases, upstream

OPEN = find_finding("daft-delta-vectors-of-a-table-that-writes-none")
MENDED = find_finding("duckdb-iceberg-equality-deletes-of-other-partitions")
HISTORY = find_finding("hudi-rs-payload-classes")


def _column(version: str = OPEN.shows[-1], name: str = OPEN.peer) -> Column:
    """A reader that is wrong in the finding's case, in one alike, and in another way."""
    column = Column("scan", name, version, "peer")
    column.outcomes = {
        OPEN.case: Seen("wrong", "xfail", known="as known"),
        "scan/alike": Seen("wrong", "xfail", known="as known"),
        "scan/other": Seen("wrong", "xfail", known="otherwise"),
        "scan/right": Seen("right", "pass"),
    }
    return column


def test_findings_stand_by_what_became_of_them() -> None:
    """Open ones first, then what waits for a release, then what is past."""
    listed = by_status([HISTORY, MENDED, OPEN])
    assert [found for _, found in listed] == [[OPEN], [MENDED], [HISTORY]]
    assert by_status([]) == []


def test_upstream_is_what_was_reported_there_and_what_mends_it() -> None:
    """Issues come before the change; neither names a host."""
    both = replace(MENDED, upstream=["https://host.example/lake/reader/issues/1"])
    assert upstream(both) == ["lake/reader 1", "duckdb/duckdb-iceberg 1240"]
    assert upstream(replace(OPEN, upstream=())) == []


def test_only_systems_that_were_asked_are_accused() -> None:
    """A page without their outcomes says nothing of them."""
    assert {one.peer for one in findings_of([_column()])} == {OPEN.peer}
    assert findings_of([_column(name="lake")]) == []


def test_a_finding_belongs_to_all_cases_that_fail_alike() -> None:
    """Not to those that fail in another way, nor to what is right."""
    found = reported_cases(_column(), [OPEN, MENDED])
    assert sorted(found) == sorted([OPEN.case, "scan/alike"])
    assert found["scan/alike"]["status"] == "open"
    assert found["scan/alike"]["upstream"] == upstream(OPEN)


def test_a_finding_is_of_its_peer_and_of_the_releases_that_show_it() -> None:
    """Another version, another system and a right answer are accused of nothing."""
    mended = _column()
    mended.outcomes = {OPEN.case: Seen("right", "pass"), "scan/alike": Seen("wrong", "xfail")}
    assert reported_cases(_column("99.0"), [OPEN]) == {}
    assert reported_cases(_column(name="lake"), [OPEN]) == {}
    assert reported_cases(mended, [OPEN]) == {}


def test_the_more_harmful_of_two_is_told() -> None:
    """Findings stand in the order of harm."""
    worse = replace(OPEN, name="worse")
    assert reported_cases(_column(), [worse, OPEN])[OPEN.case]["name"] == "worse"
