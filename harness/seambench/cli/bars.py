"""`seambench bars`: figures that must be met, judged from records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from seambench.cli.shared import completing
from seambench.cli.shared.common import DataFolder, Results


def bars(
    file: Annotated[
        Path | None, typer.Option("--file", help="Declaration of bars (default: the suite's).")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="A run, or bars whose name holds this text; repeatable.",
            autocompletion=completing.bars,
        ),
    ] = None,
    commands: Annotated[
        bool, typer.Option("--commands", help="Only print the commands that make the records.")
    ] = False,
    make: Annotated[
        bool,
        typer.Option(
            "--make", help="Run these commands, but for those whose figures stand for this code."
        ),
    ] = False,
    minutes: Annotated[
        float, typer.Option(min=0, help="With --make: after these no further run is begun.")
    ] = 600.0,
    runs: Annotated[
        int, typer.Option(min=1, help="With --make: how many times each figure is to stand.")
    ] = 1,
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="Hold each figure against that of a run before it of the same code; 1 where fewer "
            "than 95 of 100 lie within each other's intervals.",
        ),
    ] = False,
    folder: DataFolder = None,
    results: Results = Path("results"),
) -> None:
    """Hold each declared figure against the newest run that stands; 1 where one is missed.

    A run stands with seven samples of each, from a clean checkout on a quiet machine; a figure
    without one is shown with the reason, and 2 is the exit code where there is none at all.
    """
    from seambase.errors import UsageError
    from seambench.cli.stages.judging import show_again, show_judged
    from seambench.cli.stages.making import Making, make_records
    from seambench.contracts import registry
    from seambench.records.bars import load_bars
    from seambench.records.tables import load_tables
    from seambench.report.views.load import load_records

    suite = registry.resolve_suite("tpch")
    declared = load_bars(file or suite.bars)
    texts = only or [""]
    chosen = [
        bar
        for bar in declared.bar
        if any(t == bar.run if t in declared.run else t in bar.name for t in texts)
    ]
    of_chosen = {*texts, *(bar.run for bar in chosen)} if only else declared.run
    wanted = {name: lines for name, lines in declared.run.items() if name in of_chosen}
    if not wanted:
        names = "; ".join([*declared.run, *(bar.name for bar in declared.bar)])
        raise UsageError(f"no bar and no run has such a name; they are: {names}")
    if commands:
        for name, lines in wanted.items():
            typer.echo("\n".join([f"# {name}", *lines]))
        return
    if make:
        tables = () if file else load_tables(suite.tables)
        figures = {
            name: [
                *(bar for bar in declared.bar if bar.run == name),
                *(one.bar(row) for one in tables if one.run == name for row in one.row),
            ]
            for name in wanted
        }
        making = Making(wanted, figures, runs, minutes, folder, results)
        raise typer.Exit(make_records(making))
    records = [shown.record for shown in load_records(results).records]
    raise typer.Exit((show_again if again else show_judged)(chosen, records))
