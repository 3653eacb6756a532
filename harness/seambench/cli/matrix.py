"""`seambench matrix`: every producer's bytes before every consumer."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seambase.errors import UsageError
from seambench.cli.common import JSON_SCHEMA, console, error_console, print_json

if TYPE_CHECKING:
    from seambench.seams.serde.matrix import Cell, Matrix

__all__ = ["matrix"]


def matrix(
    seam: Annotated[str, typer.Option(help="serde.")] = "serde",
    impl: Annotated[
        list[str] | None,
        typer.Option(help="Implementation, repeatable (default: all that are announced)."),
    ] = None,
    case: Annotated[
        list[str] | None, typer.Option(help="Pattern of case ids, repeatable: serde/presto/*.")
    ] = None,
    golden: Annotated[Path | None, typer.Option(help="Another folder of golden files.")] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds a step may take.")] = 60.0,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line.")] = False,
) -> None:
    """Let every implementation read what every other wrote; exit code 0 only if all is right."""
    from seambench.contracts import registry
    from seambench.seams.serde.matrix import Matrix

    if seam != "serde":
        raise UsageError(f"--seam {seam!r}: only serdes hand each other bytes")
    run = Matrix(impl or registry.names(seam), case, timeout, golden=golden)
    cells = []
    with error_console().status("exchanging bytes") as status:
        for cell in run.cells():
            cells.append(cell)
            status.update(f"{cell.producer} to {cell.consumer}: {cell.case}")
            if as_json:
                print_json({"schema": JSON_SCHEMA, **cell.to_json()})
    if as_json:
        for name, memory in run.memory.items():
            told = {"blocks": memory.blocks, "rss_kib": memory.rss_kib}
            print_json({"schema": JSON_SCHEMA, "implementation": name, **told})
    else:
        _show(run, cells)
    if any(cell.failed for cell in cells):
        raise typer.Exit(1)


def _show(run: Matrix, cells: list[Cell]) -> None:
    """What failed, then a table of pairs, then the memory."""
    from rich.markup import escape
    from rich.table import Table

    out = console()
    for cell in cells:
        if cell.failed:
            out.print(
                f"[red]{cell.outcome}[/] {escape(cell.producer)} to {escape(cell.consumer)} "
                f"{escape(cell.case)}: {escape(cell.reason)}",
                soft_wrap=True,
            )
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("written by")
    for consumer in run.implementations:
        table.add_column(f"read by {escape(consumer)}", justify="right")
    for producer in run.implementations:
        words = [
            Counter(
                str(c.outcome) for c in cells if (c.producer, c.consumer) == (producer, consumer)
            )
            for consumer in run.implementations
        ]
        table.add_row(escape(producer), *(_words(counts) for counts in words))
    out.print(table)
    for name, memory in run.memory.items():
        blocks = (
            "" if memory.blocks is None else f", blocks {memory.blocks[0]} to {memory.blocks[1]}"
        )
        before, after = memory.rss_kib
        out.print(f"{escape(name)}: memory {before >> 10} MiB to {after >> 10} MiB{blocks}")


def _words(counts: Counter[str]) -> str:
    """A cell's counts, those that count for nothing left out."""
    told = [f"{count} {word}" for word, count in counts.most_common() if word != "not-offered"]
    return ", ".join(told) or "-"
