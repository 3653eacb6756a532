"""`seambench explain`: a case in full."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer

from seambase.errors import UsageError
from seambench.cli.shared.common import JSON_SCHEMA, console, plain_text, print_json

__all__ = ["explain"]


def explain(
    case: Annotated[str, typer.Argument(help="Id of a case, as `seambench list cases` has it.")],
    impl: Annotated[
        str, typer.Option(help="Implementation for the command that is shown.")
    ] = "cmd:./reader",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Tell a case in full: rule, source, the table's life, request, rows, the command to run it."""
    from seambench.conformance.explain import explain_case
    from seambench.conformance.load import load_cases

    seam = case.partition("/")[0]
    known = {one.id: one for one in load_cases(seam)}
    if case not in known:
        from difflib import get_close_matches

        near = get_close_matches(case, known, n=1)
        hint = f"; did you mean {near[0]}" if near else ""
        raise UsageError(f"the {seam} seam has no case {case!r}{hint}")
    found = known[case]
    sections = explain_case(found, impl)
    if as_json:
        told = [dataclasses.asdict(section) for section in sections]
        print_json({"schema": JSON_SCHEMA, "case": case, "level": found.level, "sections": told})
        return
    out = console()
    out.print(f"[bold]{case}[/bold]", soft_wrap=True)
    for section in sections:
        out.print(f"\n[bold]{section.title}[/bold]")
        for line in section.lines:
            out.print(f"  {plain_text(line)}", markup=False, soft_wrap=True)
