"""The table at the end of a comparison: median seconds per reader and data set, and verdicts."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from seambench.cli.shared.common import NOTE

if TYPE_CHECKING:
    from rich.console import Console

    from seambench.records.model import Record, Timing


def median_seconds(timing: Timing) -> float | None:
    """Median of the hot samples; None where there is no time."""
    return statistics.median(timing.hot) if timing.hot else None


def geometric_mean(values: Sequence[float | None]) -> float | None:
    """Geometric mean; None as soon as one value is missing, since a gap must not look fast."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    return math.exp(statistics.fmean(math.log(max(value, 1e-9)) for value in known))


def print_summary(records: Sequence[Record], out: Console) -> None:
    """Print one table per kind of case, and the verdicts."""
    datasets = list(
        dict.fromkeys(_dataset(timing) for record in records for timing in record.timings)
    )
    cases = {timing.case for record in records for timing in record.timings}
    for case, title in (
        ("scan/all", "all columns of lineitem"),
        ("scan/q6", "the 4 columns of query 6"),
        ("scan/count", "count of lineitem"),
    ):
        if case in cases:
            _print_table(records, datasets, f"{title}: median seconds", case.__eq__, out)
    queries = {case for case in cases if not case.startswith("scan/")}
    if queries:
        title = f"{len(queries)} queries: geometric mean of their median seconds"
        _print_table(records, datasets, title, queries.__contains__, out)
    out.print(f"[dim]{NOTE}[/dim]")


def _print_table(
    records: Sequence[Record],
    datasets: Sequence[str],
    title: str,
    takes: Callable[[str], bool],
    out: Console,
) -> None:
    from rich.markup import escape
    from rich.table import Table

    out.print(f"[bold]{title}[/bold]")
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("reader")
    for dataset in datasets:
        table.add_column(escape(dataset), justify="right")
    table.add_column("answers", justify="right")
    for record in records:
        timings = [timing for timing in record.timings if takes(timing.case)]
        if not timings:
            continue
        cells = []
        for dataset in datasets:
            here = [timing for timing in timings if _dataset(timing) == dataset]
            value = geometric_mean([median_seconds(timing) for timing in here])
            cells.append("-" if value is None else f"{value:.3f}")
        table.add_row(escape(record.implementation.name), *cells, _verdict(timings))
    out.print(table)
    out.print()


def _verdict(timings: Sequence[Timing]) -> str:
    offered = [timing for timing in timings if timing.outcome != "not-offered"]
    right = sum(timing.outcome == "pass" for timing in offered)
    left = len(timings) - len(offered)
    beside = f", {left} not offered" if left else ""
    if right == len(offered):
        return f"[green]all {right} right[/green]{beside}" if offered else "not offered"
    others = sorted({str(timing.outcome) for timing in offered} - {"pass"})
    return f"[red]{right} of {len(offered)} right; {', '.join(others)}[/red]{beside}"


def _dataset(timing: Timing) -> str:
    """Share of updated rows, as in the name of a column; a name where there is none."""
    dimensions = timing.over.dimensions
    if "update_ratio" not in dimensions:
        return timing.over.name
    share = dimensions.get("slice_share", 100)
    part = "" if share == 100 else f" in {share}%"
    return f"{timing.over.format} {dimensions['update_ratio']}%{part}"
