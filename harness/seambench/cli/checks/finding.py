"""`seambench check --finding NAME`: a reported defect shown again, or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from seambase.command.terminal import JSON_SCHEMA, plain_text, print_json
from seambase.errors import UnavailableError
from seambench.cli.checks.shown import difference_lines, row_lines
from seambench.cli.shared.common import console

if TYPE_CHECKING:
    from seambench.contracts.findings import Finding
    from seambench.contracts.outcomes import Outcome


def check_finding(name: str, implementation: str | None, *, as_json: bool) -> None:
    """Put the case of a finding to its peer; ends with 1 while the defect is there.

    Another implementation may be asked in place of the newest version that is known to have it. One
    that is on record alone is shown from there, and what does it right is asked.
    """
    from seambench.contracts.findings import find_finding
    from seambench.contracts.progress import Progress

    finding = find_finding(name)
    judged = implementation or finding.implementation
    with Progress(f"asking {judged}"):
        outcome = outcomes_of(finding, [judged])[judged]
    if outcome.outcome in ("unavailable", "not-offered"):
        raise UnavailableError(f"{judged}: {outcome.outcome}: {outcome.said}")
    shown = reproduced(outcome)
    if as_json:
        answer = {"schema": JSON_SCHEMA, "finding": name, "reproduced": shown}
        print_json(answer | outcome.to_json())
    else:
        _show(finding, outcome, shown=shown)
    raise typer.Exit(int(shown))


def outcomes_of(finding: Finding, implementations: Sequence[str]) -> dict[str, Outcome]:
    """What comes of a finding's case, by implementation."""
    from seambench.conformance.run import Run

    run = Run(finding.seam, implementations, patterns=[finding.case])
    # A file of known failures may name other cases, which are no part of this.
    return {one.implementation: one for one in run.check() if one.case == finding.case}


def reproduced(outcome: Outcome) -> bool:
    """Whether an outcome shows the defect, known as it is."""
    return outcome.outcome in ("xfail", "fail", "error", "timeout", "crash")


def _show(finding: Finding, outcome: Outcome, *, shown: bool) -> None:
    out = console()
    by = outcome.implementation
    word = "[red]REPRODUCED[/]" if shown else "[green]NOT REPRODUCED[/]"
    is_recorded = bool(finding.recorded) and by == finding.right_by and not shown
    if is_recorded:
        word, by = "[yellow]RECORDED[/]", f"{finding.peer} of {finding.until}"
    out.print(f"{word} {plain_text(by)}: {finding.title}", soft_wrap=True)
    if not shown and not is_recorded:
        return
    _show_question(finding)
    out.print("\n[bold]came[/]")
    if is_recorded:
        out.print(f"    {plain_text(finding.recorded)}", markup=False, soft_wrap=True)
        out.print(f"\n{finding.right_by} was asked now: right", markup=False)
    elif outcome.difference is None:
        out.print(f"    {plain_text(outcome.reason)}", markup=False, soft_wrap=True)
    else:
        for line in difference_lines(outcome.difference):
            out.print(line, soft_wrap=True)
    out.print(f"\n{finding.label}: {finding.link}", markup=False, soft_wrap=True)


def _show_question(finding: Finding) -> None:
    """What must come of the case; of a recorded finding its bytes or steps, too."""
    from seambench.conformance.load import find_case
    from seambench.contracts.registry import find_seam

    out = console()
    about = find_seam(finding.seam).explain(find_case(finding.case))
    if finding.recorded:
        out.print("\n[bold]asked[/]")
        for line in about.definition.splitlines():
            out.print(f"    {plain_text(line)}", markup=False, soft_wrap=True)
    out.print("\n[bold]must come[/]")
    if about.outcome or not about.expected:
        out.print(f"    {about.outcome or 'every row, and its values'}", markup=False)
    for rows in about.expected[:1]:
        for line in row_lines(rows):
            out.print(f" {plain_text(line)}", markup=False, soft_wrap=True)
