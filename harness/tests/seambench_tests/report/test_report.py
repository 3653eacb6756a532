"""The report's site: what its files hold, whatever the records hold."""

import csv
import html
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from typer.testing import CliRunner

from seambase.errors import UsageError
from seambench.cli.app import app
from seambench.records.files import validate_tree
from seambench.records.model import json_schema
from seambench.report import build, load_records, publish
from seambench.report.pages import PAGES
from seambench_tests.samples.report_records import (
    DIGEST,
    OTHER,
    exchange_record,
    make_record,
    make_results,
    write_record,
)

HOSTILE = '<img src=x onerror="fetch(1)"></script><script>alert(1)</script>\u2028`${1}`\\"'


def part(site: Path, name: str) -> Any:
    """What a part of the data hands to the page: the text inside JSON.parse("...")."""
    script = (site / "data" / f"{name}.js").read_text("utf-8")
    match = re.fullmatch(r'SEAMBENCH\.part\("([^"]+)", JSON\.parse\((".*")\)\);\n', script)
    assert match is not None
    assert match[1] == name
    return json.loads(json.loads(match[2]))


def page(site: Path, name: str) -> str:
    """The HTML of a page."""
    return (site / f"{name}.html").read_text("utf-8")


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All made-up records, which nobody changes."""
    return make_results(tmp_path_factory.mktemp("results"))


@pytest.fixture(scope="module")
def site(made_up: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site over all made-up records, which nobody changes."""
    return build(made_up, tmp_path_factory.mktemp("report") / "site").parent


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """An empty results folder."""
    folder = tmp_path / "results"
    folder.mkdir()
    return folder


def test_made_up_records_are_sound(made_up: Path) -> None:
    """The page is tested with what the writer may really write."""
    assert validate_tree(made_up) == []


def test_the_form_of_records_is_published_with_the_page(site: Path) -> None:
    """The schema beside the page is the one that records are held against."""
    schema = json.loads((site / "record-schema.json").read_text("utf-8"))
    assert schema == json_schema()
    for path in (site / "records").glob("*-c0ffee.json"):
        jsonschema.validate(json.loads(path.read_bytes()), schema)


def test_site_is_complete_and_self_contained(site: Path) -> None:
    """A site is eight pages with style and script, parts, badges and records; it names no host."""
    names = {path.name for path in site.iterdir()}
    pages = {f"{name}.html" for name in PAGES}
    assert len(pages) == 8
    more = {name for name in names if name.startswith(("cost-", "queries-"))}
    assert names - more == pages | {
        *("page.js", "page.css", "record-schema.json", "records", "data", "badges")
    }
    for path in site.rglob("*"):
        if path.suffix in (".html", ".css", ".js"):
            assert "://" not in path.read_text("utf-8"), path


def test_the_site_is_light(site: Path, results: Path, tmp_path: Path) -> None:
    """Without records it is small; with them each page, its style and script are, too."""
    empty = build(results, tmp_path / "empty").parent
    shared = sum(path.stat().st_size for path in site.glob("page.*"))
    assert sum(path.stat().st_size for path in empty.rglob("*.*")) < 100_000
    assert max(path.stat().st_size for path in site.glob("*.html")) + shared < 400_000


def test_every_page_says_where_the_workload_comes_from(site: Path) -> None:
    """The limit of the numbers stands on each of them."""
    for name in PAGES:
        assert "Derived from TPC-H, not comparable with published TPC-H results." in page(
            site, name
        )


def test_the_first_view_needs_no_script(site: Path) -> None:
    """What was found about whom stands in the HTML itself."""
    first, costs = page(site, "index"), page(site, "cost")
    assert "12 cases, 2 implementations: 1 gives wrong answers without a word: hudi-rs" in first
    assert "From so many rows a chunk on" in first
    assert "<b>512</b> sockets presto" in first
    assert costs.count('class="chart"') > 4
    assert "no difference" in costs
    assert "1 refused, 1 right" in page(site, "matrix")
    assert "1 wrong without a word" in page(site, "pairs")


def test_own_paths_are_one_line_that_opens(site: Path) -> None:
    """Records of this project's implementations lie within one fold, those of others beside it."""
    about = page(site, "about")
    fold = about[about.index("<summary>seamkit") :]
    assert "<summary>auto <small>" in fold
    assert "<summary>hudi-rs <small>" in about.removesuffix(fold)


def test_columns_that_are_older_than_cases_are_grey(results: Path, tmp_path: Path) -> None:
    """In the matrix and on the first page, with the day and how many cases it was not asked."""
    for name, cases in (("late", ["a", "b"]), ("early", ["a"])):
        record = make_record("hudi-rs", run_id=f"00000{len(cases)}")
        record["implementation"]["name"] = name
        part = {"seam": "scan", "seconds": 1, "outcomes": {"pass": {"scan/own": cases}}}
        write_record(results, record | {"timings": [], "conformance": [part]})
    matrix = page(build(results, tmp_path / "site").parent, "matrix")
    heads = re.findall(r'<th scope="col" class="([^"]*)"><a [^>]*>(\w+)</a>', matrix)
    assert [(name, "older" in of) for of, name in sorted(heads, key=lambda one: one[1])] == [
        ("early", True),
        ("late", False),
    ]
    assert matrix.count("1 case not asked") == 1


def test_readers_are_called_by_words(results: Path, tmp_path: Path) -> None:
    """The library by its name, classes of this project's modules without them, others in full."""
    engines = "seambench_impl.measures.engines"
    for timed in ("auto", f"{engines}:EngineAnew", f"{engines}:DuckDBFiles", "mine.v2:EngineAnew"):
        record = make_record("auto")
        record["implementation"] |= {"name": timed, "kind": "variant"}
        write_record(results, record)
    build(results, tmp_path / "site")
    named = re.findall(r'<th scope="row">(\S+) · hudi', page(tmp_path / "site", "cost"))
    assert {*named} == {"seamkit", "engine-anew", "duck-db-files", "mine.v2:EngineAnew"}


def test_an_exchange_says_where_its_time_went(site: Path) -> None:
    """Beside the time of a run stands what its sides spent it on, and nothing that took none."""
    seams = page(site, "seams")
    assert "<small>serialize chunk 12.5 ms</small>" in seams
    assert "<small>wait " not in seams


def test_stale_readers_are_called_so(site: Path) -> None:
    """Whoever reads base files alone is named stale by design, and has no ratio."""
    assert re.search(r'class="stale"><th scope="row">native · hudi', page(site, "index"))
    # The library is called there as in the table beside it.
    assert re.search(r'<th scope="row">seamkit · hudi', page(site, "index"))
    assert "stale by design" in page(site, "queries")


def test_each_record_is_copied_and_linked(made_up: Path, site: Path) -> None:
    """Every record has a copy with the very bytes of the original, and the last page names it."""
    shown = load_records(made_up).records
    assert len(shown) == len(list(made_up.rglob("*.json")))
    for one in shown:
        assert (site / one.link).read_bytes() == one.path.read_bytes()
        assert f'href="{one.link}"' in page(site, "about")


def test_every_link_leads_somewhere(site: Path) -> None:
    """Links and pictures of every page are files of the site."""
    for path in site.glob("*.html"):
        for target in re.findall(r'(?:href|src)="([^"#]+)[^"]*"', path.read_text("utf-8")):
            assert target == "data:," or (site / target).is_file(), (path.name, target)


def test_wrong_rows_reach_the_matrix(site: Path) -> None:
    """Outcomes, reasons, and the rows that differ are in the part of their seam."""
    found = part(site, "outcomes-scan")
    [column] = [one for one in found["columns"] if one["name"] == "hudi-rs"]
    number = str(found["cases"].index("scan/deletes/late"))
    assert int(number) in column["outcomes"]["wrong fail"]
    assert column["reasons"][number] == "2 rows expected, 3 read"
    assert column["differences"][number]["unexpected_rows"] == 2


def test_installed_cases_are_explained(results: Path, tmp_path: Path) -> None:
    """Of a case that is installed here the page knows rule, life and answer."""
    record = make_record("auto")
    case = {"scan/hudi/commit-v6": ["delete"]}
    part_ = {"seam": "scan", "seconds": 1, "outcomes": {"pass": case}}
    write_record(results, record | {"timings": [], "conformance": [part_]})
    site = build(results, tmp_path / "site").parent
    said = part(site, "cases-scan-hudi")["cases"]["scan/hudi/commit-v6/delete"]
    assert said["rule"] == "commit time: a delete removes the row"
    assert [step["title"] for step in said["life"]][:2] == ["bulk_insert", "upsert"]
    assert said["expected"] == [{"columns": ["k", "v", "ts"], "rows": []}]


def test_results_without_records_make_pages(results: Path, tmp_path: Path) -> None:
    """No results is a state of a fresh checkout, not an error; each page says what fills it."""
    site = build(results, tmp_path / "site").parent
    for name in ("index", "matrix", "pairs", "cost", "queries", "seams"):
        assert "<code>seambench" in page(site, name), name


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


def _reasons(site: Path) -> dict[str, str]:
    """Why files are no records, as the last page tells of each."""
    found = re.findall(r"<li><code>([^<]*)</code>: (.*?)</li>", page(site, "about"), re.DOTALL)
    return {file: html.unescape(reason) for file, reason in found}


_BROKEN = {
    b"{": "not readable as JSON",
    b"\xff\xfe": "not readable as JSON",
    b"[" * 100_000: "not readable as JSON",
    b"[]": "says no schema version",
    b'{"schema": 99}': "schema version 99 is not",
    b'{"schema": "1"}': "says no schema version",
    b'{"schema": 3}': "missing required field",
}
_HELD = {"format": "hudi", "impl": "auto", "version": "1", "date": "2026-01-02", "differences": 3}
_OF_CHANCE = {"format": "hudi", "writer": "its own", "impl": "auto", "date": "2026-01-02"}
#: Counts beside records, by folder; what makes one none; and what is shown of it.
_COUNTED: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "random": (_OF_CHANCE | {"tables": 1234, "answers": 5678, "differences": 0},
               {"answers": "many"}, ["1,234", "5,678", "not counted"]),
    "forms": (_HELD | {"forms": 43, "variants": 4321, "answers": 8765, "left_out": 0},
              {"variants": None}, ["4,321", "8,765"]),
    "ways": (_HELD | {"outlets": 13, "answers": 8642,
                      "closed": {"plans": {"no plan": 40, "other": 2}}},
             {"closed": None}, ["8,642", "<summary>42</summary>", "plans: no plan: 40"]),
}  # fmt: skip


def test_what_is_no_record_is_a_problem(results: Path, tmp_path: Path) -> None:
    """A file that holds none is named on the page; records, and counts beside them, are shown."""
    write_record(results, make_record("auto"))
    for number, content in enumerate(_BROKEN):
        (results / "runs" / f"{number}.json").write_bytes(content)
    for folder, (held, broken, _) in _COUNTED.items():
        (results / folder).mkdir()
        (results / folder / "auto-hudi.json").write_text(json.dumps(held))
        (results / folder / "broken.json").write_text(json.dumps(held | broken))
    site = build(results, tmp_path / "site").parent
    reasons, matrix = _reasons(site), page(site, "matrix")
    for number, reason in enumerate(_BROKEN.values()):
        assert reason in reasons.pop(f"runs/{number}.json")
    assert set(reasons) == {f"{folder}/broken.json" for folder in _COUNTED}
    assert [text for *_, shown in _COUNTED.values() for text in shown if text not in matrix] == []
    assert "1 record, the newest of " in page(site, "index")


def test_a_record_that_is_not_sound_is_no_result(results: Path, tmp_path: Path) -> None:
    """It is named with the place, and none of its times and answers reaches the page."""
    times = (float("nan"), float("inf"), "1", -1, True, 10**400)
    place = r"timings\[0\]\.hot\[0\]|no number of JSON"
    changes: list[tuple[dict[str, Any], str]] = [({"hot": [bad]}, place) for bad in times]
    changes.append(({"answer": OTHER}, "the verdict pass does not follow"))
    said = {}
    for number, (change, says) in enumerate(changes):
        record = make_record("auto", run_id=f"00000{number}")
        record["timings"][0] |= change
        said[write_record(results, record).relative_to(results).as_posix()] = says
    site = build(results, tmp_path / "site").parent
    reasons = _reasons(site)
    assert list(site.glob("records/*")) == []
    assert set(reasons) == set(said)
    assert [file for file, says in said.items() if not re.search(says, reasons[file])] == []


def test_hostile_text_stays_text(results: Path, tmp_path: Path) -> None:
    """No text of a record can end a script or become markup, and none is lost."""
    record = make_record("auto")
    record["implementation"] |= {"name": HOSTILE, "version": HOSTILE}
    record["timings"] = [one for one in record["timings"] if one["case"] == "scan/all"]
    record["timings"].append(record["timings"][0] | {"case": f"{HOSTILE}/x"})
    outcomes = {"fail": {f"scan/{HOSTILE}": [HOSTILE]}}
    reasons = {f"scan/{HOSTILE}/{HOSTILE}": HOSTILE}
    conformance = {"seam": "scan", "seconds": 1, "outcomes": outcomes, "reasons": reasons}
    record["conformance"] = [conformance]
    write_record(results, record)
    site = build(results, tmp_path / "site").parent
    for path in (*site.glob("*.html"), *site.glob("badges/*")):
        assert "<img src=x" not in path.read_text("utf-8")
        assert "<script>alert" not in path.read_text("utf-8")
    assert "<" not in (site / "data" / "outcomes-scan.js").read_text("utf-8")
    [column] = part(site, "outcomes-scan")["columns"]
    assert column["reasons"] == {"0": HOSTILE}
    assert column["version"] == HOSTILE


def test_sound_records_of_any_content_make_pages(results: Path, tmp_path: Path) -> None:
    """Times of zero, dimensions that are no numbers, odd names of seams and cases are drawn."""
    record = make_record("auto")
    scan = next(one for one in record["timings"] if one["case"] == "scan/all")
    zero = {"hot": [0.0], "cold": [0.0], "cpu": [0.0], "peak_bytes": 0, "bytes": 0}
    odd = scan["over"] | {"dimensions": {"update_ratio": "many", "slice_share": True}}
    bare = {"name": "x", "scale": 0, "digest": DIGEST}
    query = scan | zero | {"case": "tpch/q01"}
    record["timings"] = [
        *(scan | zero, scan | {"over": odd}, query, query | {"case": "odd"}),
        *(
            scan | zero | {"case": case, "over": bare | {"digest": DIGEST}}
            for case in ("x", "a//4")
        ),
    ]
    outcomes = {"pass": {"": ["a"], "b": ["", "../c"]}, "not-offered": {"..": ["d"]}}
    record["conformance"] = [{"seam": "../odd seam", "seconds": 0, "outcomes": outcomes}]
    record["timings"] += [scan | zero | {"case": case, "over": bare} for case in ("x", "a//4")]
    write_record(results, record)
    site = build(results, tmp_path / "site").parent
    assert "runs/auto" not in page(site, "about")
    assert {path.parent.name for path in site.rglob("*.js")} == {"site", "data"}
    assert part(site, "outcomes-.._odd_seam")["cases"] == ["../d", "/a", "b/", "b/../c"]


def test_names_of_copies_are_safe_and_distinct(results: Path, tmp_path: Path) -> None:
    """Odd characters in paths neither leave the folder nor let two records share a copy."""
    for name in ("a b", "a_b", "A_B", "..", "%2e%2e"):
        target = results / "runs" / "x" / name / "m.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(make_record("auto")))
    build(results, tmp_path / "site")
    files = [shown.link for shown in load_records(results).records]
    assert len({f.lower() for f in files}) == len(files) == len(list(results.rglob("*.json")))
    assert all(re.fullmatch(r"records/[A-Za-z0-9_][A-Za-z0-9._-]*\.json", f) for f in files)


def test_building_again_keeps_other_pages_and_drops_stale_copies(
    results: Path, tmp_path: Path
) -> None:
    """The history pages beside the report survive; what a record that is gone left does not."""
    path = write_record(results, make_record("auto"))
    site = build(results, tmp_path / "site").parent
    assert list(site.glob("cost-*.html"))
    (site / "history").mkdir()
    (site / "history" / "index.html").write_text("asv")
    path.unlink()
    write_record(results, exchange_record())
    build(results, site)
    assert 'href="history/index.html"' in page(site, "history")
    first = page(site, "index")
    assert "What was timed; no conformance" in first
    assert "timed-title" not in first  # who wins says it
    assert "Nothing was recorded" not in first
    assert [p.name for p in (site / "records").iterdir()] == [
        "seambench--2026-11-20--example-e4c4a9.json"
    ]
    assert not list(site.glob("cost-*.html"))
    assert not list(site.rglob(".*"))


@pytest.mark.parametrize("kept", ["/4096", "/presto/", "/presto/2/4096"])
def test_exchanges_alone_make_no_empty_page(results: Path, tmp_path: Path, kept: str) -> None:
    """One number of rows, or one way, has no winner by rows: what was timed is named and linked."""
    made = exchange_record()
    made["timings"] = [one for one in made["timings"] if kept in one["case"]]
    write_record(results, made)
    main = page(build(results, tmp_path / "site").parent, "index").partition("<main")[2]
    assert 'href="seams.html#exchange-workers"' in main
    assert "shuffle, 2 workers: " in main
    assert "sockets presto" in main
    assert "winner-title" not in main


def test_a_published_folder_is_ready_for_a_host(results: Path, tmp_path: Path) -> None:
    """It has the workflow that publishes it; one that was changed by hand stays as it is."""
    folder = tmp_path / "public"
    write_record(results, exchange_record())
    index = publish(results, folder)
    workflow = folder / ".github" / "workflows" / "pages.yml"
    assert index.is_file()
    assert (folder / ".nojekyll").is_file()
    assert "actions/deploy-pages@" in workflow.read_text()
    workflow.write_text("mine")
    publish(results, folder)
    assert workflow.read_text() == "mine"


def command(results: Path, *arguments: str) -> str:
    """What `seambench report` prints."""
    done = CliRunner().invoke(app, ["report", "--results", str(results), *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_outcomes_as_a_table(made_up: Path) -> None:
    """CSV has a line for every outcome, with the record that it is from."""
    rows = list(csv.DictReader(command(made_up, "--format", "csv").splitlines()))
    [wrong] = [row for row in rows if row["kind"] == "wrong"]
    assert wrong["implementation"] == "hudi-rs"
    assert wrong["case"] == "scan/deletes/late"
    assert wrong["reason"] == "2 rows expected, 3 read"
    assert wrong["record"].startswith("records/hudi-rs--")


def test_outcomes_as_data(made_up: Path) -> None:
    """JSON says the schema of itself, and holds the rows that differ."""
    found = json.loads(command(made_up, "--format", "json"))
    outcomes = [one for about in found["implementations"] for one in about["outcomes"]]
    [wrong] = [one for one in outcomes if one["kind"] == "wrong"]
    assert found["schema"] == 1
    assert wrong["difference"]["missing"] == [['"a"', "1"]]


def test_outcomes_as_a_test_report(results: Path) -> None:
    """JUnit's XML counts as CI does: wrong and refused fail, crashes are errors, others skip."""
    make_results(results)
    path = next(results.rglob("hudi-rs/**/example-c0ffee.json"))
    record = json.loads(path.read_bytes())
    record["conformance"][0]["reasons"]["scan/deletes/late"] = "bad \x00 text <b>"
    path.write_text(json.dumps(record))
    root = ET.fromstring(command(results, "--format", "junit").split("?>")[1])  # noqa: S314 - our own
    [suite] = [one for one in root if "hudi-rs" in one.attrib["name"]]
    assert suite.attrib["tests"] == str(len(suite))
    [failure] = suite.findall("testcase[@name='late'][@classname='scan/deletes']/failure")
    assert failure.attrib["message"] == "bad \N{REPLACEMENT CHARACTER} text <b>"
    assert suite.attrib["errors"] == "1"
    assert int(suite.attrib["skipped"]) == len(suite.findall("testcase/skipped"))


def test_outcomes_as_a_document(results: Path) -> None:
    """Markdown names wrong answers with their reasons, and no text in it is markup."""
    record = make_record("auto")
    record["implementation"]["name"] = "a|b"
    outcomes = {"fail": {"scan/x": ["y"]}}
    conformance = {"seam": "scan", "seconds": 1, "outcomes": outcomes}
    conformance["reasons"] = {"scan/x/y": "<b> [x](y)"}
    write_record(results, record | {"timings": [], "conformance": [conformance]})
    text = command(results, "--format", "markdown")
    assert r"| a\|b | 0.1.0 | x | 1 |" in text
    assert r"- a\|b 0.1.0, `scan/x/y`: \<b\> \[x\](y)" in text


def test_an_unknown_form_is_refused(results: Path) -> None:
    """The message names those that there are."""
    done = CliRunner().invoke(app, ["report", "--results", str(results), "--format", "xml"])
    assert "markdown, json, csv, junit" in str(done.exception)


@pytest.mark.parametrize("name", ["cost", "queries", "pairs"])
def test_other_ways_of_the_library_are_folded_away(site: Path, name: str) -> None:
    """One of its names stands for it and is called by its name; each card opens what it folds."""
    cards = re.split(r'(?=<[a-z]+ class="card)', page(site, name))
    ways = [card for card in cards if re.search(r'class="[^"]* way"', card)]
    assert all('class="unfold"' in card for card in ways)
    assert ways if name != "pairs" else not ways
    assert any(re.search(r">\s*seamkit\b", card) for card in cards)
    for card in ways:
        for row in re.findall(r'<(?:tr|th)[^>]* way">.*?</th>', card, re.DOTALL):
            assert 'class="ours"' in row
            assert "seamkit" not in row
    shown = re.sub(r'<(tr|th|li)[^>]* way">.*?</\1>', "", "".join(ways), flags=re.DOTALL)
    assert "hudi-rs" in shown or not ways
