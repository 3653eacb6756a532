"""`seambench kernels`: what else is timed than readers, steps of seams and exchanges."""

from __future__ import annotations

import statistics
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from seambase.command.terminal import parse_list
from seambase.errors import UsageError
from seambench.cli.shared.common import (
    NOTE,
    Results,
    Samples,
    Wait,
    error_console,
    plain_table,
    tell_records,
    typed,
)

if TYPE_CHECKING:
    from rich.console import Console

    from seambench.records.model import Record


def kernels(
    module: Annotated[
        str, typer.Argument(help="Module that offers them, e.g. seambench_suites.bench.planning.")
    ],
    only: Annotated[
        str | None, typer.Option(help="Texts between commas; only kernels that hold one are timed.")
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", help="NAME=VALUE of what the module takes, repeatable."),
    ] = None,
    samples: Samples = 7,
    wait: Wait = 0.0,
    as_json: Annotated[bool, typer.Option("--json", help="The record as JSON.")] = False,
    results: Results = Path("results"),
) -> None:
    """Time the kernels of a module in turns, each in a process of its own.

    What comes of each is checked before its time counts. `seambench bars` judges the records.
    """
    from seambench.bench.kernels import find_kernels, measure_kernels
    from seambench.cli.shared.progress import Shown

    settings = {}
    for one in setting or ():
        name, equals, value = one.partition("=")
        if not equals:
            raise UsageError(f"--set {one!r} is no NAME=VALUE")
        settings[name] = value
    with Shown(error_console()) as shown:
        record = measure_kernels(
            find_kernels(module),
            settings,
            only=parse_list(only) or (),
            samples=samples,
            wait_seconds=wait,
            command=typed(),
            listener=shown,
        )
    show = partial(_print_table, record)
    raise typer.Exit(tell_records([record], results, show, as_json=as_json))


def _print_table(record: Record, out: Console) -> None:
    """A row for each: medians, and what they make of the bytes."""
    several = len({timing.over.name for timing in record.timings}) > 1
    table = plain_table(["kernel"], ["ms", "CPU ms", "GB/s"])
    for timing in record.timings:
        name = f"{timing.case} on {timing.over.name}" if several else timing.case
        if not timing.hot:
            table.add_row(escape(name), f"[red]{timing.outcome}[/red]", "", "")
            continue
        wall, cpu = statistics.median(timing.hot), statistics.median(timing.cpu)
        rate = "" if timing.bytes is None else f"{timing.bytes / wall / 1e9:.2f}"
        table.add_row(escape(name), f"{wall * 1e3:.2f}", f"{cpu * 1e3:.2f}", rate)
    out.print(table)
    out.print(f"[dim]Medians. {NOTE}[/dim]")
