"""`seambench bars`: figures that must be met, judged from records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from seambench.cli.shared.common import Results, console


def bars(
    file: Annotated[
        Path | None, typer.Option("--file", help="Declaration of bars (default: the suite's).")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Bars whose name holds this text, repeatable.")
    ] = None,
    commands: Annotated[
        bool, typer.Option("--commands", help="Only print the commands that make the records.")
    ] = False,
    results: Results = Path("results"),
) -> None:
    """Hold each declared figure against the newest run that stands; 1 where one is missed.

    A run stands with seven samples of each, from a clean checkout on a quiet machine; a figure
    without one is told with the reason, and 2 is the exit code where there is none at all.
    """
    from rich.markup import escape
    from rich.table import Table

    from seambase.errors import UnavailableError, UsageError
    from seambench.contracts import registry
    from seambench.records.bars import judge, load_bars
    from seambench.report.views.load import load_records

    declared = load_bars(file or registry.resolve_suite("tpch").bars)
    chosen = [bar for bar in declared.bar if any(text in bar.name for text in only or [""])]
    if not chosen:
        names = "; ".join(bar.name for bar in declared.bar)
        raise UsageError(f"no bar has such a name; they are: {names}")
    if commands:
        for name in dict.fromkeys(bar.run for bar in chosen) if only else declared.run:
            typer.echo("\n".join([f"# {name}", *declared.run[name]]))
        return
    records = [shown.record for shown in load_records(results).records]
    judged = [judge(bar, records) for bar in chosen]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("bar", "figure", "interval", "wanted", "", "of"):
        table.add_column(name)
    for one in judged:
        value = "" if one.value is None else f"{one.value:.2f}"
        interval = f"{one.ratio.low:.2f} to {one.ratio.high:.2f}" if one.ratio else ""
        style = {"met": "green", "missed": "red"}.get(one.word, "dim")
        word = f"[{style}]{one.word}[/{style}]"
        limit, source = one.bar.limit, one.source or one.reason
        table.add_row(escape(one.bar.name), value, interval, limit, word, escape(source))
    console().print(table)
    if all(one.value is None for one in judged):
        raise UnavailableError(
            "no bar has a figure; `seambench bars --commands` says what makes them"
        )
    raise typer.Exit(1 if any(one.word == "missed" for one in judged) else 0)
