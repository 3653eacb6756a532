"""How cost grows with the amount of data: readers over tables of one layout at several scales."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seambench.report.views.costs import points_of, title_of, whats
from seambench.report.views.runs import Measured, Reader, RunSet, measured
from seambench.report.views.stats import Stat


@dataclass(frozen=True)
class GrowthCell:
    """A reader at one scale."""

    stat: Stat  # seconds
    cpu: float | None  # seconds of processor time, the median; None: not measured
    peak: int | None  # most resident bytes of a streamed scan; None: not measured
    link: str
    # as many times the seconds of the next smaller scale; None: there is none
    time_factor: float | None
    peak_factor: float | None  # likewise of the bytes


@dataclass(frozen=True)
class GrowthRow:
    """One reader over tables with one share of changed rows, by scale."""

    reader: Reader
    changes: str
    stale: bool
    cells: Mapping[float, GrowthCell]


@dataclass(frozen=True)
class GrowthTable:
    """A case, or a suite of queries."""

    title: str
    scales: Sequence[float]  # ascending
    rows: Sequence[GrowthRow]  # only those that were timed at more than one scale


def growth_tables(one: RunSet, sets: Sequence[RunSet]) -> list[GrowthTable]:
    """A table for each case that somebody was timed with at several scales.

    It is compared with the sets of the same commit and place, no others: code or machine would
    differ as well as the scale.
    """
    alike = {
        other.scale: measured(other)
        for other in sets
        if (other.commit, other.place) == (one.commit, one.place)
    }
    if len(alike) < 2:
        return []
    found = []
    for what in whats([point for points in alike.values() for point in points]):
        rows = _rows({scale: points_of(points, what) for scale, points in alike.items()})
        if rows:
            scales = sorted({scale for row in rows for scale in row.cells})
            found.append(GrowthTable(title_of(what), scales, rows))
    return found


def _rows(by_scale: Mapping[float, Sequence[Measured]]) -> list[GrowthRow]:
    series: dict[tuple[Reader, float, float], dict[float, Measured]] = {}
    for scale, points in by_scale.items():
        for point in points:
            if point.stat is not None:
                key = (point.reader, point.ratio, point.share if point.ratio else 100.0)
                series.setdefault(key, {})[scale] = point
    return [
        _row(reader, ratio, share, held)
        for (reader, ratio, share), held in sorted(
            series.items(), key=lambda item: (item[0][0].label, *item[0][1:])
        )
        if len(held) > 1
    ]


def _row(reader: Reader, ratio: float, share: float, points: Mapping[float, Measured]) -> GrowthRow:
    where = "" if share == 100 else f" in {share:g} % of the slices"
    cells: dict[float, GrowthCell] = {}
    before: Measured | None = None
    for scale in sorted(points):
        cells[scale] = _cell(points[scale], before)
        before = points[scale]
    stale = any(point.stale for point in points.values())
    return GrowthRow(reader, f"{ratio:g} % updated{where}", stale, cells)


def _cell(point: Measured, before: Measured | None) -> GrowthCell:
    assert point.stat is not None
    smaller = before.stat if before else None
    less = before.peak if before else None
    return GrowthCell(
        stat=point.stat,
        cpu=point.cpu,
        peak=point.peak,
        link=point.link,
        time_factor=point.stat.median / smaller.median if smaller else None,
        peak_factor=point.peak / less if point.peak and less else None,
    )
