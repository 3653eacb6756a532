"""What a run would do, and about how long it would take, without doing any of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from seambase.wording import counted
from seambench.cli.shared.common import console

if TYPE_CHECKING:
    from seambench.cli.shared.config import Chosen
    from seambench.data import PlannedDataset

#: Rules of thumb for two cores, which tell minutes from hours and no more: seconds to start Spark
#: for a format, seconds for a data set, and seconds more for one of scale 1.
_SPARK_SECONDS, _DATASET_SECONDS, _SCALE_SECONDS = 20.0, 12.0, 90.0


@dataclass(frozen=True)
class Planned:
    """What a run would do.

    Attributes:
        datasets: to be made or there; none of a quick run.
        cases: of the conformance suite that each reader would meet; 0 if it is left out.
        timed: cases that each reader would be timed at, over each data set of a table format.
        runs: of each of these.
        results: folder of records, in which to look for how long these took before.
    """

    readers: Sequence[str]
    datasets: Sequence[PlannedDataset]
    scale: float
    cases: int
    timed: Sequence[str]
    runs: int
    results: Path
    site: Path


def show_planned(planned: Planned, chosen: Sequence[Chosen]) -> None:
    """Print where each option came from, what the stages would do, and an estimate."""
    out = console()
    out.print("options")
    width = max(len(one.option) for one in chosen)
    for one in chosen:
        line = f"    {one.option:{width}}  {_text(one.value):24}  {one.source}"
        out.print(line, markup=False, soft_wrap=True)
    making = [one for one in planned.datasets if not one.is_there]
    tables = [one for one in planned.datasets if one.format != "parquet"]
    out.print(f"\ndata sets: {len(making)} to make, {len(planned.datasets) - len(making)} there")
    for dataset in planned.datasets:
        size = f"to make, about {dataset.size_bytes / 1e6:,.0f} MB"
        state = "there" if dataset.is_there else size
        out.print(f"    {dataset.name}  {state}", markup=False, soft_wrap=True)
    count = len(planned.readers)
    out.print(f"readers: {', '.join(planned.readers)}", markup=False, soft_wrap=True)
    readers = counted(count, "reader")
    out.print(f"conformance: up to {counted(planned.cases, 'case')} for each of {readers}")
    if planned.timed:
        out.print(
            f"comparison: {counted(len(planned.timed), 'case')} over "
            f"{counted(len(tables), 'data set')}, {counted(planned.runs, 'run')} of each "
            f"by each of {readers}",
        )
    out.print(f"page: {planned.site}", markup=False, soft_wrap=True)
    for line in _estimate(planned, making, len(tables)):
        out.print(line, markup=False, soft_wrap=True)


def _text(value: object) -> str:
    if value is None:
        return "-"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _estimate(planned: Planned, making: Sequence[PlannedDataset], tables: int) -> list[str]:
    """How long it takes: data by rules of thumb, all else by earlier records of these readers."""
    formats = {one.format for one in making}
    each = _DATASET_SECONDS + planned.scale * _SCALE_SECONDS
    seconds = len(formats) * _SPARK_SECONDS + len(making) * each if making else 0.0
    unknown: list[str] = []
    known = _recorded(planned)
    for reader in planned.readers:
        checked, timed = known.get(reader, (None, {}))
        if planned.cases and checked is None:
            unknown.append(f"conformance of {reader}")
        # A missing case counts as the mean of those that are known.
        mean = sum(timed.values()) / len(timed) if timed else 0.0
        if planned.timed and not timed:
            unknown.append(f"times of {reader}")
        once = sum(timed.get(case, mean) for case in planned.timed)
        seconds += (checked or 0.0) * planned.cases + once * tables * planned.runs
    lines = [f"\nestimate: about {_minutes(seconds)}, by rules of thumb and earlier records"]
    if unknown:
        lines.append(f"    not counted, as no record tells: {', '.join(unknown)}")
    return lines


def _recorded(planned: Planned) -> dict[str, tuple[float | None, dict[str, float]]]:
    """By reader: seconds of a case of conformance, and of each timed case at the plan's scale."""
    import statistics

    from seambase.errors import SeambenchError
    from seambench.records.files import load_record, record_paths

    found: dict[str, tuple[float | None, dict[str, float]]] = {}
    for path in record_paths(planned.results) if planned.results.is_dir() else ():
        try:
            record = load_record(path)
        except SeambenchError:
            continue  # `seambench report --validate` tells of it
        name = record.implementation.name
        if name not in planned.readers:
            continue
        checked, timed = found.get(name, (None, {}))
        for part in record.conformance:
            cases = sum(1 for _ in part.cases())
            if part.seam == "scan" and cases:
                checked = part.seconds / cases
        for timing in record.timings:
            if timing.case in planned.timed and timing.hot and timing.over.scale:
                ratio = planned.scale / timing.over.scale
                timed[timing.case] = statistics.median(timing.hot) * ratio
        found[name] = (checked, timed)
    return found


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"
