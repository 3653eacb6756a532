"""What merge-on-read costs: time and memory against the update ratio and the share of slices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from seambench.report.views.runs import Measured, Reader, RunSet, measured
from seambench.report.views.stats import Stat, geometric_mean, mean_of

_SCANS = {
    "scan/all": "scan of all columns",
    "scan/q6": "scan of the 4 columns of query 6",
    "scan/count": "count of the rows",
}
#: Of a scan's cost, where one figure must do: the first of these that was measured.
_FIRST = ("scan/all", "scan/q6", "scan/count")


@dataclass(frozen=True)
class Axis:
    """What a figure is drawn against."""

    name: str
    label: str
    of: Callable[[Measured], float]
    holds: Callable[[Measured], bool]


@dataclass(frozen=True)
class Cell:
    """A point of a curve."""

    x: float  # per cent
    stat: Stat  # seconds, or bytes
    link: str
    # as many times as the native line of its format at this place; None: there is none
    times: float | None = None
    same: bool = False  # no difference from the fastest that merges tables of this format
    best: bool = False  # it is that one


@dataclass(frozen=True)
class Curve:
    """One reader."""

    reader: Reader
    stale: bool
    cells: Sequence[Cell]


@dataclass(frozen=True)
class Gap:
    """A point that was tried and has no time."""

    reader: Reader
    x: float
    reason: str


@dataclass(frozen=True)
class Figure:
    """One chart."""

    what: str  # case, or suite of queries
    measure: str  # `time` or `memory`
    axis: Axis
    curves: Sequence[Curve]
    gaps: Sequence[Gap]

    @property
    def id(self) -> str:
        """Of its element."""
        return f"{self.what.replace('/', '-')}-{self.measure}-{self.axis.name}"

    @property
    def title(self) -> str:
        """What is drawn."""
        return f"{self.measure.capitalize()} of a {title_of(self.what)}, by {self.axis.label}"


def title_of(what: str) -> str:
    """A case or a suite for people."""
    if "/" in what:
        return _SCANS.get(what, what)
    return f"query of {what}, geometric mean"


def figures(one: RunSet) -> list[Figure]:
    """Every chart that a set of runs gives."""
    points = measured(one)
    found = []
    for what in whats(points):
        some = points_of(points, what)
        for axis in _axes(some):
            held = [point for point in some if axis.holds(point)]
            found += [_figure(what, measure, axis, held) for measure in ("time", "memory")]
    return [figure for figure in found if any(len(c.cells) for c in figure.curves)]


def whats(points: Sequence[Measured]) -> list[str]:
    """Cases of scans, the common ones first, and suites of queries."""
    scans = {point.case for point in points if point.suite == "scan"}
    suites = sorted({point.suite for point in points} - {"scan"})
    return [*sorted(scans, key=lambda case: (case not in _SCANS, case)), *suites]


def points_of(points: Sequence[Measured], what: str) -> list[Measured]:
    """The points of a case; of a suite a point is the geometric mean of all its queries."""
    if "/" in what:
        return [point for point in points if point.case == what]
    queries = {point.case for point in points if point.suite == what}
    groups: dict[tuple[Reader, float, float], list[Measured]] = {}
    for point in points:
        if point.suite == what:
            groups.setdefault((point.reader, point.ratio, point.share), []).append(point)
    return [_mean(what, listed, queries) for listed in groups.values()]


N = TypeVar("N", int, float)


def _mean(suite: str, listed: Sequence[Measured], queries: set[str]) -> Measured:
    first = listed[0]
    stats = [point.stat for point in listed if point.stat is not None]
    lacking = sorted(queries - {point.case for point in listed if point.stat is not None})
    failed = next((point for point in listed if point.stat is None), first)
    cpus = [point.cpu for point in listed if point.cpu is not None]
    peaks = [point.peak for point in listed if point.peak is not None]
    reason = failed.reason or f"without a time: {', '.join(lacking)}"
    return Measured(
        case=f"{suite}/",
        reader=first.reader,
        ratio=first.ratio,
        share=first.share,
        stale=first.stale,
        stat=None if lacking else mean_of(stats),
        peak=None if lacking else max(peaks, default=None),
        outcome=failed.outcome,
        reason=reason if lacking else "",
        link=first.link,
        cpu=geometric_mean(cpus) if len(cpus) == len(listed) and not lacking else None,
        paths=_summed(point.paths for point in listed),
        spent=_summed(point.spent for point in listed),
    )


def _summed(listed: Iterable[Mapping[str, N]]) -> dict[str, N]:
    """Sums by word over all queries."""
    found: dict[str, N] = {}
    for one in listed:
        for word, number in one.items():
            found[word] = found[word] + number if word in found else number
    return found


def _axes(points: Sequence[Measured]) -> Iterator[Axis]:
    yield Axis(
        "ratio",
        "rows updated in every slice",
        lambda p: p.ratio,
        lambda p: p.share == 100 or p.ratio == 0,
    )
    partial = sorted({p.ratio for p in points if 0 < p.share < 100})
    if partial:
        ratio = partial[0]
        yield Axis(
            "share",
            f"slices with logs, {ratio:g} % of their rows updated",
            lambda p: p.share if p.ratio > 0 else 0.0,
            lambda p: p.ratio in (0, ratio),
        )


def _figure(what: str, measure: str, axis: Axis, points: Sequence[Measured]) -> Figure:
    by_reader: dict[Reader, list[Measured]] = {}
    for point in points:
        by_reader.setdefault(point.reader, []).append(point)
    stats = {
        (reader, axis.of(point)): (point, stat)
        for reader, listed in by_reader.items()
        for point in listed
        if (stat := _stat(point, measure)) is not None
    }
    curves = []
    for reader, listed in by_reader.items():
        cells = [
            _cell(x, point, stat, _rivals(stats, reader, x))
            for (who, x), (point, stat) in sorted(stats.items(), key=lambda item: item[0][1])
            if who == reader
        ]
        if cells:
            curves.append(Curve(reader, listed[0].stale, cells))
    gaps = [
        Gap(point.reader, axis.of(point), point.reason)
        for point in points
        if point.stat is None and measure == "time"
    ]
    curves.sort(key=lambda curve: (curve.stale, curve.reader.format, curve.cells[-1].stat.median))
    return Figure(what, measure, axis, curves, gaps)


def _stat(point: Measured, measure: str) -> Stat | None:
    if measure == "time":
        return point.stat
    return None if point.peak is None else Stat(point.peak, point.peak, point.peak, 1)


def _rivals(
    stats: dict[tuple[Reader, float], tuple[Measured, Stat]], reader: Reader, x: float
) -> list[tuple[Measured, Stat]]:
    """Everybody at one place who reads tables of the same form."""
    return [
        found
        for (other, at), found in stats.items()
        if at == x and (other.format, other.variant) == (reader.format, reader.variant)
    ]


def _cell(x: float, point: Measured, stat: Stat, rivals: Sequence[tuple[Measured, Stat]]) -> Cell:
    merging = [other for rival, other in rivals if not rival.stale]
    best = min(merging, key=lambda other: other.median, default=None)
    native = min((other.median for rival, other in rivals if rival.stale), default=None)
    alone = len(merging) < 2 or point.stale or best is None
    return Cell(
        x=x,
        stat=stat,
        link=point.link,
        times=stat.median / native if native and not point.stale else None,
        same=not alone and best is not None and stat is not best and stat.overlaps(best),
        best=not alone and stat is best,
    )


def cost_at(one: RunSet, ratio: float) -> tuple[str, list[Curve]] | None:
    """The first scan that was measured at an update ratio in every slice, and its curves there."""
    by_what = {
        figure.what: figure
        for figure in figures(one)
        if (figure.measure, figure.axis.name) == ("time", "ratio")
    }
    for what in (*_FIRST, *by_what):
        figure = by_what.get(what)
        if figure is None:
            continue
        curves = [
            Curve(curve.reader, curve.stale, cells)
            for curve in figure.curves
            if (cells := [cell for cell in curve.cells if cell.x == ratio])
        ]
        if curves:
            return what, curves
    return None
