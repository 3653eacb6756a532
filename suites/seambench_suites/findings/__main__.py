"""Write a report of each defect: a block that shows it, the rule, expected and found rows.

Usage: `python -m seambench_suites.findings docs/findings` asks every version again, runs every
script, and writes the reports (`--only NAME ...`: these alone, and the list of all). `--again
[NAME ...]` in place of the folder runs the command of each report, as whoever reads it would, each
peer in an environment made anew; it ends with 1 if one shows nothing.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from seambench.cli.checks.finding import outcomes_of, reproduced
from seambench.conformance.load import find_case
from seambench.contracts.findings import Finding, read_findings
from seambench.contracts.outcomes import Outcome
from seambench.contracts.peers.catalogue import AT
from seambench_suites.findings.report import index, report
from seambench_suites.findings.scripts import not_as_stated, packed, run_script


def main() -> None:
    """Ask again, and write the reports; or run their commands."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("folder", type=Path, nargs="?")
    what.add_argument("--again", nargs="*", metavar="NAME", help="run the commands (of these)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="write these reports alone")
    args = parser.parse_args()
    findings = read_findings()
    if args.again is not None:
        sys.exit(_run_commands([one for one in findings if one.name in (args.again or [one.name])]))
    args.folder.mkdir(parents=True, exist_ok=True)
    wrong = []
    for finding in findings:
        if not args.only or finding.name in args.only:
            wrong += _write(finding, args.folder)
    (args.folder / "README.md").write_text("\n".join(index(findings)), encoding="utf-8")
    for line in wrong:
        sys.stderr.write(f"{line}\n")
    sys.exit(bool(wrong))


def _write(finding: Finding, folder: Path) -> list[str]:
    """Write the report of one; how it differs from what the data say."""
    seen = _outcomes_now(finding)
    ran = None if finding.recorded else run_script(finding, finding.until)
    text = "\n".join(report(finding, find_case(finding.case), seen, ran))
    (folder / f"{finding.name}.md").write_text(f"{text}\n", encoding="utf-8")
    if finding.attaches:
        (folder / f"{finding.name}.zip").write_bytes(packed(finding))
    sys.stderr.write(f"{finding.name}\n")
    wrong = [*_cases_not_as_stated(finding, seen)]
    return wrong if finding.recorded else [*wrong, *not_as_stated(finding)]


def _outcomes_now(finding: Finding) -> Mapping[str, Outcome]:
    if finding.recorded:
        return outcomes_of(finding, [finding.right_by])
    names = {
        version: f"{finding.peer}{AT}{version}" for version in (*finding.shows, *finding.passes)
    }
    outcomes = outcomes_of(finding, [*names.values()])
    return {version: outcomes[name] for version, name in names.items()}


def _cases_not_as_stated(finding: Finding, seen: Mapping[str, Outcome]) -> Iterator[str]:
    for version, one in seen.items():
        if reproduced(one) != (version in finding.shows):
            yield f"{finding.name}: {version} ends in {one.outcome}: {one.reason}"


def _run_commands(findings: Sequence[Finding]) -> int:
    """Run commands with an empty cache of environments; 1 if one shows no defect."""
    silent = 0
    with tempfile.TemporaryDirectory(prefix="seambench-findings-") as empty:
        # Downloads may come from uv's own cache.
        uv = os.environ.get("UV_CACHE_DIR", str(Path("~/.cache/uv").expanduser()))
        environment = os.environ | {"XDG_CACHE_HOME": empty, "UV_CACHE_DIR": uv}
        for finding in findings:
            command = [sys.executable, "-m", "seambench.cli", "check", "--finding", finding.name]
            done = subprocess.run(
                command, cwd=empty, env=environment, capture_output=True, text=True, check=False
            )
            expected = (0, "RECORDED") if finding.recorded else (1, "REPRODUCED")
            shown = (done.returncode, done.stdout.partition(" ")[0]) == expected
            silent += not shown
            sys.stdout.write(f"{'shown' if shown else 'NOT SHOWN'}: {finding.name}\n")
            sys.stdout.flush()
    return int(silent > 0)


if __name__ == "__main__":
    main()
