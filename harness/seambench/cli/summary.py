"""The table at the end of a comparison: median seconds per reader and data set, and verdicts."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.markup import escape

from seambase.wording import counted
from seambench.cli.shared.common import NOTE

if TYPE_CHECKING:
    from rich.console import Console

    from seambench.records.model import Record, Timing


#: Characters between columns, and of the shortest one.
_GAP, _LEAST = 2, 7
#: Sentences about one reader that answers nothing.
_MOST_REASONS = 3


def median_seconds(timing: Timing) -> float | None:
    """Median of the hot samples; None where there is no time."""
    return statistics.median(timing.hot) if timing.hot else None


def print_summary(records: Sequence[Record], out: Console) -> None:
    """Print one table per kind of case, and the verdicts."""
    datasets = _labels([timing for record in records for timing in record.timings])
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
        title = f"{counted(len(queries), 'query')}: geometric mean of their median seconds"
        _print_table(records, datasets, title, queries.__contains__, out)
    for name, reasons in _unasked(records).items():
        out.print(f"not offered by {name}: {'; '.join(reasons)}", markup=False, soft_wrap=True)
    out.print(f"[dim]{NOTE}[/dim]")


def _unasked(records: Sequence[Record]) -> dict[str, list[str]]:
    """Of those to whom nothing could be put, why, in few sentences: tables say a word of each."""
    found = {}
    for one in records:
        if all(timing.outcome == "not-offered" for timing in one.timings):
            reasons = dict.fromkeys(timing.reason for timing in one.timings if timing.reason)
            found[one.implementation.name] = list(reasons)[:_MOST_REASONS]
    return {name: reasons for name, reasons in found.items() if reasons}


def _print_table(
    records: Sequence[Record],
    datasets: Mapping[str, str],
    title: str,
    takes: Callable[[str], bool],
    out: Console,
) -> None:
    from rich.table import Table

    from seambench.report.views.stats import whole_mean

    read = [record for record in records if any(takes(timing.case) for timing in record.timings)]
    rows = []
    for name, label in datasets.items():
        here = [[t for t in one.timings if takes(t.case) and t.over.name == name] for one in read]
        values = (whole_mean([median_seconds(timing) for timing in own]) for own in here)
        rows.append([escape(label), *("-" if v is None else f"{v:.3f}" for v in values)])
    verdicts = [_verdict([t for t in one.timings if takes(t.case)]) for one in read]
    out.print(f"[bold]{title}[/bold]")
    # Data sets go down, since there are more of them; readers that do not fit begin a new block.
    wide = max([len(label) for label in datasets.values()] + [len("data")])
    for some in blocks([record.implementation.name for record in read], out.width - wide):
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("data", no_wrap=True)
        for at in some:
            name = escape(read[at].implementation.name)
            table.add_column(name, justify="right", overflow="fold")
        for row in rows:
            table.add_row(row[0], *(row[1 + at] for at in some))
        out.print(table)
    for record, verdict in zip(read, verdicts, strict=True):
        out.print(f"{escape(record.implementation.name)}: {verdict}", soft_wrap=True)
    out.print()


def blocks(names: Sequence[str], width: int, least: int = _LEAST) -> list[list[int]]:
    """Numbers of the columns that stand beside each other in so many characters; at least one."""
    blocks: list[list[int]] = [[]]
    left = width
    for at, name in enumerate(names):
        needs = _GAP + max(len(name), least)
        if needs > left and blocks[-1]:
            blocks.append([])
            left = width
        blocks[-1].append(at)
        left -= needs
    return blocks


def _verdict(timings: Sequence[Timing]) -> str:
    offered = [timing for timing in timings if timing.outcome != "not-offered"]
    right = sum(timing.outcome == "pass" for timing in offered)
    left = len(timings) - len(offered)
    beside = f", {left} not offered" if left else ""
    if any(timing.over.stale for timing in timings):
        beside += "; stale: of base files alone, without the updates"
    if right == len(offered):
        return f"[green]all {right} right[/green]{beside}" if offered else "not offered"
    others = sorted({str(timing.outcome) for timing in offered} - {"pass"})
    return f"[red]{right} of {len(offered)} right; {', '.join(others)}[/red]{beside}"


def _labels(timings: Sequence[Timing]) -> dict[str, str]:
    """What data are called, by their names: by these where another word would be of two."""
    labels = {timing.over.name: _dataset(timing) for timing in timings}
    counts = Counter(labels.values())
    return {name: label if counts[label] == 1 else name for name, label in labels.items()}


def _dataset(timing: Timing) -> str:
    """Share of updated rows, as in the name of a column; a name where there is none."""
    dimensions = timing.over.dimensions
    if "update_ratio" not in dimensions:
        return timing.over.name
    share = dimensions.get("slice_share", 100)
    part = "" if share == 100 else f" in {share}%"
    return f"{timing.over.format} {dimensions['update_ratio']}%{part}"
