"""`seambench bench`: compare readers over the data sets that are there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seambase.command.terminal import parse_list
from seambase.errors import UsageError
from seambench.cli.shared import completing
from seambench.cli.shared.common import (
    DataFolder,
    Memory,
    Queries,
    Readers,
    Results,
    Samples,
    ScansOnly,
    Threads,
    Wait,
    data_folder,
    error_console,
    parse_queries,
    tell_records,
    typed,
)
from seambench.contracts import registry

if TYPE_CHECKING:
    from seambench.bench.comparison import ComparisonOptions
    from seambench.bench.unfinished import Unfinished
    from seambench.records.model import Conformance, Record

_FAILURES_SHOWN = 20


def bench(
    scale: Annotated[
        float | None, typer.Option(help="TPC-H scale of the data sets (default: any).")
    ] = None,
    layout: Annotated[
        list[str] | None,
        typer.Option(
            help="Layout, repeatable (default: all in a table format).",
            autocompletion=completing.layouts,
        ),
    ] = None,
    reader: Readers = None,
    suite: Annotated[str, typer.Option(help="Suite of the queries: tpch or reads.")] = "tpch",
    queries: Queries = "all",
    scans: Annotated[str, typer.Option(help="Of all,q6,count; or `none`.")] = "all,q6,count",
    scans_only: ScansOnly = None,
    samples: Samples = 7,
    wait: Wait = 0.0,
    threads: Threads = None,
    budget: Annotated[
        float, typer.Option(min=0, help="Seconds after which a slow reader gets no more samples.")
    ] = 60.0,
    memory: Memory = True,
    folder: DataFolder = None,
    results: Results = Path("results"),
) -> None:
    """Compare readers over data sets that exist; every answer is checked before its time counts.

    Derived from TPC-H, not comparable with published TPC-H results.
    """
    from seambench.bench.comparison import ComparisonOptions
    from seambench.data import list_datasets

    data = data_folder(folder)
    datasets = [
        dataset
        for dataset in list_datasets(data, scale)
        if dataset.formats and (layout is None or dataset.layout in layout)
    ]
    missing = [name for name in layout or () if name not in {d.layout for d in datasets}]
    if missing or not datasets:
        raise UsageError(
            f"{data} has no data set {missing[0] if missing else 'in a table format'}; "
            "make it with `seambench data`"
        )
    whole = queries == "all"
    options = ComparisonOptions(
        readers=tuple(dict.fromkeys(reader or registry.resolve_suite("tpch").readers)),
        datasets=datasets,
        suite=suite,
        queries=tuple(registry.resolve_suite(suite).queries) if whole else parse_queries(queries),
        scans=() if scans == "none" else tuple(parse_list(scans) or ()),
        scans_only=scans_only or (),
        samples=samples,
        threads=threads,
        budget_seconds=budget,
        wait_seconds=wait,
        memory=memory,
        command=typed(),
    )
    raise typer.Exit(run_bench(options, results)[1])


def run_bench(
    options: ComparisonOptions,
    results: Path,
    conformance: Sequence[tuple[str, Conformance]] = (),
    unfinished: Unfinished | None = None,
) -> tuple[list[Record], int]:
    """Compare, write the records, print the summary; the records and the exit code."""
    from seambench.bench.comparison import compare_readers
    from seambench.cli.shared.progress import Shown
    from seambench.cli.summary import print_summary

    with Shown(error_console()) as shown:
        records = compare_readers(options, shown, conformance, unfinished)
    show = partial(print_summary, records)
    return records, tell_records(records, results, show, failures_shown=_FAILURES_SHOWN)
