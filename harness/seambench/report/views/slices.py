"""What readers cost by the share of slices that have logs, and by which path they read slices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seambench.report.views.costs import figures, points_of, title_of
from seambench.report.views.runs import Measured, Reader, RunSet, measured
from seambench.report.views.stats import Stat

#: Names of readers that are engines on the JVM begin so.
_JVM_ENGINE = "spark-"


@dataclass(frozen=True)
class SliceCell:
    """A reader at one share of slices."""

    stat: Stat  # seconds
    link: str
    # per cent of the slices that were read natively; None where the reader does not tell
    native: float | None
    # as many times as the engine on the JVM was slower; None: there is none, or the reader read
    # base files alone and has another answer
    times: float | None
    # per cent of the seconds that a reader counts, by what they were spent on
    spent: Mapping[str, float]


@dataclass(frozen=True)
class SliceRow:
    """One reader, with a cell by share; none where it has no time."""

    reader: Reader
    stale: bool  # it read base files alone, where others had to merge
    cells: Mapping[float, SliceCell]


@dataclass(frozen=True)
class SliceTable:
    """A case, or a suite of queries."""

    title: str
    shares: Sequence[float]  # per cents of slices with logs, ascending
    # readers, the fastest at the largest share first, then those of base files alone
    rows: Sequence[SliceRow]
    engine: str | None  # what factors compare with; None: no engine on the JVM was measured


def slice_tables(one: RunSet) -> list[SliceTable]:
    """A table for each case that was measured at several shares of slices."""
    points = measured(one)
    found = []
    for figure in figures(one):
        if figure.axis.name != "share" or figure.measure != "time":
            continue
        held = [p for p in points_of(points, figure.what) if figure.axis.holds(p)]
        timed = {(p.reader, figure.axis.of(p)): p for p in held if p.stat is not None}
        found.append(_table(figure.what, timed))
    return found


def _table(what: str, timed: Mapping[tuple[Reader, float], Measured]) -> SliceTable:
    shares = sorted({share for _, share in timed})
    engines = [reader for reader, _ in timed if reader.name.startswith(_JVM_ENGINE)]
    engine = engines[0] if engines else None
    rows = [
        SliceRow(
            reader,
            any(point.stale for (own, _), point in timed.items() if own == reader),
            {
                share: _cell(point, timed.get((engine, share)) if engine else None)
                for share in shares
                if (point := timed.get((reader, share))) is not None
            },
        )
        for reader in dict.fromkeys(reader for reader, _ in timed)
    ]
    rows.sort(key=lambda row: (row.stale, row.cells[max(row.cells)].stat.median))
    return SliceTable(title_of(what), shares, rows, engine.label if engine else None)


def _cell(point: Measured, engine: Measured | None) -> SliceCell:
    assert point.stat is not None
    slices, seconds = sum(point.paths.values()), sum(point.spent.values())
    compares = engine is not None and engine is not point and not point.stale
    other = engine.stat if engine is not None and compares else None
    return SliceCell(
        stat=point.stat,
        link=point.link,
        native=100 * point.paths.get("native", 0) / slices if slices else None,
        times=other.median / point.stat.median if other and point.stat.median else None,
        spent={word: 100 * own / seconds for word, own in point.spent.items()} if seconds else {},
    )
