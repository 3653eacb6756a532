"""`seambench exchange`: plans of workers over each way of carrying rows, checked and timed."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from seambase.command.terminal import parse_list
from seambase.errors import UsageError
from seambase.wording import counted
from seambench.cli.shared import completing
from seambench.cli.shared.common import (
    NOTE,
    Results,
    Samples,
    Wait,
    console,
    error_console,
    plain_table,
    tell_records,
    typed,
)

if TYPE_CHECKING:
    from rich.console import Console

    from seambench.records.model import Record, Timing


def exchange(
    implementation: Annotated[
        str,
        typer.Option(
            "--impl",
            help="Name from `seambench list`, or package.module:Class.",
            autocompletion=completing.exchanges,
        ),
    ] = "seambench",
    plan: Annotated[
        str, typer.Option(help="Plans between commas (default: all).")
    ] = "shuffle,broadcast,random,q01,q03,q03-buckets,one-key,zipf,columns-1,columns-4,columns-16",
    workers: Annotated[str, typer.Option(help="Numbers of workers between commas.")] = "2",
    near: Annotated[
        str,
        typer.Option(
            help="Workers that share a process and hand each other batches, while the transport "
            "carries the rest; between commas. 0: a process each, everything is carried."
        ),
    ] = "0",
    drivers: Annotated[
        str, typer.Option(help="Drivers of a worker on either side, between commas.")
    ] = "1",
    transport: Annotated[
        str, typer.Option(help="Transports between commas.")
    ] = "pass-through,local,sockets,grpc,flight",
    chunk_format: Annotated[
        str, typer.Option("--format", help="Chunk formats between commas.")
    ] = "presto",
    chunk_rows: Annotated[str, typer.Option(help="Rows of a chunk, between commas.")] = "4096",
    scale: Annotated[float, typer.Option(help="TPC-H scale.")] = 0.01,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder of data sets (default: SEAMBENCH_DATA, or data). Rows are those that "
            "Spark made; the generator's where this scale is not there, which is said."
        ),
    ] = None,
    samples: Samples = 7,
    wait: Wait = 0.0,
    timeout: Annotated[float, typer.Option(help="Seconds that a step of a run may take.")] = 300.0,
    soak: Annotated[
        float | None,
        typer.Option(help="Instead: seconds of random runs with paused and killed workers."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the random runs.")] = 0,
    profile: Annotated[
        bool,
        typer.Option("--profile", help="Also what the sides of each way spent their time on."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The record, one JSON value.")] = False,
    results: Results = Path("results"),
) -> None:
    """Exchange rows of TPC-H between workers: threads of one process, and processes.

    Tables are shuffled, broadcast, aggregated (Q1) and joined (Q3). Every outcome is compared with
    the generator's rows before its time counts. Derived from TPC-H, not comparable with published
    TPC-H results.
    """
    if soak is not None:
        raise typer.Exit(_soak(implementation, soak, seed))
    from seambench.bench.exchange.suite import ExchangeOptions, measure_exchanges
    from seambench.cli.shared.progress import Shown
    from seambench.data.dataset import default_data_folder

    options = ExchangeOptions(
        implementation=implementation,
        plans=tuple(parse_list(plan) or ()),
        workers=_numbers(workers, "--workers"),
        near=_numbers(near, "--near", least=0),
        drivers=_numbers(drivers, "--drivers"),
        transports=tuple(parse_list(transport) or ()),
        formats=tuple(parse_list(chunk_format) or ()),
        chunk_rows=_numbers(chunk_rows, "--chunk-rows"),
        scale=scale,
        data=data or default_data_folder(),
        samples=samples,
        wait_seconds=wait,
        timeout=timeout,
        command=typed(),
    )
    with Shown(error_console()) as shown:
        records = measure_exchanges(options, shown)
    made_by = {str(timing.over.dimensions["rows made by"]) for timing in records[0].timings}
    error_console().print(f"rows made by: {', '.join(sorted(made_by))}", markup=False)
    show = partial(_print_tables, records, profile=profile)
    raise typer.Exit(tell_records(records, results, show, as_json=as_json))


def _soak(implementation: str, seconds: float, seed: int) -> int:
    """Random runs; the exit code."""
    from seambench.bench.exchange.soak import SoakOptions, soak

    err = error_console()
    options = SoakOptions(implementation, seconds, seed)
    report = soak(options, lambda text: err.print(text, markup=False))
    counts = ", ".join(f"{count} {fault}" for fault, count in sorted(report.runs.items()))
    console().print(
        f"{counted(sum(report.runs.values()), 'run')} ({counts}), "
        f"{counted(report.rows, 'row')} received and compared; "
        f"workers grew by {report.growth_bytes / 1e6:.1f} MB",
        markup=False,
    )
    for problem in report.problems:
        err.print(f"failed: {problem}", markup=False)
    return 1 if report.problems else 0


def _numbers(text: str, option: str, least: int = 1) -> tuple[int, ...]:
    try:
        found = tuple(int(word) for word in parse_list(text) or ())
    except ValueError as error:
        raise UsageError(f"{option} {text}: numbers between commas are meant") from error
    if not found or min(found) < least:
        raise UsageError(f"{option} {text}: numbers of {least} and more are meant")
    return found


def _print_table(timings: Sequence[Timing], out: Console) -> None:
    """A row per case: what it took, and of what."""
    table = plain_table(
        ["plan/transport/format/workers/chunk rows"], ["ms", "CPU ms", "GB/s", "peak MB"]
    )
    for timing in timings:
        table.add_row(escape(timing.case.removeprefix("exchange-workers/")), *_cells(timing))
    out.print(table)
    out.print(f"[dim]Medians; bytes as Arrow has them, resident bytes of all. {NOTE}[/dim]")


#: Words of a timing's `spent`, and what the table of times calls them.
_PARTS = {
    "shuffle": "deal",
    "serialize_chunk": "encode",
    "wait": "sink full",
    "network": "way",
    "closure_block": "withheld",
    "deserialize_chunk": "decode",
    "overall": "all",
}


def _print_tables(records: Sequence[Record], out: Console, *, profile: bool) -> None:
    timings = records[0].timings
    _print_table(timings, out)
    if profile:
        _print_profile(timings, out)
    for sentence in who_wins(records):
        out.print(sentence, markup=False, highlight=False)


def who_wins(records: Sequence[Record]) -> Iterator[str]:
    """For each plan that ways compete in: from how many rows a chunk on which of them is ahead.

    Medians that lie within each other's samples are no difference; so several may be ahead. Beside
    them stands the next one, and how much longer it takes there.
    """
    from seambench.contracts.registry import find_seam
    from seambench.report.views.load import Shown
    from seambench.report.views.throughput import families

    known = [("exchange", family) for family in find_seam("exchange").timed]
    shown = [Shown(record, Path(), "", "") for record in records]
    for family in families(shown, known):
        for group in family.groups:
            turns = [turn.said for turn in group.turns]
            if turns:
                yield f"{group.label}, ahead by rows a chunk: {'; '.join(turns)}."
            elif timed := [
                name
                for name, by_rows in group.rates.items()
                if any(rate.stat is not None for rate in by_rows.values())
            ]:
                yield f"{group.label}: {timed[0]} alone has times, so none is ahead."


def _print_profile(timings: Sequence[Timing], out: Console) -> None:
    """A row per case: where its milliseconds went."""
    from seambench.records.model import Answered

    table = plain_table(["ms of the last run"], _PARTS.values())
    for timing in timings:
        if isinstance(timing, Answered) and timing.spent:
            cells = (timing.spent.get(word) for word in _PARTS)
            shown = ("-" if one is None else f"{one * 1e3:.1f}" for one in cells)
            table.add_row(escape(timing.case.removeprefix("exchange-workers/")), *shown)
    out.print(table)
    out.print(
        "[dim]deal, encode, decode, sink full: sums over all threads; withheld: over all requests. "
        "way: of the slowest sender, from a request's leaving to its answer without what the "
        "receiver had it for, by how many were on the way at once; all: from its first request to "
        "its last answer.[/dim]"
    )


def _cells(timing: Timing) -> tuple[str, ...]:
    if not timing.hot:
        return (f"[red]{timing.outcome}[/red]",)
    seconds = statistics.median(timing.hot)
    return (
        f"{seconds * 1e3:.1f}",
        f"{statistics.median(timing.cpu) * 1e3:.1f}",
        f"{(timing.bytes or 0) / seconds / 1e9:.3f}",
        "-" if timing.peak_bytes is None else f"{timing.peak_bytes / 1e6:.0f}",
    )
