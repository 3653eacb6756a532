"""`seambench throughput`: the steps of a seam against a plain copy of the same bytes."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from seambase.command.terminal import parse_list
from seambase.errors import UsageError
from seambench.cli.shared import completing
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
from seambench.cli.summary import blocks

if TYPE_CHECKING:
    from rich.console import Console

    from seambench.records.model import Record, Timing


def throughput(
    seam: Annotated[
        str,
        typer.Option(
            help="column, serde or exchange.", autocompletion=completing.seams, is_eager=True
        ),
    ],
    implementation: Annotated[
        list[str] | None,
        typer.Option(
            "--impl",
            help="Name from `seambench list`, or package.module:Class; repeatable "
            "(default: every installed one that offers steps).",
            autocompletion=completing.implementations,
        ),
    ] = None,
    rows: Annotated[
        list[int] | None, typer.Option(help="Rows of a batch, repeatable (default: 4096, 65536).")
    ] = None,
    columns: Annotated[
        str, typer.Option(help="all, fixed (without strings), or both with a comma.")
    ] = "all",
    only: Annotated[
        str | None, typer.Option(help="Words between commas; only steps that hold one are timed.")
    ] = None,
    samples: Samples = 15,
    wait: Wait = 0.0,
    as_json: Annotated[bool, typer.Option("--json", help="The records, one JSON value.")] = False,
    results: Results = Path("results"),
) -> None:
    """Time each step of a seam in one thread, beside a plain copy of the same bytes.

    Every implementation gets the same rows of lineitem; steps of one name take turns. Each result
    is read back and compared before its time counts. Derived from TPC-H, not comparable with
    published TPC-H results.
    """
    from seambench.bench.throughput import ThroughputOptions, measure_throughput
    from seambench.cli.shared.progress import Shown
    from seambench.contracts import registry
    from seambench.contracts.common import Staged

    names = implementation or [
        name for name in registry.names(seam) if isinstance(registry.resolve(seam, name), Staged)
    ]
    if not names:
        raise UsageError(f"no installed implementation of the {seam} seam offers steps to time")
    options = ThroughputOptions(
        seam=seam,
        implementations=tuple(dict.fromkeys(names)),
        rows=tuple(rows or ThroughputOptions.rows),
        columns=tuple(parse_list(columns) or ()),
        only=tuple(parse_list(only) or ()),
        samples=samples,
        wait_seconds=wait,
        command=typed(),
    )
    with Shown(error_console()) as shown:
        records = measure_throughput(options, shown)
    show = partial(_print_table, records)
    raise typer.Exit(tell_records(records, results, show, as_json=as_json))


_TITLE = "GB/s (million rows/s)"
#: Characters of a cell.
_WIDEST = len("10.00 (1000.0)")


def _print_table(records: Sequence[Record], out: Console) -> None:
    """A row per step: gigabytes and million rows a second of each implementation."""
    names = [one.implementation.name for one in records]
    cases = list(dict.fromkeys(t.case for one in records for t in one.timings))
    by_case = {(n, t.case): t for n, one in zip(names, records, strict=True) for t in one.timings}
    wide = max(len(case) for case in [_TITLE, *cases])
    for some in blocks(names, out.width - min(wide, out.width // 2), _WIDEST):
        table = plain_table([_TITLE], [escape(names[at]) for at in some])
        for case in cases:
            cells = (_cell(by_case.get((names[at], case))) for at in some)
            table.add_row(escape(case), *cells)
        out.print(table)
    out.print(f"[dim]Medians, one thread. {NOTE}[/dim]")


def _cell(timing: Timing | None) -> str:
    if timing is None:
        return "-"
    if not timing.hot:
        return f"[red]{timing.outcome}[/red]"
    seconds = statistics.median(timing.hot)
    return f"{(timing.bytes or 0) / seconds / 1e9:.2f} ({(timing.rows or 0) / seconds / 1e6:.1f})"
