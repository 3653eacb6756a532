"""`seambench data`: make data sets with Spark."""

from __future__ import annotations

from typing import Annotated

import typer

from seambench.cli.shared import completing
from seambench.cli.shared.common import DataFolder, Jars, data_folder


def data(
    scale: Annotated[float, typer.Option(help="TPC-H scale.")] = 0.01,
    folder: DataFolder = None,
    format_: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            help="Table format of the curve, repeatable (default: all).",
            autocompletion=completing.formats,
        ),
    ] = None,
    layout: Annotated[
        list[str] | None,
        typer.Option(
            help="Layout, repeatable (default: the curve).", autocompletion=completing.layouts
        ),
    ] = None,
    table: Annotated[
        list[str] | None, typer.Option(help="Table of the layout's format, repeatable, or `all`.")
    ] = None,
    slices: Annotated[int | None, typer.Option(min=1, help="Slices of each such table.")] = None,
    seed: Annotated[int, typer.Option(help="Decides which rows are touched.")] = 42,
    force: Annotated[bool, typer.Option("--force", help="Make again what exists.")] = False,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Fail if another process writes to the folder.")
    ] = False,
    master: Annotated[str | None, typer.Option(help="Spark master (default: local[*]).")] = None,
    memory: Annotated[str, typer.Option(help="Heap of Spark's driver.")] = "4g",
    jars: Jars = None,
    conf: Annotated[
        list[str] | None, typer.Option(help="Spark setting KEY=VALUE, repeatable.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
) -> None:
    """Make the data sets that are missing, and print the folder of each.

    The tables are derived from TPC-H, not comparable with published TPC-H results.
    """
    from seambench.data import DEFAULT_TABLES, GenerateOptions, generate
    from seambench.engines.spark import parse_settings

    options = GenerateOptions(
        scale=scale,
        data=data_folder(folder),
        formats=tuple(format_ or ()),
        layouts=tuple(layout or ()),
        tables=tuple(table or DEFAULT_TABLES),
        slices=slices,
        seed=seed,
        force=force,
        wait=not no_wait,
        master=master,
        memory=memory,
        jars=tuple(jars or ()),
        conf=parse_settings(conf or ()),
        quiet=quiet,
    )
    for dataset in generate(options):
        typer.echo(str(dataset.path))
