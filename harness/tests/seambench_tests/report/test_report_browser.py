"""The report in a real browser: it opens from disk, reacts, and its address restores it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seambench.report import build
from seambench_tests.samples.report_records import make_record, make_results, write_record

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=\"document.title='broken'\"><u>bold</u>"
SIZES = [("light", 1280), ("dark", 1280), ("light", 400), ("dark", 400)]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium that the machine brings; playwright's own download is not wanted."""
    playwright = pytest.importorskip("playwright.sync_api", reason="unavailable: no playwright")
    chromium = shutil.which("chromium") or "/usr/bin/chromium"
    if not Path(chromium).exists():
        pytest.skip("unavailable: no chromium on this machine")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield running
        running.close()


class Visit:
    """One open page, and everything it complained about or asked the network for."""

    def __init__(self, browser: Any, url: str, scheme: str = "light", width: int = 1280) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(url)

    def check_quiet(self) -> None:
        """No error, no warning, and nothing fetched but files and inline images."""
        assert self.complaints == []
        assert [u for u in self.requests if not u.startswith(("file:", "data:", "blob:"))] == []


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Address of a site over the whole made-up run."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "results").mkdir()
    return build(make_results(folder / "results"), folder / "site").as_uri()


def site_of(tmp_path: Path, *records: dict[str, Any]) -> str:
    """Build a site over these records and return its address."""
    results = tmp_path / "results"
    results.mkdir()
    for record in records:
        write_record(results, record)
    return build(results, tmp_path / "site").as_uri()


def floor_of(timing: dict[str, Any]) -> dict[str, Any]:
    """The same times as those of a plain copy."""
    answer = ("expected", "answer", "query", "paths")
    kept = {name: value for name, value in timing.items() if name not in answer}
    return kept | {"kind": "floor", "moved": {"unit": "bytes", "sent": 1, "arrived": 1}}


def test_choices_go_into_the_address_and_come_back(browser: Any, url: str) -> None:
    """Reader, metric and struck-out query are in the link; opening the link restores them."""
    visit = Visit(browser, url)
    page = visit.page
    mean = page.locator("#query-table tfoot td").nth(1)
    before = mean.get_attribute("data-mean")
    page.get_by_role("button", name="pyarrow", exact=True).click()
    page.locator('[data-key="metric-base"]').click()
    page.locator('[data-key="strike-tpch/q06"]').click()

    link = page.url
    assert "metric=base" in link
    assert "struck=q06" in link
    assert "pyarrow" not in link
    assert mean.get_attribute("data-mean") != before
    assert "Geometric mean of 21" in page.locator("#query-table tfoot").inner_text()
    after = mean.get_attribute("data-mean")
    visit.check_quiet()

    again = Visit(browser, link)
    restored = again.page
    chip = restored.get_by_role("button", name="pyarrow", exact=True)
    assert chip.get_attribute("aria-pressed") == "false"
    metric = restored.locator('[data-key="metric-base"]')
    assert metric.get_attribute("aria-pressed") == "true"
    assert restored.locator("#query-table tr.struck").count() == 1
    assert restored.locator("#query-table tfoot td").nth(1).get_attribute("data-mean") == after
    again.check_quiet()


def test_geometric_mean_is_the_one_stated(browser: Any, tmp_path: Path) -> None:
    """Two readers, two queries: factors (1 ms + t) / (1 ms + best), their geometric mean."""
    records = []
    for reader, times in (("auto", (0.009, 0.039)), ("merge", (0.019, 0.019))):
        record = make_record(reader)
        chosen = [
            t
            for t in record["timings"]
            if t["case"] in ("tpch/q01", "tpch/q02") and t["over"]["scale"] == 1
        ]
        for timing in chosen:
            timing["hot"] = [times[timing["case"] == "tpch/q02"]]
            timing["cpu"] = [1.0]
        records.append(record | {"timings": chosen})
    page = Visit(browser, site_of(tmp_path, *records)).page

    means = page.locator("#query-table tfoot td")
    assert means.nth(0).get_attribute("data-mean") == f"{(1 * 2) ** 0.5:.6f}"
    assert means.nth(1).get_attribute("data-mean") == f"{(2 * 1) ** 0.5:.6f}"


def test_stale_reader_is_shown_but_never_best(browser: Any, url: str) -> None:
    """Who reads base files alone skips the work of merging: said, not praised."""
    visit = Visit(browser, url + "#scale=1&ratio=50&readers=auto,native")
    row = visit.page.locator("#query-table tbody tr").first

    assert row.locator("td.best").count() == 1
    assert "stale" in row.locator("td").nth(1).inner_text()
    assert visit.page.locator("#query-table tfoot td").nth(1).inner_text().endswith("stale")
    visit.check_quiet()


def test_wrong_and_missing_results_are_visible(browser: Any, url: str) -> None:
    """Red for wrong, grey for unavailable, with reasons; and in the times table no time."""
    visit = Visit(browser, url + "#scale=1&ratio=50")
    page = visit.page

    assert page.locator("#verdict td.wrong").count() > 0
    assert page.locator("#conformance td.k-broken").count() > 0
    assert page.locator("#verdict td.off").first.inner_text() == "unavailable"
    row = page.locator("#query-table tr", has=page.locator('[data-key="strike-tpch/q13"]'))
    assert "wrong" in row.locator("td.bad").inner_text()
    assert "1 missing" in page.locator("#query-table tfoot").inner_text()
    visit.check_quiet()


def test_a_cell_opens_its_cases(browser: Any, url: str) -> None:
    """A cell shows its cases with words and reasons, a rule shows everybody's; again closes it."""
    visit = Visit(browser, url)
    page = visit.page
    wrong = page.locator("#matrix-scan td.k-wrong button")
    wrong.click()
    cases = page.locator("#cases-scan")

    assert wrong.get_attribute("aria-expanded") == "true"
    assert cases.locator("dt").count() == 3
    assert "2 rows expected, 3 read" in cases.locator("dd").first.inner_text()
    assert cases.locator(".word.k-wrong").count() == 1
    wrong.click()
    assert cases.locator("dt").count() == 0
    page.locator("#matrix-scan th button", has_text="deletes").click()
    assert cases.locator("dd p").count() == 9
    visit.check_quiet()


def test_every_number_links_to_an_existing_record(browser: Any, url: str) -> None:
    """Each link in a table leads to a copy of a record beside the page."""
    visit = Visit(browser, url)
    hrefs = visit.page.eval_on_selector_all("main td a", "all => all.map((a) => a.href)")

    assert len(hrefs) > 100
    for href in set(hrefs):
        assert Path(href.removeprefix("file://")).is_file()


def test_hostile_text_is_shown_as_text(browser: Any, tmp_path: Path) -> None:
    """Markup in names, cases, reasons and versions stays text, in tables and in the chart."""
    record = make_record("auto")
    record["implementation"] |= {"name": HOSTILE, "version": HOSTILE}
    record["machine"]["cpu"] = HOSTILE
    record["versions"] = {"__proto__": HOSTILE, HOSTILE: HOSTILE}
    conformance = {"seam": "scan", "seconds": 1, "outcomes": {"fail": {HOSTILE: [HOSTILE]}}}
    conformance["reasons"] = {f"{HOSTILE}/{HOSTILE}": HOSTILE}
    record["conformance"] = [conformance]
    record["timings"].append({**record["timings"][1], "case": HOSTILE, "paths": {HOSTILE: 1}})
    visit = Visit(browser, site_of(tmp_path, record))

    assert visit.page.title() != "broken"
    assert visit.page.locator("main img, main u").count() == 0
    assert visit.page.locator("#curve .legendtext").first.text_content() == HOSTILE
    assert HOSTILE in visit.page.locator("#controls").inner_text()
    visit.check_quiet()


def test_page_without_results_says_how_to_get_some(browser: Any, tmp_path: Path) -> None:
    """An empty page names the command that fills it."""
    visit = Visit(browser, site_of(tmp_path))

    assert "make bench" in visit.page.locator("#empty").inner_text()
    assert visit.page.locator("section.card:visible").count() == 0
    visit.check_quiet()


def test_mangled_address_shows_the_page_anyway(browser: Any, url: str) -> None:
    """Choices that do not exist fall back; a broken escape does not stop the page."""
    visit = Visit(browser, url + "#run=none&ratio=x&struck=%25zz&readers=auto,%25zz&axis=<b>")

    assert visit.page.locator("#query-table tbody tr").count() == 22
    visit.check_quiet()


def test_serde_section_appears_only_with_such_cases(browser: Any, url: str, tmp_path: Path) -> None:
    """Other seams get their own tables once records have their cases."""
    record = make_record("auto")
    record["timings"] += [
        record["timings"][0] | {"case": f"serde/page/{n}", "hot": [1e-5, 2e-5], "cpu": [1e-5] * 2}
        for n in ("int", "string")
    ]

    assert Visit(browser, url).page.locator("#seams section").count() == 0
    visit = Visit(browser, site_of(tmp_path, record))
    assert visit.page.locator("#seam-serde tbody tr").count() == 2
    visit.check_quiet()


def test_throughput_is_shown_beside_the_copy(browser: Any, tmp_path: Path) -> None:
    """Newer runs of another seam leave the scans in place; rates stand beside the copy's."""
    records = [make_record("auto")]
    for name, seconds in (("ours", 2e-3), ("memcpy", 5e-4)):
        record = make_record("auto", "throughput")
        record["implementation"] |= {"name": name}
        record["run"] |= {"started_utc": "2026-11-21T10:15:00Z"}
        timing = record["timings"][0] | {"case": "serde/presto/serialize/4096"}
        record["timings"] = [timing | {"hot": [seconds] * 3, "cpu": [1] * 3, "bytes": 10**6}]
        if name == "memcpy":
            record["timings"] = [floor_of(one) for one in record["timings"]]
        records.append(record)
    visit = Visit(browser, site_of(tmp_path, *records))

    assert visit.page.locator("#query-table tbody tr").count() == 22
    cells = visit.page.locator("#seam-serde tbody td").all_inner_texts()
    assert any("0.5 GB/s" in cell and "25 % of the copy" in cell for cell in cells)
    assert any("2 GB/s" in cell and "copy" not in cell for cell in cells)
    visit.check_quiet()


@pytest.mark.parametrize(("day", "shown"), [("20", "widerun"), ("21", "narrow0")])
def test_page_opens_with_the_widest_run_of_the_newest_day(
    browser: Any, tmp_path: Path, day: str, shown: str
) -> None:
    """A later run of one reader hides an earlier one of more only when it is of another day."""
    records = [make_record("auto", "widerun"), make_record("native", "widerun")]
    records.append(make_record("auto", "narrow0"))
    records[-1]["run"] |= {"started_utc": f"2026-11-{day}T22:00:00Z"}
    visit = Visit(browser, site_of(tmp_path, *records))

    assert visit.page.locator("#controls select").first.input_value() == shown
    visit.check_quiet()


def test_plans_of_workers_show_who_wins_from_which_chunk_size_on(
    browser: Any, tmp_path: Path
) -> None:
    """A row for each chunk size, a column for each way; turning points and floor are in words."""
    record = make_record("auto")
    timing = record["timings"][0] | {"bytes": 10**6, "peak_bytes": 2**28}
    found = {("pass-through/none", 64): 4e-3, ("sockets/presto", 64): 1e-3}
    found |= {("pass-through/none", 4096): 1e-3, ("sockets/presto", 4096): 5e-3}
    found |= {("copy/unix", 4096): 5e-4}
    timings = [
        timing
        | {"case": f"exchange-workers/shuffle/{way}/2/{rows}", "hot": [s] * 3, "cpu": [s] * 3}
        for (way, rows), s in found.items()
    ]
    record["timings"] = [*timings[:-1], floor_of(timings[-1])]
    visit = Visit(browser, site_of(tmp_path, record))

    section = visit.page.locator("#seam-exchange-workers")
    assert section.locator("tbody tr").count() == 2
    words = section.locator("ul.note").inner_text()
    assert "sockets presto from 64 rows on; " in words
    assert "pass-through from 4096 rows on" in words
    told = section.locator("tbody").inner_text()
    assert "256 MiB resident" in told
    assert "10 \N{MULTIPLICATION SIGN} the copy" in told
    assert section.locator("thead th").count() == 3
    visit.check_quiet()


@pytest.mark.parametrize(("scheme", "width"), SIZES)
def test_page_fits_its_window(
    browser: Any, url: str, tmp_path: Path, scheme: str, width: int
) -> None:
    """No sideways scrolling of the page, light or dark, wide or narrow; the charts are drawn."""
    visit = Visit(browser, url, scheme, width)
    page = visit.page

    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#curve .chart .scatterlayer .trace").count() > 0
    shot = tmp_path / f"page-{scheme}-{width}.png"
    page.screenshot(path=shot, full_page=True)
    assert shot.stat().st_size > 50_000
    visit.check_quiet()
