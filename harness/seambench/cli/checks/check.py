"""`seambench check`: run the conformance cases of a seam."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seambase.errors import SeambenchError, UsageError
from seambench.cli.shared.common import JSON_SCHEMA, Results, console, error_console, print_json
from seambench.cli.shared.recording import recording, write_outcomes

if TYPE_CHECKING:
    from seambench.contracts.outcomes import Outcome

__all__ = ["check"]

_COLOURS = {"pass": "green", "xfail": "yellow", "not-offered": "dim", "unavailable": "yellow"}


def check(
    seam: Annotated[str, typer.Option(help="A seam of `seambench list seams`.")] = "scan",
    impl: Annotated[
        list[str] | None,
        typer.Option(help="Implementation, repeatable (default: all but variants)."),
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
    extra: Annotated[
        str | None,
        typer.Option(
            "--pass",
            help="An extra pass in place of the check: `invariants` (scan: every case asked in "
            "every way, and readers compared), `matrix` (serde: everybody's bytes read by "
            "everybody).",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line.")] = False,
    record: Annotated[
        bool,
        typer.Option(
            "--record", help="Write a record of each implementation's outcomes, or of its pairs'."
        ),
    ] = False,
    results: Results = Path("results"),
) -> None:
    """Run the conformance cases of a seam; exit code 0 only when nothing failed."""
    from seambench.conformance.run import Run
    from seambench.contracts import registry

    names = impl or registry.names(seam, without=("variant",))
    if not names:
        raise UsageError(f"no implementation of the {seam} seam is announced; name one with --impl")
    if against is not None:
        pairs = registry.find_seam(seam).pair_names
        names = [pair for name in names for pair in pairs(name, against)]
    run = Run(seam, names, golden, case, timeout, tuple(xfails or ()))
    outcomes = run.check() if extra is None else run.extra_pass(extra)
    recorded = recording() if record else None
    seen = _as_lines(outcomes) if as_json else _as_table(seam, outcomes)
    _require_verdicts(seen, names if impl else ())
    if recorded is not None:
        write_outcomes(recorded, seen if extra is None else _of_pairs(seen, extra), results)
    if any(outcome.failed for outcome in seen):
        raise typer.Exit(1)


def _of_pairs(seen: Sequence[Outcome], extra: str) -> list[Outcome]:
    """What an extra pass found about pairs; of one implementation alone the check itself tells.

    Raises:
        UsageError: it compares no pairs.
    """
    from seambench.contracts.registry import PAIR

    pairs = [one for one in seen if PAIR in one.implementation]
    if not pairs:
        raise UsageError(f"--record: the pass {extra} is about no pairs, so nothing was recorded")
    return pairs


def _require_verdicts(seen: Sequence[Outcome], named: Sequence[str]) -> None:
    """Each implementation that was named must have been judged in some case, else any.

    Raises:
        SeambenchError: no case was put to it.
    """
    judged = {name for outcome in seen if outcome.is_verdict for name in _sides(outcome)}
    silent = [name for name in named if name not in judged]
    if judged and not silent:
        return
    name = silent[0] if silent else "any implementation"
    reasons = Counter(outcome.reason for outcome in seen if not silent or name in _sides(outcome))
    [(reason, _)] = reasons.most_common(1)
    hint = "; a program or library states its capabilities in NAME.seambench.json beside it"
    door = hint if name.startswith(("cmd:", "lib:")) else ""
    raise SeambenchError(f"no case was put to {name}, so there is no verdict: {reason}{door}")


def _sides(outcome: Outcome) -> list[str]:
    """The implementation of an outcome, and those of which it is a pair."""
    return [outcome.implementation, *re.split(" -> | = ", outcome.implementation)]


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
    told: Counter[tuple[str, str, str]] = Counter()
    out = console()
    with error_console().status(f"checking the {seam} seam") as status:
        for outcome in outcomes:
            seen.append(outcome)
            status.update(f"{outcome.implementation}: {outcome.case}")
            same = (outcome.implementation, outcome.outcome, outcome.reason)
            told[same] += 1
            repeated = told[same] > 1 and not outcome.failed
            if outcome.outcome not in ("pass", "not-offered") and not repeated:
                colour = "red" if outcome.failed else _COLOURS.get(outcome.outcome, "yellow")
                out.print(
                    f"[{colour}]{_word(outcome)}[/] {escape(outcome.implementation)} "
                    f"{escape(outcome.case)}: {escape(outcome.reason)}",
                    soft_wrap=True,
                )
    for (name, word, reason), count in told.items():
        if count > 1 and word in ("xfail", "unavailable"):
            more = f"{word} {escape(name)}: {count - 1} more cases: {escape(reason)}"
            out.print(more, soft_wrap=True)
    words = [word for word, _ in Counter(map(_word, seen)).most_common()]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(f"{seam} seam")
    for word in words:
        table.add_column(word, justify="right")
    for name in dict.fromkeys(outcome.implementation for outcome in seen):
        counts = Counter(_word(o) for o in seen if o.implementation == name)
        table.add_row(escape(name), *(str(counts[word]) for word in words))
    out.print(table)
    return seen


def _word(outcome: Outcome) -> str:
    """The word of an outcome; a `should` that is not met has one of its own."""
    lenient = outcome.outcome == "fail" and not outcome.failed
    return "fail (should)" if lenient else outcome.outcome
