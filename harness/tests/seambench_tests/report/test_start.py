"""The first page: who is right, of how many cases, in how many ways wrong, and since when."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seambench.conformance.load import load_cases
from seambench.contracts.outcomes import Word
from seambench.report.views.load import Loaded
from seambench.report.views.outcomes import Column, Seen, without_gone
from seambench.report.views.start import Start, newer_of, start_of

KNOWN = {"scan": {"delta": 4, "hudi": 2}}


def _column(name: str, about: str, **kinds: list[str]) -> Column:
    """A reader with the cases of each kind; after a `:` stands why a failure was expected."""
    words: dict[str, Word] = {"wrong": "xfail", "right": "pass", "off": "not-offered"}
    found = Column("scan", name, "1.0", about, date="2026-01-01")
    for kind, cases in kinds.items():
        for text in cases:
            case, _, reason = text.partition(":")
            found.outcomes[f"scan/{case}"] = Seen(kind, words[kind], known=reason)
    return found


def _start(*columns: Column) -> Start:
    return start_of(Loaded(), columns, [], KNOWN)


def test_known_defects_are_counted_and_not_their_cases() -> None:
    """Two cases of one known failure are one way to be wrong; other failures count each."""
    one = _column("lake", "peer", wrong=["delta/a:blanks", "delta/b:blanks", "delta/c"])
    found = _start(one)
    (row,) = found.right.peers
    (asked,) = row.by_format
    assert asked is not None
    assert (asked.shares[0].ways, asked.shares[0].count) == (2, 3)
    assert asked.shares[0].said == "3 wrong without a word in 2 ways"
    assert "lake 1.0 (2 ways)" in found.finding


def test_a_bar_is_as_long_as_the_share_of_all_cases() -> None:
    """Who states one case of four has a quarter of a bar, right as it may be."""
    found = _start(_column("small", "peer", right=["delta/a"], off=["delta/b", "delta/c"]))
    (asked,) = found.right.peers[0].by_format
    assert asked is not None
    assert (asked.reach, asked.said) == (25.0, "1 of 1 right; the format has 4 cases")


@pytest.mark.parametrize(("asked", "missing"), [(["a"], 3), (["a", "b", "c", "d"], 0)])
def test_older_records_say_how_many_cases_are_newer(asked: list[str], missing: int) -> None:
    """Only cases of groups of which the reader offers any count as missing."""
    lake = _column("lake", "peer", right=[f"own/{c}" for c in asked], off=["other/a"])
    newer = _column("newer", "peer", right=[f"{g}/{c}" for g in ("own", "other") for c in "abcd"])
    without_gone([lake, newer])
    assert (lake.missing, newer.missing) == (missing, 0)


def test_ours_are_one_line_and_floors_are_not_wrong() -> None:
    """The path that reads the most is the library's line; a reader of files accuses nobody."""
    found = _start(
        _column("merge", "native", right=["hudi/a"]),
        _column("auto", "native", right=["hudi/a", "delta/a"]),
        _column("pyarrow", "peer", wrong=["hudi/a"]),
    )
    right = found.right
    assert [row.label for row in right.ours] == ["seamkit"]
    assert [row.label for row in right.variants] == ["merge"]
    assert ([row.label for row in right.floors], right.peers) == (["pyarrow"], [])
    assert "none but a floor gives wrong rows" in found.finding
    assert "none gives wrong rows" in _start(_column("auto", "native", right=["a/b"])).finding


@pytest.mark.parametrize(("version", "is_past"), [("0.9.0", True), ("1.4.2", False)])
def test_an_old_release_is_no_headline(version: str, is_past: bool) -> None:
    """Who cannot be had as its project is today stands below, with the newer release."""
    old = replace(_column("spark-paimon", "peer", wrong=["paimon/a"]), version=version)
    found = start_of(Loaded(), [old], [], {"scan": {"paimon": 1}})
    labels = [[row.label for row in rows] for rows in (found.right.past, found.right.peers)]
    assert labels == ([["spark-paimon"], []] if is_past else [[], ["spark-paimon"]])
    assert ("none but an old release gives wrong rows" in found.finding) == is_past
    assert (f"spark-paimon {version} (1 way)" in found.finding) != is_past
    assert newer_of("spark-paimon", version) == ("1.4.2" if is_past else "")


def test_cases_that_are_gone_count_nowhere() -> None:
    """A case of today's groups that has no file any more is dropped; somebody's own group stays."""
    today = next(case.id for case in load_cases("scan"))
    group = today.split("/")[1]
    column = _column("lake", "peer", right=[f"{group}/gone", "own/mine"])
    column.outcomes[today] = Seen("right", "pass")
    known = without_gone([column])
    assert sorted(column.outcomes) == sorted([today, "scan/own/mine"])
    assert known["scan"]["own"] == 1
