"""`seambench lint`: what is wrong with a table by its format's specification, whoever reads it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seambase.command.terminal import JSON_SCHEMA, plain_text, print_json
from seambase.errors import UsageError
from seambase.wording import counted
from seambench.cli.shared.common import console, error_console

if TYPE_CHECKING:
    from seambench.contracts.formats import Fault, TableFormat

_MOST_OF_A_RULE = 5


def lint(
    table: Annotated[str, typer.Argument(help="Folder of the table, on this machine.")],
    format_: Annotated[
        str | None,
        typer.Option("--format", help="Format of the table (default: what its folder looks like)."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line.")] = False,
) -> None:
    """Hold a table's metadata against its specification and its data; nothing is changed.

    Every rule is named with where it stands (docs/lint.md). Ends with 1 where the table breaks a
    rule that must hold, 0 where it breaks none or one that should hold, 2 where there is no table.
    """
    # Of somebody unknown, `Path.expanduser` dies where this leaves `~` as it is.
    folder = Path(os.path.expanduser(table))  # noqa: PTH111
    format_of_folder = _format(folder, format_)
    with error_console().status(f"reading {plain_text(table)}"):
        faults = list(format_of_folder.faults(folder.resolve()))
    if as_json:
        for fault in faults:
            print_json({"schema": JSON_SCHEMA, **asdict(fault)})
    else:
        _show(faults, format_of_folder.title)
    if any(fault.level == "must" for fault in faults):
        raise typer.Exit(1)


def _format(folder: Path, name: str | None) -> TableFormat:
    from seambench.contracts.formats import announced_formats, recognised_formats, resolve_format

    if not folder.is_dir():
        raise UsageError(f"{folder}: there is no such folder on this machine")
    if name is not None:
        return resolve_format(name)
    known = recognised_formats(folder)
    with_rules = [one for one in known if one.lint]
    if len(with_rules) == 1:
        return with_rules[0]
    names = ", ".join(one.name for one in announced_formats() if one.lint)
    if len(with_rules) > 1:
        both = " and ".join(one.title for one in with_rules)
        raise UsageError(f"{folder} looks like {both}: say which by --format ({names})")
    looks = f"looks like {known[0].title}, which has no linter" if known else "is no table"
    raise UsageError(f"{folder} {looks}; there are linters of {names}")


def _show(faults: Sequence[Fault], title: str) -> None:
    """Faults by rule, worst first; of many that break one rule a few."""
    out = console()
    by_rule: dict[tuple[str, str, str], list[Fault]] = {}
    for fault in sorted(faults, key=lambda one: (one.level, one.rule)):
        by_rule.setdefault((fault.level, fault.rule, fault.source), []).append(fault)
    for (level, rule, source), same in by_rule.items():
        style = "red" if level == "must" else "yellow"
        out.print(level, style=style, end=" ")
        out.print(rule, style="bold", end="  ", markup=False)
        out.print(source, style="dim", markup=False, soft_wrap=True)
        for fault in same[:_MOST_OF_A_RULE]:
            line = f"    {plain_text(fault.place)}: {plain_text(fault.says)}"
            out.print(line, markup=False, soft_wrap=True)
        if (rest := len(same) - _MOST_OF_A_RULE) > 0:
            out.print(f"    and {counted(rest, 'place')} more (--json has all)", markup=False)
    levels = sorted(Counter(fault.level for fault in faults).items())
    said = ", ".join(f"{counted(count, 'fault')} of level {level}" for level, count in levels)
    out.print(said or f"{title}: no rule is broken", markup=False)
