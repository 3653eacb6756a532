"""Write a report of each defect: the case, what the documents say, expected and found rows.

Usage: `python -m seambench_suites.findings docs/findings` asks every version again and writes the
reports (`--only NAME ...`: these alone, and the list of all). `--again [NAME ...]` in place of the
folder runs the commands that stand in them, as whoever reads them would, each peer in an
environment made anew; it ends with 1 if one shows nothing.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from seambench.conformance.load import load_cases
from seambench.conformance.run import Run
from seambench.contracts.explain import ShownRows
from seambench.contracts.outcomes import Outcome
from seambench.contracts.registry import find_seam
from seambench.contracts.seam import Case

__all__ = ["Finding", "main", "read_findings"]

_WRONG = ("fail", "xfail", "error", "crash")


@dataclass(frozen=True)
class Finding:
    """A defect of a peer.

    Attributes:
        name: of its file.
        title: one sentence.
        peer: name in the catalogue of peers.
        case: the smallest case that shows it.
        shows: versions in which it comes out.
        passes: versions in which it does not.
        documents: what the documents say.
        link: where.
        text: what is wrong, and what follows.
    """

    name: str
    title: str
    peer: str
    case: str
    shows: Sequence[str]
    passes: Sequence[str]
    documents: str
    link: str
    text: str

    @property
    def command(self) -> str:
        """What reproduces it in the newest version that has it."""
        seam = self.case.partition("/")[0]
        name = f"{self.peer}@{self.shows[-1]}"
        return f"seambench check --seam {seam} --impl {name} --case {self.case}"


def read_findings() -> list[Finding]:
    """What the data file holds, in its order."""
    text = (Path(__file__).with_name("findings.toml")).read_text(encoding="utf-8")
    return [Finding(**entry) for entry in tomllib.loads(text)["finding"]]


def main() -> None:
    """Ask again, and write the reports; or run their commands."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("folder", type=Path, nargs="?")
    what.add_argument("--again", nargs="*", metavar="NAME", help="run the commands (of these)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="write these reports alone")
    args = parser.parse_args()
    if args.again is not None:
        sys.exit(_run_commands(args.again))
    folder: Path = args.folder
    folder.mkdir(parents=True, exist_ok=True)
    findings = read_findings()
    chosen = [one for one in findings if not args.only or one.name in args.only]
    seams = sorted({finding.case.partition("/")[0] for finding in chosen})
    cases = {case.id: case for seam in seams for case in load_cases(seam)}
    wrong: list[str] = []
    for finding in chosen:
        seen = _asked_again(finding)
        wrong += _not_as_told(finding, seen)
        report = "\n".join(_report(finding, cases[finding.case], seen))
        (folder / f"{finding.name}.md").write_text(f"{report}\n", encoding="utf-8")
    (folder / "README.md").write_text("\n".join(_index(findings)) + "\n", encoding="utf-8")
    for line in wrong:
        sys.stderr.write(f"{line}\n")
    sys.exit(bool(wrong))


def _run_commands(names: Sequence[str]) -> int:
    """Run commands with an empty cache of environments; 1 if one shows no defect."""
    silent = 0
    with tempfile.TemporaryDirectory(prefix="seambench-findings-") as empty:
        # Downloads may come from uv's own cache.
        uv = os.environ.get("UV_CACHE_DIR", str(Path("~/.cache/uv").expanduser()))
        environment = os.environ | {"XDG_CACHE_HOME": empty, "UV_CACHE_DIR": uv}
        for finding in read_findings():
            if names and finding.name not in names:
                continue
            command = [sys.executable, "-m", "seambench.cli", *finding.command.split()[1:]]
            done = subprocess.run(
                command, cwd=empty, env=environment, capture_output=True, text=True, check=False
            )
            # Known failures are no failures of a check; it says `xfail` of them.
            shown = any(line.startswith(_WRONG) for line in done.stdout.splitlines())
            silent += not shown
            sys.stdout.write(f"{'shown' if shown else 'NOT SHOWN'}: {finding.command}\n")
            sys.stdout.flush()
    return int(silent > 0)


def _asked_again(finding: Finding) -> Mapping[str, Outcome]:
    versions = [*finding.shows, *finding.passes]
    names = [f"{finding.peer}@{version}" for version in versions]
    run = Run(finding.case.partition("/")[0], names, patterns=[finding.case])
    # A file of known failures may name other cases, which are no part of this.
    outcomes = {one.implementation: one for one in run.check() if one.case == finding.case}
    return {version: outcomes[f"{finding.peer}@{version}"] for version in versions}


def _not_as_told(finding: Finding, seen: Mapping[str, Outcome]) -> Iterator[str]:
    for version, one in seen.items():
        if (one.outcome in _WRONG) != (version in finding.shows):
            yield f"{finding.name}: {version} ends in {one.outcome}: {one.reason}"


def _report(finding: Finding, case: Case, seen: Mapping[str, Outcome]) -> Iterator[str]:
    about = find_seam(case.seam).explain(case)
    shown = seen[finding.shows[-1]]
    yield f"# {finding.title}\n"
    yield f"`{finding.peer}`, versions {', '.join(finding.shows)}"
    yield (
        f"(not in {', '.join(finding.passes)}).\n"
        if finding.passes
        else "(no version without it known).\n"
    )
    yield f"{finding.text}\n"
    yield f"**What the documents say.** {finding.documents} <{finding.link}>\n"
    yield f"**The case.** `{case.id}`: {case.requirement}.\n"
    for number, step in enumerate(about.life, 1):
        yield f"{number}. {step.title}" + (f" of {len(step.rows.rows)} rows" if step.rows else "")
    asked = ", ".join(f"{name} {value}" for name, value in about.request.items())
    yield f"\nAsked: {asked}.\n"
    yield "**Expected.**\n"
    if not about.expected:
        what = about.outcome or "every row, and its values"
        yield f"{what[0].upper()}{what[1:]}.\n"
    for rows in about.expected[:1]:
        yield from _table(rows)
    yield f"**Found** by {finding.peer} {shown.version}.\n"
    yield from _found(shown)
    yield "**Again**, in an environment that is made for it:\n"
    yield f"    {finding.command}\n"
    yield f"`seambench explain {case.id}` tells the table's life row by row."


def _found(shown: Outcome) -> Iterator[str]:
    rows = shown.difference
    if rows is None:
        yield (
            "An answer, without a word.\n"
            if "nothing was refused" in shown.reason
            else (f"{shown.reason}\n")
        )
        return
    if rows.missing:
        yield f"Missing, {rows.missing_rows} in all:\n"
        yield from _table(ShownRows(rows.columns, rows.missing))
    if rows.unexpected:
        yield f"In their place, {rows.unexpected_rows} in all:\n"
        yield from _table(ShownRows(rows.columns, rows.unexpected))


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


def _index(findings: Sequence[Finding]) -> Iterator[str]:
    yield "# What the suites found in other systems\n"
    yield "One report for each defect, the most harmful first; each has the smallest case, what"
    yield "the documents say, expected and found rows, and the command that shows it. A refusal by"
    yield "name is no defect here; rules that have defenders on both sides are left out.\n"
    yield "    python -m seambench_suites.findings docs/findings\n"
    yield "asks every version again and writes the pages from `suites/seambench_suites/findings`;"
    yield "`--again` in place of the folder runs the commands in environments made anew.\n"
    yield "| system | versions | defect |"
    yield "|---|---|---|"
    for one in findings:
        yield f"| {one.peer} | {', '.join(one.shows)} | [{one.title}]({one.name}.md) |"


if __name__ == "__main__":
    main()
