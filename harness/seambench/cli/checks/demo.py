"""`seambench demo`: what a verdict is, in ten seconds, without Java, data or one's own reader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import typer
from rich.markup import escape

from seambase.errors import UnavailableError
from seambench.cli.shared.common import console, error_console

if TYPE_CHECKING:
    from seambench.contracts.outcomes import Outcome
    from seambench.contracts.seam import Case, Demo


def demo() -> None:
    """Put a good and a broken reader to a small table; no Java, no data, ten seconds."""
    from seambench.conformance.run import Run
    from seambench.contracts import registry

    announced = registry.grouped("seambench.demo")
    if not announced:
        raise UnavailableError("no installed package brings a demo (group seambench.demo)")
    shown: Demo = registry.load(next(iter(announced.values()))[0], "demo")
    both = [Run(shown.seam, [name], patterns=[shown.cases]) for name in (shown.good, shown.broken)]
    with error_console().status("asking both readers"), ThreadPoolExecutor(2) as pool:
        good, broken = pool.map(lambda run: list(run.check()), both)
    case = next(case for case in both[0].cases() if case.id == shown.shown)
    _tell(shown, case, [*good, *broken])
    # Whoever has the judge alone lacks the good reader, and is told what brings it.
    if any(one.outcome not in ("pass", "unavailable") for one in good) or not any(
        one.failed for one in broken
    ):
        raise typer.Exit(1)


def _tell(shown: Demo, case: Case, seen: Sequence[Outcome]) -> None:
    """The table, both verdicts, one difference, and where to go from here."""
    from seambench.cli.checks.shown import again, difference_lines
    from seambench.contracts.registry import find_seam

    out = console()
    about = find_seam(shown.seam).explain(case)
    out.print(f"{', '.join(about.sources)}:", markup=False, soft_wrap=True)
    out.print(f"  {', '.join(map(str, about.life))}\n", markup=False, soft_wrap=True)
    for word, name in (("good", shown.good), ("broken", shown.broken)):
        counts = Counter(o.outcome for o in seen if o.implementation == name)
        tally = ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common())
        colour = "red" if counts["fail"] else "green"
        out.print(f"[bold]{word:6}[/]  [{colour}]{tally}[/]  {name}", soft_wrap=True)
    absent = next((one for one in seen if one.outcome == "unavailable"), None)
    if absent is not None:
        out.print(f"[dim]{escape(absent.reason or '')}[/]", soft_wrap=True)
    wrong = next(o for o in seen if o.case == shown.shown and o.implementation == shown.broken)
    out.print(f"\nwhat is wrong with it: {shown.remark}\n{case.id}: {case.requirement}")
    for line in [] if wrong.difference is None else difference_lines(wrong.difference):
        out.print(line, soft_wrap=True)
    out.print("    [dim](- must come, + came)[/]\n")
    for what, command in (
        ("again, alone", again(wrong)),
        ("in full", f"seambench explain {case.id}"),
        ("your own", "seambench new scanner --lang python"),
    ):
        out.print(f"{what:13} {command}", markup=False, soft_wrap=True)
