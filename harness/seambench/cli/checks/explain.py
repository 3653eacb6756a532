"""`seambench explain`: a case in full."""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seambase.command.terminal import JSON_SCHEMA, plain_text, print_json
from seambase.errors import UsageError
from seambase.wording import did_you_mean
from seambench.cli.checks.shown import row_lines
from seambench.cli.shared import completing
from seambench.cli.shared.common import Results, console
from seambench.contracts.seam import Explanation, Step

if TYPE_CHECKING:
    from seambench.contracts.seam import Case


def explain(
    case: Annotated[
        str,
        typer.Argument(
            help="Id of a case, as `seambench list cases` has it.", autocompletion=completing.cases
        ),
    ],
    impl: Annotated[
        str, typer.Option(help="Implementation for the command that is shown.")
    ] = "cmd:./reader",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    results: Results = Path("results"),
) -> None:
    """Tell a case in full: rule, source, the table's life, request, rows, the command to run it.

    Where several answers are right, it says who was recorded to give which.
    """
    from seambench.contracts.registry import find_seam

    seam = case.partition("/")[0]
    known, chosen = _case_of(seam, case)
    explained = find_seam(seam).explain(known)
    request = find_seam(seam).asked(known)
    gave = _answers_of(case, results) if len(explained.expected) > 1 else {}
    alone = shlex.join(
        ["seambench", "check", "--seam", seam, *chosen, "--impl", impl, "--case", case]
    )
    if as_json:
        print_json(
            {
                "schema": JSON_SCHEMA,
                "case": case,
                "level": known.level,
                "needs": list(known.needs),
                **dataclasses.asdict(explained),
                "asked": json.loads(request) if request else None,
                "answers": gave,
                "command": alone,
            }
        )
        return
    out = console()
    out.print(f"[bold]{case}[/bold]  {known.level}", soft_wrap=True)
    sections = [
        ("rule", [explained.rule]),
        ("sources", [*explained.sources, *([explained.file] if explained.file else [])]),
        ("put to whoever states", [", ".join(known.needs) or "nothing"]),
        ("life of the table", list(_life(explained.life))),
        ("what is asked", [f"{name}: {value}" for name, value in explained.request.items()]),
        ("as a program gets it", [request] if request else []),
        ("what must come", list(_expected(explained, gave))),
        ("as it is written down", explained.definition.splitlines()),
        ("alone", [alone, f"{alone} --keep DIR    # leaves what it reads there"]),
    ]
    for title, lines in sections:
        if lines:
            out.print(f"\n[bold]{title}[/bold]")
        for line in lines:
            out.print(f"  {plain_text(line)}", markup=False, soft_wrap=True)


def _case_of(seam: str, id_: str) -> tuple[Case, list[str]]:
    """A case of a seam or of one of its extra passes, and the options that choose the pass."""
    from seambench.conformance.load import load_cases
    from seambench.contracts.registry import find_seam

    for case in load_cases(seam, begins=[id_]):
        if case.id == id_:
            return case, []
    known = {case.id: case for case in load_cases(seam)}
    for name in find_seam(seam).passes:
        for one in find_seam(seam).pass_cases(name, list(known.values())):
            if one.id == id_:
                return one, ["--pass", name]
    raise UsageError(f"the {seam} seam has no case {id_!r}{did_you_mean(id_, known)}")


def _life(steps: Sequence[Step]) -> Iterator[str]:
    for number, step in enumerate(steps, 1):
        yield f"{number}. {step.title}" + (f"  ({step.detail})" if step.detail else "")
        yield from ([] if step.rows is None else row_lines(step.rows))


def _answers_of(case: str, results: Path) -> dict[str, int]:
    """Which of several right answers each implementation was last recorded to give."""
    from seambench.report.views.load import load_records

    return {
        shown.label: part.answers[case]
        for shown in load_records(results).records
        for part in shown.record.conformance
        if case in part.answers
    }


def _expected(explained: Explanation, gave: Mapping[str, int]) -> Iterator[str]:
    if explained.outcome:
        yield explained.outcome
    for number, rows in enumerate(explained.expected):
        if number:
            yield "or as well:"
        yield from (row_lines(rows) if rows.rows else ["  no rows"])
        if came := [name for name, answer in gave.items() if answer == number + 1]:
            yield f"   recorded from {', '.join(came)}"
