"""`seambench check`: run the conformance cases of a seam."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seambase.errors import UsageError
from seambench.cli.common import JSON_SCHEMA, console, error_console, print_json

if TYPE_CHECKING:
    from seambench.contracts.outcomes import Outcome

__all__ = ["check"]

_COLOURS = {"pass": "green", "xfail": "yellow", "not-offered": "dim", "unavailable": "yellow"}


def check(
    seam: Annotated[str, typer.Option(help="column, scan, serde or exchange.")] = "scan",
    impl: Annotated[
        list[str] | None,
        typer.Option(help="Implementation, repeatable (default: all that are announced)."),
    ] = None,
    case: Annotated[
        list[str] | None,
        typer.Option(help="Pattern of case ids, repeatable: scan/*/event/*."),
    ] = None,
    golden: Annotated[
        Path | None, typer.Option(help="Another folder of golden files (column, serde).")
    ] = None,
    xfails: Annotated[
        list[Path] | None, typer.Option(help="File of known failures, repeatable.")
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            help="Exchange seam: the implementation that takes the other side; --impl are the "
            "senders first, then the receivers."
        ),
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds a case may take.")] = 60.0,
    invariants: Annotated[
        bool,
        typer.Option(
            "--invariants",
            help="Scan seam: ask every case in every way instead, and compare implementations.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line.")] = False,
) -> None:
    """Run the conformance cases of a seam; exit code 0 only when nothing failed."""
    from seambench.conformance.cases import load_cases
    from seambench.conformance.check import run_checks
    from seambench.contracts import registry
    from seambench.seams.scan.invariants import run_invariants

    names = impl or registry.names(seam)
    if not names and load_cases(seam):
        raise UsageError(f"no implementation of the {seam} seam is announced; name one with --impl")
    if against is not None:
        if seam != "exchange":
            raise UsageError("--against is for the exchange seam")
        from seambench.seams.exchange.pairs import names_of_pairs

        names = [pair for name in names for pair in names_of_pairs(name, against)]
    if invariants:
        if seam != "scan":
            raise UsageError("--invariants is for the scan seam")
        outcomes = run_invariants(names, cases=case, timeout=timeout)
    else:
        outcomes = run_checks(
            seam, names, golden=golden, cases=case, timeout=timeout, xfails=tuple(xfails or ())
        )
    seen = _as_lines(outcomes) if as_json else _as_table(seam, outcomes)
    if any(outcome.failed for outcome in seen):
        raise typer.Exit(1)


def _as_lines(outcomes: Iterable[Outcome]) -> list[Outcome]:
    seen = []
    for outcome in outcomes:
        print_json({"schema": JSON_SCHEMA, **outcome.to_json()})
        seen.append(outcome)
    return seen


def _as_table(seam: str, outcomes: Iterable[Outcome]) -> list[Outcome]:
    """A line per implementation with the count of each outcome, after what did not go well."""
    from rich.markup import escape
    from rich.table import Table

    seen: list[Outcome] = []
    out = console()
    with error_console().status(f"checking the {seam} seam") as status:
        for outcome in outcomes:
            seen.append(outcome)
            status.update(f"{outcome.implementation}: {outcome.case}")
            if outcome.outcome not in ("pass", "not-offered"):
                colour = "red" if outcome.failed else _COLOURS.get(outcome.outcome, "yellow")
                out.print(
                    f"[{colour}]{outcome.outcome}[/] {escape(outcome.implementation)} "
                    f"{escape(outcome.case)}: {escape(outcome.reason)}",
                    soft_wrap=True,
                )
    words = [word for word, _ in Counter(outcome.outcome for outcome in seen).most_common()]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(f"{seam} seam")
    for word in words:
        table.add_column(word, justify="right")
    for name in dict.fromkeys(outcome.implementation for outcome in seen):
        counts = Counter(o.outcome for o in seen if o.implementation == name)
        table.add_row(escape(name), *(str(counts[word]) for word in words))
    out.print(table if seen else f"the {seam} seam has no cases yet")
    return seen
