"""`seambench run`: data, comparison and page in one go."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from seambase.errors import UsageError
from seambench.cli.bench import run_bench
from seambench.cli.common import (
    DataFolder,
    Queries,
    Readers,
    Results,
    Samples,
    ScansOnly,
    Site,
    Threads,
    data_folder,
    default_readers,
    error_console,
)

__all__ = ["run"]

_ORDERINGS = ("event", "commit")
_LOG_FORMATS = ("avro", "parquet")


def run(
    scale: Annotated[float, typer.Option(help="TPC-H scale.")] = 0.01,
    update_ratio: Annotated[
        list[float] | None,
        typer.Option(help="Per cent of rows updated in a slice with logs, repeatable."),
    ] = None,
    slice_share: Annotated[
        float | None, typer.Option(help="Per cent of slices that have logs.")
    ] = None,
    reader: Readers = None,
    queries: Queries = "all",
    scans_only: ScansOnly = None,
    samples: Samples = 3,
    table_version: Annotated[int, typer.Option(help="Hudi's table version: 6 or 9.")] = 9,
    ordering: Annotated[str, typer.Option(help="event or commit.")] = "event",
    log_format: Annotated[str, typer.Option(help="Blocks of the logs: avro or parquet.")] = "avro",
    slices: Annotated[int | None, typer.Option(min=1, help="Slices of each Hudi table.")] = None,
    table: Annotated[
        list[str] | None, typer.Option(help="Table to be a Hudi table, repeatable, or `all`.")
    ] = None,
    threads: Threads = None,
    memory: Annotated[
        bool, typer.Option(help="Measure the memory of streamed scans, each in its own process.")
    ] = True,
    folder: DataFolder = None,
    results: Results = Path("results"),
    site: Site = Path("site"),
    jars: Annotated[
        list[str] | None, typer.Option(help="Jar to use instead of fetching Hudi's, repeatable.")
    ] = None,
) -> None:
    """Make the data, compare the readers, build the page.

    Without --update-ratio and --slice-share: 0, 5, 20, 50 and 100 % in every slice, and 20 % in a
    fifth of the slices. Derived from TPC-H, not comparable with published TPC-H results.
    """
    from seambench.data import DEFAULT_TABLES, GenerateOptions, generate
    from seambench.report import build

    options = GenerateOptions(
        scale=scale,
        data=data_folder(folder),
        layouts=_layouts(update_ratio, slice_share, table_version, ordering, log_format),
        tables=tuple(table or DEFAULT_TABLES),
        slices=slices,
        jars=tuple(jars or ()),
    )
    err = error_console()
    err.print(f"1 of 3: data sets of scale {scale:g}")
    datasets = generate(options)
    err.print("2 of 3: comparison")
    code = run_bench(
        datasets,
        reader or default_readers(),
        queries=queries,
        scans="all,q6,count",
        # Row at a time, the connector would take most of the run; its answers are checked by
        # `seambench bench` and whenever it is named.
        scans_only=scans_only or (() if reader else ("connector",)),
        samples=samples,
        threads=threads,
        budget=60.0,
        memory=memory,
        results=results,
    )
    err.print("3 of 3: page")
    page = build(results, site)
    typer.echo(f"page: {page.resolve()}")
    raise typer.Exit(code)


def _layouts(
    ratios: list[float] | None, share: float | None, version: int, ordering: str, log_format: str
) -> tuple[str, ...]:
    """Names of the layouts asked for: one per ratio."""
    from seambench.data import Layout, curve_layouts

    if ordering not in _ORDERINGS:
        raise UsageError(f"--ordering {ordering!r} is neither event nor commit")
    if log_format not in _LOG_FORMATS:
        raise UsageError(f"--log-format {log_format!r} is neither avro nor parquet")
    knobs = {"version": version, "ordering": ordering, "log_format": log_format}
    percent = 100.0 if share is None else share
    if ratios is not None:
        chosen = curve_layouts(tuple(ratios), percent, **knobs)  # type: ignore[arg-type]
    else:
        chosen = curve_layouts(share=percent, **knobs)  # type: ignore[arg-type]
        if share is None:
            chosen += (Layout("mor", ratio=20, share=20, **knobs),)  # type: ignore[arg-type]
    return tuple(dict.fromkeys(layout.name for layout in chosen))
