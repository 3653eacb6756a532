"""The reports of findings as Markdown: one page each, and the lists of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from seambench.contracts.findings import Finding
from seambench.contracts.outcomes import Outcome
from seambench.contracts.registry import find_seam
from seambench.contracts.seam import Case, ShownRows
from seambench_suites.findings.scripts import Ran


def report(
    finding: Finding, case: Case, seen: Mapping[str, Outcome], ran: Ran | None
) -> Iterator[str]:
    """The page of a finding: what came of its case by version of the peer, and of its script.

    A recorded one has no script; its page shows what was put to the engine.
    """
    yield f"# {finding.title}\n"
    label = finding.label[0].upper() + finding.label[1:]
    yield f"`{finding.peer}`, {_releases(finding)}. **{label}.**\n"
    yield f"{finding.text}\n"
    if finding.workaround:
        yield f"Until it is mended: {finding.workaround}\n"
    if finding.mended:
        yield f"Mended, and not released yet: <{finding.mended}>\n"
    if finding.upstream:
        yield f"Known there as {', '.join(f'<{link}>' for link in finding.upstream)}\n"
    yield from _the_script(finding, ran) if ran else ()
    yield "## The rule\n"
    yield f"> {finding.rule}\n\n<{finding.link}>\n"
    yield from _the_case(finding, case, seen) if ran else _the_record(finding, case)


def _the_script(finding: Finding, ran: Ran) -> Iterator[str]:
    yield "## Show it\n"
    release = finding.until
    installs = " ".join(f"'{one.replace('{version}', release)}'" for one in finding.requires)
    yield f"    pip install {installs}\n"
    if finding.attaches:
        yield f"In the folder of [{finding.name}.zip]({finding.name}.zip), which holds the table:\n"
    yield f"```python\n{finding.script.strip().replace('{version}', release)}\n```\n"
    yield f"With {release} it {_did(ran)}\n"
    yield _should(finding)


def _the_record(finding: Finding, case: Case) -> Iterator[str]:
    about = find_seam(case.seam).explain(case)
    yield "## The case\n"
    yield f"`{case.id}`: {case.requirement}.\n"
    yield f"```toml\n{about.definition}\n```\n"
    yield f"Recorded of {finding.peer} of {finding.until}: {finding.recorded}\n"
    yield f"    seambench check --finding {finding.name}\n"
    yield f"shows the record, and asks `{finding.right_by}` again, which does what must come; with"
    yield "`--impl` it asks whatever reads the engine's bytes, and ends with 1 while that is wrong."


def _releases(finding: Finding) -> str:
    if finding.recorded:
        return f"on record of {finding.until}"
    said = f"seen in releases {finding.since} to {finding.until}"
    if finding.since == finding.until:
        said = f"seen in release {finding.until}"
    right = [one for one in (finding.before, finding.after) if one]
    return said + (f" (not in {' and '.join(right)})" if right else "")


def _did(ran: Ran) -> str:
    printed = f"prints\n\n```\n{ran.printed}\n```\n" if ran.printed else ""
    ended = f"ends with\n\n```\n{ran.ended}\n```\n" if ran.ended and not ran.printed else ""
    return printed or ended or "prints nothing.\n"


def _should(finding: Finding) -> str:
    if not finding.right:
        return "It should end with an error.\n"
    return f"It should print\n\n```\n{finding.right.strip()}\n```\n"


def _the_case(finding: Finding, case: Case, seen: Mapping[str, Outcome]) -> Iterator[str]:
    about, shown = find_seam(case.seam).explain(case), seen[finding.shows[-1]]
    yield "## The case\n"
    yield f"`{case.id}`: {case.requirement}.\n"
    for number, step in enumerate(about.life, 1):
        yield f"{number}. {step}"
    if case.seam == "table-writer":
        yield f"```toml\n{about.definition}\n```\n"
    options = ", ".join(f"{name} {value}" for name, value in about.request.items())
    yield f"\nAsked: {options}. Expected:\n"
    if not about.expected:
        what = about.outcome or "every row, and its values"
        yield f"{what[0].upper()}{what[1:]}.\n"
    for rows in about.expected[:1]:
        yield from _table(rows)
    yield f"Found by {finding.peer} {shown.version}:\n"
    yield from _came_of(shown)
    yield f"    seambench check --finding {finding.name}\n"
    yield f"shows both again; `seambench explain {case.id}` tells the table's life row by row."


def _came_of(shown: Outcome) -> Iterator[str]:
    rows = shown.difference
    if rows is None:
        silent = "nothing was refused" in shown.reason
        yield "An answer, and no error.\n" if silent else f"{shown.reason}\n"
        return
    for title, some, count in (
        ("Missing", rows.missing, rows.missing_rows),
        ("In their place", rows.unexpected, rows.unexpected_rows),
    ):
        if some:
            yield f"{title}, {count} in all:\n"
            yield from _table(ShownRows(rows.columns, some))


def _table(rows: ShownRows) -> Iterator[str]:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    if not rows.rows:
        yield "No rows.\n"
        return
    yield line(rows.columns)
    yield line(["---"] * len(rows.columns))
    yield from map(line, rows.rows)
    yield ""


_LISTS = {
    "open": "Open in the newest release, the most harmful first",
    "mended on main": "Mended on the main branch, not released yet",
    "history": "History: the newest release is right",
}


def index(findings: Sequence[Finding]) -> Iterator[str]:
    """The lists of all findings."""
    yield "# What the suites found in other systems\n"
    yield "One report for each defect: a block that shows it with the system alone, the sentence of"
    yield "the specification, the releases that have it, expected and found rows. A refusal by"
    yield "name is no defect here; rules that have defenders on both sides are left out.\n"
    yield "    seambench check --finding NAME\n"
    yield "asks the system again, and ends with 1 while it is wrong. What was seen of an engine"
    yield "that no peer can ask stands on record; the command shows its bytes or steps, what came,"
    yield "and whether `--impl` does as it did.\n"
    yield "    python -m seambench_suites.findings docs/findings\n"
    yield "asks every version and runs every block again, and writes these pages from"
    yield "`suites/seambench_suites/findings`.\n"
    for word, title in _LISTS.items():
        listed = [one for one in findings if one.status == word]
        if not listed:
            continue
        yield f"## {title}\n"
        yield "| system | releases | defect | |"
        yield "|---|---|---|---|"
        for one in listed:
            releases = one.until if one.since in ("", one.until) else f"{one.since} to {one.until}"
            yield f"| {one.peer} | {releases} | [{one.title}]({one.name}.md) | {one.label} |"
        yield ""
