"""The pages in a real browser: they open from disk, react, and their addresses restore them."""

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from seambench.report import build
from seambench.report.audit_page import write_audit_page
from seambench.report.pages import PAGES
from seambench.seams.scan.audit.model import Audit
from seambench_tests.samples.report_records import make_record, make_results, write_record

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=\"document.title='broken'\"><u>bold</u>"
#: With something in every section, and hostile text wherever a table's own may stand.
AUDIT = Path(__file__).parents[1] / "samples" / "audit.json"
SIZES = [("light", 1280), ("dark", 360)]
NAMES = list(PAGES)
#: Pages that do more with a script; they say when they are drawn.
SCRIPTED = ("matrix", "cost", "queries")
#: Addresses that show what a script draws.
DRAWN = [
    "matrix.html#seam=scan&kind=wrong",
    "matrix.html#seam=scan&case=scan%2Fdeletes%2Flate&impl=hudi-rs%400.1.0",
]


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
        if any(f"/{name}.html" in url for name in SCRIPTED):
            self.page.wait_for_selector("body[data-drawn]")

    def check_quiet(self) -> None:
        """No error, no warning, and nothing fetched but files and inline images."""
        assert self.complaints == []
        assert [u for u in self.requests if not u.startswith(("file:", "data:"))] == []
        self.page.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Address of the folder of a site over all made-up runs."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "results").mkdir()
    return build(make_results(folder / "results"), folder / "site").parent.as_uri()


def site_of(tmp_path: Path, *records: dict[str, Any]) -> str:
    """Build a site over these records and return the address of its folder."""
    results = tmp_path / "results"
    results.mkdir()
    for record in records:
        write_record(results, record)
    return build(results, tmp_path / "site").parent.as_uri()


@pytest.mark.parametrize("name", NAMES + DRAWN)
def test_nobody_is_kept_out(browser: Any, site: str, name: str) -> None:
    """axe-core finds nothing serious, in light and in dark: contrast, names, roles, order."""
    visit = Visit(browser, f"{site}/{name if '.html' in name else f'{name}.html'}")
    check_accessible(visit)
    visit.check_quiet()


def check_accessible(visit: Visit) -> None:
    """Run axe-core over a page."""
    spec = importlib.util.find_spec("axe_playwright_python")
    if spec is None or spec.origin is None:
        pytest.skip("unavailable: no axe-playwright-python")
    visit.page.evaluate((Path(spec.origin).parent / "axe.min.js").read_text("utf-8"))
    # Without `preload` axe fetches no style sheet, which a page from disk may not.
    found = visit.page.evaluate("axe.run({preload: false})")["violations"]
    visit.page.emulate_media(color_scheme="dark")
    rules = "axe.run({preload: false, runOnly: ['color-contrast']})"
    found += visit.page.evaluate(rules)["violations"]
    serious = [
        (one["id"], [node["html"][:200] for node in one["nodes"][:3]])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    assert serious == []


@pytest.mark.parametrize(("scheme", "width"), SIZES)
def test_the_page_of_an_audit(browser: Any, tmp_path: Path, scheme: str, width: int) -> None:
    """It opens alone, shows text of the table as text, fits its window, and shuts nobody out."""
    page = tmp_path / "audit.html"
    write_audit_page(msgspec.json.decode(AUDIT.read_bytes(), type=Audit), page)
    visit = Visit(browser, page.as_uri(), scheme, width)
    titles = set(visit.page.locator("h2").all_inner_texts())
    assert titles >= {"The table", "Damage", "Layout", "Other readers", "What to do first"}
    assert visit.page.locator("main u").count() == 0
    assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    check_accessible(visit)
    visit.check_quiet()


@pytest.mark.parametrize(("scheme", "width"), SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_pages_fit_their_window(
    browser: Any, site: str, tmp_path: Path, name: str, scheme: str, width: int
) -> None:
    """No sideways scrolling, light or dark, wide or narrow; nothing is empty; all in a second."""
    visit = Visit(browser, f"{site}/{name}.html", scheme, width)
    times = [_load_milliseconds(visit)]
    for _ in range(4):
        if times[-1] >= 1000:  # a busy machine: the page itself is as quick as its best time
            visit.page.reload()
            times.append(_load_milliseconds(visit))
    assert min(times) < 1000
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    assert visit.page.locator(f'nav a[aria-current="page"][href="{name}.html"]').count() == 1
    shot = tmp_path / f"{name}-{scheme}-{width}.png"
    visit.page.screenshot(path=shot, full_page=True)
    assert shot.stat().st_size > 20_000
    visit.check_quiet()


def _load_milliseconds(visit: Visit) -> float:
    """From the start of a load until its end: style, script, pictures."""
    script = "performance.getEntriesByType('navigation')[0].loadEventEnd"
    return float(visit.page.evaluate(script))


def test_charts_have_lines_bands_and_links(browser: Any, site: str) -> None:
    """Each line has a point for each ratio, each point leads to its record and says what it is."""
    visit = Visit(browser, f"{site}/cost.html")
    figure = visit.page.locator("figure:visible")
    assert figure.count() == 1
    assert figure.locator("g.line").count() >= 5
    assert figure.locator("path.band").count() >= 5
    link = figure.locator("g.line a").first
    assert link.get_attribute("href").startswith("records/")
    assert " samples)" in link.locator("title").text_content()
    visit.check_quiet()


def test_choices_of_the_curves_go_into_the_address_and_come_back(browser: Any, site: str) -> None:
    """What, measure, axis and lines that were switched off are in the link."""
    visit = Visit(browser, f"{site}/cost.html")
    page = visit.page
    page.locator("select[name=what]").select_option("scan-q6")
    page.locator("select[name=measure]").select_option("memory")
    page.locator("figure:visible .lines button", has_text="seamkit").first.click()
    link = page.url
    visit.check_quiet()
    again = Visit(browser, link)
    figure = again.page.locator("figure:visible")
    assert figure.get_attribute("id") == "scan-q6-memory-ratio"
    pressed = figure.locator(".lines button", has_text="seamkit").first
    assert pressed.get_attribute("aria-pressed") == "false"
    assert figure.locator("g.line.off").count() == 1
    again.check_quiet()


def test_struck_out_queries_and_readers_change_the_means(browser: Any, site: str) -> None:
    """Both are in the link, opening it restores them, and one button brings all back."""
    visit = Visit(browser, f"{site}/queries.html")
    page = visit.page
    table = page.locator("table.queries:visible")
    means = table.locator("tfoot .ratio td b")
    before = means.all_inner_texts()
    table.get_by_role("button", name="q06").click()
    table.get_by_role("button", name="seamkit").click()
    link = page.url
    after = means.all_inner_texts()
    assert "struck=q06" in link
    assert "off=auto" in link
    assert after != before
    assert table.locator("tfoot .ratio th").inner_text() == "geometric mean of 21 ratios"
    assert table.locator("tbody tr.struck").count() == 1
    visit.check_quiet()
    again = Visit(browser, link)
    restored = again.page.locator("table.queries:visible")
    assert restored.locator("tfoot .ratio td b").all_inner_texts() == after
    again.page.get_by_role("button", name="All queries and readers").click()
    assert restored.locator("tfoot .ratio td b").all_inner_texts() == before
    again.check_quiet()


def test_script_and_page_work_out_the_same_ratios(browser: Any, site: str) -> None:
    """What stands in the HTML and what the script makes of it are one and the same rule."""
    with_script = Visit(browser, f"{site}/queries.html")
    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto(f"{site}/queries.html")

    def cells(page: Any) -> list[str]:
        found: list[str] = page.locator("table.queries").first.locator("td").all_inner_texts()
        return found

    assert cells(with_script.page) == cells(plain)
    assert plain.locator("form:visible").count() == 0
    context.close()
    with_script.check_quiet()


def test_filters_leave_the_cases_that_fit(browser: Any, site: str) -> None:
    """Outcome, implementation and text narrow the list; each is in the address."""
    visit = Visit(browser, f"{site}/matrix.html")
    page = visit.page
    page.get_by_label("Implementation").select_option("hudi-rs@0.1.0")
    page.get_by_label("Outcome").select_option("wrong")
    rows = page.locator("#cases tbody tr")
    rows.first.wait_for()
    assert rows.count() == 1
    assert "deletes/late" in rows.inner_text()
    page.get_by_label("Outcome").select_option("")
    page.get_by_label("Case, rule or reason").fill("signal 11")
    assert rows.all_inner_texts()[0].startswith("blocks/late")
    assert page.locator("#found").inner_text() == "1 of 12 cases"
    assert "text=signal+11" in page.url
    page.get_by_label("Case, rule or reason").fill("nothing is called so")
    assert rows.count() == 0
    visit.check_quiet()


def test_a_rule_is_one_folded_card_on_a_phone(browser: Any, site: str) -> None:
    """It says how it went; its cells come with a press, and the page is a fraction as long."""
    visit = Visit(browser, f"{site}/matrix.html", width=360)
    page = visit.page
    rows = page.locator("#seam-scan tbody tr")
    height = "document.documentElement.scrollHeight"
    folded = page.evaluate(height)
    assert page.locator("#seam-scan tbody td:visible").count() == 0
    assert "1 wrong" in page.locator("#seam-scan tbody").inner_text()
    for button in page.locator("#seam-scan .fold").all():
        button.click()
    assert page.locator("#seam-scan tbody td:visible").count() >= rows.count()
    assert page.locator('#seam-scan .fold[aria-expanded="true"]').count() == rows.count()
    assert page.evaluate(height) > folded
    visit.check_quiet()


def test_a_cell_opens_its_cases_and_a_case_its_page(browser: Any, site: str) -> None:
    """From the rule to the rows that differ, by keyboard, and back by the browser's button."""
    visit = Visit(browser, f"{site}/matrix.html")
    page = visit.page
    cell = page.locator("#seam-scan td.k-wrong button")
    cell.focus()
    page.keyboard.press("Enter")
    case = page.locator("#cases a.k-wrong")
    case.wait_for()
    case.focus()
    page.keyboard.press("Enter")
    title = page.locator("#case-title")
    title.wait_for()
    verdict = page.locator(".verdict.chosen")
    assert title.inner_text() == "scan/deletes/late"
    assert verdict.locator("tr.minus td").all_inner_texts()[1:] == ['"a"', "1"]
    assert verdict.locator("tr.plus").count() == 2
    assert "seambench check --seam scan --impl hudi-rs" in verdict.inner_text()
    assert "--case scan/deletes/late" in verdict.inner_text()
    assert verdict.get_by_role("link", name="record").get_attribute("href").startswith("records/")
    page.go_back()
    assert page.locator("#cases tbody tr").count() == 3
    page.go_back()
    page.locator("#seam-scan").wait_for()
    visit.check_quiet()


def test_an_installed_case_tells_its_life(browser: Any, tmp_path: Path) -> None:
    """Rule, steps with their rows, what is asked and what must come."""
    record = make_record("auto") | {"timings": []}
    outcomes = {"pass": {"scan/hudi/commit-v6": ["older-update-wins"]}}
    record["conformance"] = [{"seam": "scan", "seconds": 1, "outcomes": outcomes}]
    case = "scan/hudi/commit-v6/older-update-wins"
    visit = Visit(browser, f"{site_of(tmp_path, record)}/matrix.html#seam=scan&case={case}")
    said = visit.page.locator(".case").first.inner_text()
    assert "the last write wins though its ordering value is lower" in said
    assert said.index("bulk_insert") < said.index("upsert") < said.index("What must come")
    assert 'only rows are compared whose k is "older"' in said
    visit.check_quiet()


def test_every_link_of_what_scripts_draw_leads_to_a_file(browser: Any, site: str) -> None:
    """Also those that stand in no HTML."""
    for name in DRAWN:
        visit = Visit(browser, f"{site}/{name}")
        hrefs = visit.page.eval_on_selector_all("main a", "all => all.map((a) => a.href)")
        assert len(hrefs) > 3
        for href in {href.partition("#")[0] for href in hrefs}:
            assert Path(href.removeprefix("file://")).is_file()
        visit.check_quiet()


def test_hostile_text_is_shown_as_text(browser: Any, tmp_path: Path) -> None:
    """Markup in names, cases, reasons and rows stays text, in HTML and in what scripts draw."""
    record = make_record("auto")
    record["implementation"] |= {"name": HOSTILE, "version": HOSTILE}
    record["machine"]["cpu"] = HOSTILE
    outcomes = {"fail": {f"scan/{HOSTILE}": [HOSTILE]}}
    case = f"scan/{HOSTILE}/{HOSTILE}"
    rows = {"columns": [HOSTILE], "missing": [[HOSTILE]], "unexpected": []}
    rows |= {"missing_rows": 1, "unexpected_rows": 0}
    part = {"seam": "scan", "seconds": 1, "outcomes": outcomes, "reasons": {case: HOSTILE}}
    record["conformance"] = [part | {"differences": {case: rows}}]
    site = site_of(tmp_path, record)
    for name in ("index.html", "cost.html", "about.html", "queries.html", "matrix.html#kind=wrong"):
        visit = Visit(browser, f"{site}/{name}")
        assert visit.page.title() != "broken"
        assert visit.page.locator("main img[src=x], main u").count() == 0
        if "kind" in name:
            visit.page.locator("#cases a").last.click()
            visit.page.locator(".diff").wait_for()
            assert visit.page.locator(".diff code").first.inner_text() == HOSTILE
            assert visit.page.locator("main img[src=x], main u").count() == 0
        visit.check_quiet()


@pytest.mark.parametrize(
    "state", ["seam=none&kind=x", "seam=scan&case=none", "text=%zz", "off=%25zz"]
)
@pytest.mark.parametrize("name", ["matrix", "cost", "queries"])
def test_mangled_address_shows_the_page_anyway(
    browser: Any, site: str, name: str, state: str
) -> None:
    """Choices that do not exist fall back or are said; a broken escape does not stop the page."""
    visit = Visit(browser, f"{site}/{name}.html#{state}")
    assert visit.page.locator("main .card:visible").count() > 0
    visit.check_quiet()


def test_a_picture_of_the_first_page_is_one_command(browser: Any, tmp_path: Path) -> None:
    """It is a PNG of the page as it stands."""
    assert browser.is_connected()
    site = site_of(tmp_path, make_record("auto"))
    picture = tmp_path / "docs" / "page.png"
    # In a process of its own: two drivers of playwright do not share a thread.
    program = (
        "import sys; from pathlib import Path; from seambench.report import take_picture; "
        "take_picture(Path(sys.argv[1]), Path(sys.argv[2]))"
    )
    page = site.removeprefix("file://") + "/index.html"
    subprocess.run([sys.executable, "-c", program, page, str(picture)], check=True, timeout=120)
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
