"""The report's site: what its files hold, whatever the records hold."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from seambase.errors import UsageError
from seambench.records.files import validate_tree
from seambench.records.model import json_schema
from seambench.report import build
from seambench_tests.samples.report_records import (
    OTHER,
    READERS,
    make_record,
    make_results,
    write_record,
)

HOSTILE = '<img src=x onerror="fetch(1)"></script><script>alert(1)</script>\u2028`${1}`\\"'


def page_data(site: Path) -> dict[str, Any]:
    """What data.js hands to the page: the text inside JSON.parse("...")."""
    script = (site / "data.js").read_text("utf-8")
    match = re.fullmatch(r'globalThis\.SEAMBENCH = JSON\.parse\((".*")\);\n', script)
    assert match is not None
    data = json.loads(json.loads(match[1]))
    assert isinstance(data, dict)
    return data


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """An empty results folder."""
    folder = tmp_path / "results"
    folder.mkdir()
    return folder


def test_made_up_records_are_sound(results: Path) -> None:
    """The page is tested with what the writer may really write."""
    assert validate_tree(make_results(results)) == []


def test_the_form_of_records_is_published_with_the_page(results: Path, tmp_path: Path) -> None:
    """The schema beside the page is the one that records are held against."""
    site = build(make_results(results), tmp_path / "site").parent
    schema = json.loads((site / "record-schema.json").read_text("utf-8"))

    assert schema == json_schema()
    for path in results.rglob("*.json"):
        jsonschema.validate(json.loads(path.read_bytes()), schema)


def test_site_is_complete_and_self_contained(results: Path, tmp_path: Path) -> None:
    """A site is its five files and the records, and names no other address."""
    index = build(make_results(results), tmp_path / "site")

    assert index == tmp_path / "site" / "index.html"
    names = {p.name for p in index.parent.iterdir()}
    assert names == {
        *("index.html", "page.js", "page.css", "data.js", "plotly.min.js"),
        *("record-schema.json", "records"),
    }
    for name in ("index.html", "page.js", "page.css"):
        assert "://" not in (index.parent / name).read_text("utf-8")


def test_page_says_where_the_workload_comes_from(results: Path, tmp_path: Path) -> None:
    """The limit of the numbers stands in the page itself, before any result."""
    html = build(make_results(results), tmp_path / "site").read_text("utf-8")

    notice = html.index("Derived from TPC-H, not comparable with published TPC-H results.")
    assert notice < html.index('id="verdict"')


def test_the_first_view_needs_no_script(results: Path, tmp_path: Path) -> None:
    """What was found about whom stands in the HTML itself, before everything else."""
    html = build(make_results(results), tmp_path / "site").read_text("utf-8")
    body = html[html.index("<main") :]

    assert body.index("Who is right") < body.index('class="limits"')
    assert "Wrong rows, and no word: hudi-rs (scan) in 1." in body
    assert body.index("1 refused, 1 right") < body.index('class="limits"')


def test_each_record_is_copied_and_linked(results: Path, tmp_path: Path) -> None:
    """Every record of the page names a copy with the very bytes of the original."""
    site = build(make_results(results), tmp_path / "site").parent
    records = page_data(site)["records"]

    assert len(records) == len(READERS) + 3
    for record in records:
        assert (site / record["file"]).read_bytes() == (results / record["source"]).read_bytes()


def test_samples_and_failures_reach_the_page(results: Path, tmp_path: Path) -> None:
    """Raw samples, not summaries, and every failed timing with its reason are in the data."""
    record = make_record("hudi-rs")
    write_record(results, record)
    (shown,) = page_data(build(results, tmp_path / "site").parent)["records"]

    assert [t.get("hot") for t in shown["timings"]] == [t.get("hot") for t in record["timings"]]
    failed = [t["reason"] for t in shown["timings"] if "reason" in t]
    assert failed == ["3 of 42 rows differ from the oracle"] * 4


def test_results_without_records_make_a_page(results: Path, tmp_path: Path) -> None:
    """No results is a state of a fresh checkout, not an error."""
    data = page_data(build(results, tmp_path / "site").parent)

    assert (data["records"], data["problems"]) == ([], [])


def test_missing_results_folder_is_refused(tmp_path: Path) -> None:
    """A mistyped folder must not give an empty page."""
    with pytest.raises(UsageError, match="no such results folder"):
        build(tmp_path / "nowhere", tmp_path / "site")


def test_site_in_place_of_a_file_is_refused(results: Path, tmp_path: Path) -> None:
    """A file where the site should be is named, and kept."""
    (tmp_path / "site").write_text("mine")

    with pytest.raises(UsageError, match="a file is in its place"):
        build(results, tmp_path / "site")
    assert (tmp_path / "site").read_text() == "mine"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{", "not readable as JSON"),
        (b"\xff\xfe", "not readable as JSON"),
        (b"[" * 100_000, "not readable as JSON"),
        (b"[]", "says no schema version"),
        (b'{"schema": 99}', "newer than"),
        (b'{"schema": "1"}', "says no schema version"),
        (b'{"schema": 3}', "missing required field"),
    ],
)
def test_unreadable_record_is_shown_as_a_problem(
    results: Path, tmp_path: Path, content: bytes, reason: str
) -> None:
    """A file that holds no record is named on the page; the others are still shown."""
    write_record(results, make_record("auto"))
    (results / "runs" / "broken.json").write_bytes(content)
    data = page_data(build(results, tmp_path / "site").parent)

    (problem,) = data["problems"]
    assert problem["file"] == "runs/broken.json"
    assert reason in problem["reason"]
    assert len(data["records"]) == 1


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), "1", -1, True, 10**400])
def test_a_record_with_samples_that_are_no_seconds_is_no_result(
    results: Path, tmp_path: Path, bad: object
) -> None:
    """It is named with the place, and none of its times reaches the page."""
    record = make_record("auto")
    record["timings"][0]["hot"][0] = bad
    write_record(results, record)
    data = page_data(build(results, tmp_path / "site").parent)

    assert data["records"] == []
    reason = data["problems"][0]["reason"]
    assert "timings[0].hot[0]" in reason or "no number of JSON" in reason


def test_a_verdict_that_does_not_follow_is_no_result(results: Path, tmp_path: Path) -> None:
    """A record that calls a wrong answer right is named, and not shown."""
    record = make_record("auto")
    record["timings"][0]["answer"] = OTHER
    write_record(results, record)
    data = page_data(build(results, tmp_path / "site").parent)

    assert data["records"] == []
    assert "the verdict pass does not follow" in data["problems"][0]["reason"]


def test_hostile_text_stays_text(results: Path, tmp_path: Path) -> None:
    """No text of a record can end a script or become markup, and none is lost."""
    record = make_record("auto")
    record["implementation"]["version"] = HOSTILE
    record["timings"][0]["case"] = HOSTILE
    record["versions"] = {"__proto__": HOSTILE}
    write_record(results, record)
    site = build(results, tmp_path / "site").parent

    assert "<" not in (site / "data.js").read_text("utf-8")
    (shown,) = page_data(site)["records"]
    assert shown["implementation"]["version"] == HOSTILE
    assert shown["versions"] == {"__proto__": HOSTILE}


def test_names_of_copies_are_safe_and_distinct(results: Path, tmp_path: Path) -> None:
    """Odd characters in paths neither leave the folder nor let two records share a copy."""
    for name in ("a b", "a_b", "A_B", "..", "%2e%2e"):
        target = results / "runs" / "x" / name / "m.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(make_record("auto")))
    site = build(results, tmp_path / "site").parent
    files = [r["file"] for r in page_data(site)["records"]]

    assert len({f.lower() for f in files}) == len(files) == len(list(results.rglob("*.json")))
    assert all(re.fullmatch(r"records/[A-Za-z0-9_][A-Za-z0-9._-]*\.json", f) for f in files)


def test_building_again_keeps_other_pages_and_drops_stale_copies(
    results: Path, tmp_path: Path
) -> None:
    """The history pages beside the report survive; a copy whose record is gone does not."""
    path = write_record(results, make_record("auto"))
    site = build(results, tmp_path / "site").parent
    (site / "history").mkdir()
    (site / "history" / "index.html").write_text("asv")
    path.unlink()
    write_record(results, make_record("merge"))
    build(results, site)

    assert page_data(site)["history"] is True
    assert [p.name for p in (site / "records").iterdir()] == [
        "merge--2026-11-20--example-a1b2c3.json"
    ]
    assert not list(site.rglob(".*"))
