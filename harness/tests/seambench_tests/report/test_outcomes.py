"""Outcomes for the pages: each case once, the worst of a group on top, who vouches, changes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from seambench.records import misread
from seambench.report.draw.lines import mark
from seambench.report.site import badges, build
from seambench.report.views import vouched as view
from seambench.report.views.load import load_records
from seambench.report.views.matrix import Cell, matrices
from seambench.report.views.outcomes import Column, Seen, columns_of, shares_of, version_key
from seambench.report.views.pairs import grids
from seambench.report.views.runs import is_of_tables, run_sets
from seambench.report.views.start import _finding
from seambench.report.views.vouched import right_peers, vouched
from seambench_tests.samples.report_records import (
    make_record,
    make_results,
    pair_record,
    write_record,
)


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All made-up records, which nobody changes."""
    return make_results(tmp_path_factory.mktemp("results"))


def columns(results: Path) -> list[Column]:
    """Columns over the records of a folder."""
    return columns_of(load_records(results).records)


def test_the_worst_of_a_group_is_what_its_cell_says(made_up: Path) -> None:
    """Wrong rows without a word come before a refusal, and that before right answers."""
    [table] = matrices(columns(made_up))
    at = [column.name for column in table.columns].index("hudi-rs")
    cells = {row.path: row.cells[at] for row in table.rows}
    assert table.cases == 12
    assert cells["scan/deletes"] == Cell("wrong", "1 wrong", "1 refused, 1 right")
    assert cells["scan/blocks"].kind == "broken"
    assert [(share.kind, share.count) for share in table.shares[at]][:2] == [
        ("wrong", 1),
        ("broken", 1),
    ]


def test_cells_count_defects_and_not_their_cases() -> None:
    """Cases of one known failure are one, others one each; what is right counts by case."""
    column = Column("scan", "lake", "1.0", "peer")
    kinds = {"a": "wrong", "b": "wrong", "c": "wrong", "d": "refused", "e": "right", "f": "right"}
    known = dict.fromkeys("abd", "blanks are lost")
    for case, kind in kinds.items():
        column.outcomes[case] = Seen(kind, "fail", known=known.get(case, ""))
    assert Cell.of(column, "abcdef") == Cell("wrong", "2 wrong", "in 3 cases, 1 refused, 2 right")
    assert Cell.of(column, "ce") == Cell("wrong", "1 wrong", "1 right")
    assert Cell.of(column, "") == Cell("none", "", "")


def conformance(word: str, reason: str = "", **more: object) -> dict[str, object]:
    """The outcome of one case."""
    reasons = {"reasons": {"scan/a/b": reason}} if reason else {}
    return {"seam": "scan", "seconds": 1, "outcomes": {word: {"scan/a": ["b"]}}, **reasons, **more}


def _known(came: str) -> dict[str, object]:
    return {"scan/a/b": {"reason": "a rule", "came": came}}


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        (conformance("pass"), "right"),
        (conformance("fail", "1 row expected"), "wrong"),
        (conformance("fail", "refused what it offers", refused=["scan/a/b"]), "refused"),
        (conformance("fail", "1 row expected", should=["scan/a/b"]), "disputed"),
        (conformance("xfail", "1 row expected", known=_known("fail")), "wrong"),
        (conformance("xfail", "signal 11 (fail: x)", known=_known("crash")), "broken"),
        (conformance("crash", "signal 11", should=["scan/a/b"]), "broken"),
        (conformance("timeout", "60 s"), "broken"),
        (conformance("not-offered"), "off"),
    ],
)
def test_an_outcome_is_of_one_kind(tmp_path: Path, part: dict[str, object], kind: str) -> None:
    """That a failure is known makes it no better; a disputed rule makes it no worse."""
    record = make_record("auto")
    record["timings"], record["conformance"] = [], [part]
    write_record(tmp_path, record)
    [column] = columns(tmp_path)
    assert column.outcomes["scan/a/b"].kind == kind


def test_the_newest_outcome_of_a_case_counts(tmp_path: Path) -> None:
    """A later run of some cases leaves the others as they were, and another version is another."""
    for minute, (word, version) in enumerate((("error", "1"), ("pass", "1"), ("error", "2"))):
        record = make_record("auto", run_id=f"00000{minute}")
        record["run"]["started_utc"] = f"2026-11-20T10:0{minute}:00Z"
        record["implementation"]["version"] = version
        record["timings"] = []
        part = conformance(word, "" if word == "pass" else "why")
        if minute == 0:
            rows = {"columns": ["k"], "missing": [["1"]], "unexpected": []}
            part["differences"] = {"scan/a/b": {**rows, "missing_rows": 1, "unexpected_rows": 0}}
        record["conformance"] = [part]
        write_record(tmp_path, record)
    first, second = columns(tmp_path)
    newest, other = first.outcomes["scan/a/b"], second.outcomes["scan/a/b"]
    assert (newest.kind, newest.reason, newest.difference) == ("right", "", None)
    assert [(was.kind, was.word) for was in newest.earlier] == [("broken", "error")]
    assert "000000" in newest.earlier[0].link
    assert "000001" in newest.link
    assert (other.kind, other.earlier) == ("broken", [])


def test_what_was_not_run_is_not_shown(tmp_path: Path) -> None:
    """A peer that this machine lacks has no column; a case that was not run has no outcome."""
    for run, part in enumerate(
        (conformance("unavailable", "no Java"), conformance("pass") | {"seam": "serde"})
    ):
        record = make_record("auto", run_id=f"00000{run}")
        record["timings"], record["conformance"] = [], [part]
        write_record(tmp_path, record)
    assert [column.seam for column in columns(tmp_path)] == ["serde"]


def test_pairs_are_no_verdict_of_one_implementation(made_up: Path) -> None:
    """They stand in the grid, by producer and consumer, and in no column of the matrix."""
    records = load_records(made_up).records
    [grid] = grids(records)
    cell = grid.cells["auto 0.1.0", "hudi-rs 0.1.0"]
    assert {column.seam for column in columns_of(records)} == {"scan"}
    assert grid.producers == grid.consumers == ["auto 0.1.0", "hudi-rs 0.1.0"]
    assert (cell.kind, dict(cell.counts)) == ("wrong", {"right": 2, "wrong": 1})
    [(seen, cases)] = cell.failures
    assert (seen.kind, seen.reason, cases) == ("wrong", "1 expected, 2 came", ["serde/a/two"])
    assert cell.command("serde/a/two").endswith("--impl 'auto -> hudi-rs' --case serde/a/two")


def test_a_misread_table_is_offered_where_it_is_kept(tmp_path: Path) -> None:
    """A cell has the link of the archive beside its record, which the site copies."""
    results = tmp_path / "results"
    record = write_record(results, pair_record("auto"))
    misread.pack(results / "history", record.with_suffix(".tables"), "serde/a/two")
    [grid] = grids(load_records(results).records)
    tables = {pair: cell.tables for pair, cell in grid.cells.items() if cell.tables}
    link = tables["auto 0.1.0", "hudi-rs 0.1.0"]["serde/a/two"]
    site = build(results, tmp_path / "site").parent
    assert (site / link).is_file()
    assert f'href="{link}"' in (site / "pairs.html").read_text("utf-8")


def test_a_version_that_was_asked_for_is_one_of_the_same_implementation(tmp_path: Path) -> None:
    """`NAME@VERSION` and `NAME` share their history; commands keep the name that they know."""
    for minute, (name, version) in enumerate([("peer", "0.5.0"), ("peer@0.4.0", "0.4.0")]):
        record = make_record("hudi-rs", run_id=f"00000{minute}")
        record["implementation"] |= {"name": name, "version": version}
        write_record(tmp_path, record | {"timings": [], "conformance": [conformance("pass")]})
    first, second = columns(tmp_path)
    assert [one.key for one in (first, second)] == ["peer@0.4.0", "peer@0.5.0"]
    assert [one.named_as for one in (first, second)] == ["peer@0.4.0", "peer"]


def test_versions_are_ordered_as_numbers() -> None:
    """0.9 comes before 0.10, a candidate before its release."""
    versions = ["0.10.0", "0.9", "1.0", "1.0rc1", "unknown"]
    assert sorted(versions, key=version_key) == ["unknown", "0.9", "0.10.0", "1.0", "1.0rc1"]


def test_columns_shown_at_once_are_the_newest_of_others_and_one_of_ours(tmp_path: Path) -> None:
    """Our other ways and older versions come behind a fold, and count in no summary of a rule."""
    make_results(tmp_path)
    files = (tmp_path / "runs" / "hudi-rs").rglob("*.json")
    parts = {one["run"]["id"]: one for one in map(json.loads, map(Path.read_text, files))}
    [older] = [
        one
        for one in parts.values()
        if any(part.get("consumer") is None for part in one.get("conformance", ()))
    ]
    older["implementation"]["version"] = "0.0.9"
    older["run"]["id"] = "00000001"
    write_record(tmp_path, older)
    [table] = matrices(columns(tmp_path))
    assert [column.key for column in table.columns] == [
        *("hudi-rs@0.1.0", "merge@0.1.0"),
        *("auto@0.1.0", "hudi-rs@0.0.9"),
    ]
    assert table.first == 2
    assert {row.path: row.said(table.first) for row in table.rows}["scan/deletes"] == (
        "1 wrong, 1 right"
    )


@pytest.mark.parametrize("inside", [True, False])
def test_a_visitors_records_are_told_from_those_of_the_checkout(
    tmp_path: Path, *, inside: bool
) -> None:
    """What git does not know beside what it knows is a visitor's; without git nobody's."""
    make_results(tmp_path)
    if inside:
        git = ["git", "-C", str(tmp_path)]
        subprocess.run([*git, "init", "-q"], check=True)
        subprocess.run([*git, "add", "runs/hudi-rs"], check=True)
    records = load_records(tmp_path).records
    whose = {shown.record.implementation.name for shown in records if shown.is_visitors}
    assert ("auto" in whose) is inside
    assert "hudi-rs" not in whose
    assert {one.name for one in columns_of(records) if one.is_visitors} <= whose
    assert any(one.is_visitors for one in columns_of(records)) is inside
    labels = [one.label for one in run_sets(records, is_of_tables) if one.is_visitors]
    assert bool(labels) is inside
    assert all("your run: " in label and ", load " in label for label in labels)


def test_no_two_lines_are_alike() -> None:
    """Each of 64 lines has a colour and a mark that no other has together."""
    drawn = [str(mark(number)) for number in range(64)]
    assert len(set(drawn)) == 64


def test_a_badge_says_the_worst(made_up: Path) -> None:
    """Wrong answers come before right ones; what is not offered is not counted."""
    made = badges(columns(made_up))
    texts = {name: text for name, (text, _) in made.items()}
    assert set(texts) == {"scan-auto.svg", "scan-merge.svg", "scan-hudi-rs.svg"}
    assert texts["scan-hudi-rs.svg"].startswith("seambench scan, hudi-rs 0.1.0: 1 of ")
    assert texts["scan-hudi-rs.svg"].endswith(" wrong")
    assert all(text in picture for text, picture in made.values())


def test_a_version_that_nobody_stated_is_not_shown(tmp_path: Path) -> None:
    """A function or a program without one has its name alone: in its badge, and in the headline."""
    record = make_record("auto")
    record["implementation"] |= {"name": "mine:read", "version": "unknown", "kind": "peer"}
    part = {"seam": "scan", "seconds": 1, "outcomes": {"fail": {"scan/own": ["a"]}}}
    part["reasons"] = {"scan/own/a": "1 row expected, 0 read"}
    write_record(tmp_path, record | {"timings": [], "conformance": [part]})
    [column] = columns(tmp_path)
    assert badges([column])["scan-mine_read.svg"][0] == "seambench scan, mine:read: 1 of 1 wrong"
    assert _finding([column], [column]).endswith("without a word: mine:read (1 way).")


def test_shares_lead_to_their_cases(made_up: Path) -> None:
    """A number on a page is a link to just the cases that it counts."""
    [column] = [one for one in columns(made_up) if one.name == "hudi-rs"]
    shares = shares_of(column)
    [wrong] = [share for share in shares if share.kind == "wrong"]
    assert wrong.percent == pytest.approx(100 * wrong.count / len(column.outcomes))
    assert sum(share.percent for share in shares) == pytest.approx(100)
    assert wrong.link == "matrix.html#seam=scan&kind=wrong&impl=hudi-rs%400.1.0"


class _Case:
    """As much of a case as counts here."""

    def __init__(self, name: str, witness: str = "") -> None:
        self.id = f"scan/lake/{name}"
        self.witness = witness


def _column(name: str, about: str, **kinds: str) -> Column:
    found = Column("scan", name, "1", about)
    for case, kind in kinds.items():
        found.outcomes[f"scan/lake/{case}"] = Seen(kind, "pass" if kind == "right" else "fail")
    return found


def test_the_first_that_vouches_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """What only our own implementations pass, nobody vouches for; nor does a wrong peer."""
    cases = [
        _Case("a", "Lake 2.0"),
        _Case("b", "specification"),
        _Case("c", "specification"),
        _Case("d"),
        _Case("e"),
        _Case("f"),
    ]
    monkeypatch.setattr(view, "load_cases", lambda _: cases)
    columns = [
        _column("theirs", "peer", a="right", b="right", d="right", e="wrong"),
        _column("ours", "native", c="right", e="right", f="right"),
    ]
    (found,) = vouched(columns)
    assert (found.engine, found.reader, found.specification, found.alone) == (1, 2, 1, 2)
    assert found.cases == 6


def test_a_peer_counts_once_for_all_its_versions() -> None:
    """A version that is right is enough, whatever others do."""
    columns = [_column("lake", "peer", a=kind) for kind in ("wrong", "right", "right")]
    assert right_peers(columns) == {"scan/lake/a": ["lake"]}
