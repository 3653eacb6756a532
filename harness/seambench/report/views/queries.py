"""Queries over readers: ratio to the best of a row, and the geometric mean of the ratios."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seambench.report.views.runs import Measured, Reader, RunSet, measured
from seambench.report.views.stats import whole_mean

#: Seconds added to both sides of a ratio: a query of a millisecond does not win by a hundred.
CONSTANT = 0.001


@dataclass(frozen=True)
class Answer:
    """One query by one reader."""

    measured: Measured | None
    ratio: float | None = None  # to the best of the row; None for one that is stale or has no time
    same: bool = False  # no difference from the best


@dataclass(frozen=True)
class QueryRow:
    """A query, and an answer for each reader."""

    name: str
    answers: Sequence[Answer]


@dataclass(frozen=True)
class QueryTable:
    """All queries of a suite over one layout."""

    suite: str
    ratio: float
    share: float
    format: str
    variant: str
    readers: Sequence[Reader]
    stale: Sequence[bool]
    rows: Sequence[QueryRow]
    # of each reader the geometric mean of its ratios, where there is anybody to compare with; None
    # where one is missing
    means: Sequence[float | None]
    times: Sequence[float | None]  # the same of its seconds

    @property
    def id(self) -> str:
        """Of its element."""
        return f"{self.suite}-{self.format}-{self.variant}-{self.ratio:g}-{self.share:g}".replace(
            " ", "_"
        )

    @property
    def label(self) -> str:
        """For the choice of tables."""
        share = f" in {self.share:g} % of the slices" if self.share not in (0, 100) else ""
        variant = f" ({self.variant})" if self.variant else ""
        return f"{self.format}{variant}: {self.ratio:g} % of the rows updated{share}"


def query_tables(one: RunSet) -> list[QueryTable]:
    """A table for each suite and layout of a set; the one nearest to 20 % updates comes first."""
    groups: dict[tuple[str, str, str, float, float], list[Measured]] = {}
    for point in measured(one):
        if point.suite != "scan":
            reader = point.reader
            key = (point.suite, reader.format, reader.variant, point.ratio, point.share)
            groups.setdefault(key, []).append(point)
    order = sorted(groups, key=lambda key: (key[0], key[1], key[2], abs(key[3] - 20), -key[4]))
    return [_table(key, groups[key]) for key in order]


def _table(key: tuple[str, str, str, float, float], points: Sequence[Measured]) -> QueryTable:
    suite, format_, variant, ratio, share = key
    readers = list(dict.fromkeys(point.reader for point in points))
    by_place = {(point.case, point.reader): point for point in points}
    stale = [any(p.stale for p in points if p.reader == reader) for reader in readers]
    rows = [
        QueryRow(case.partition("/")[2], _answers([by_place.get((case, r)) for r in readers]))
        for case in sorted({point.case for point in points})
    ]
    answers = [[row.answers[at] for row in rows] for at in range(len(readers))]
    means = [whole_mean([answer.ratio for answer in listed]) for listed in answers]
    times = [whole_mean([_seconds(answer) for answer in listed]) for listed in answers]
    return QueryTable(suite, ratio, share, format_, variant, readers, stale, rows, means, times)


def _seconds(answer: Answer) -> float | None:
    one = answer.measured
    return one.stat.median if one and one.stat and not one.stale else None


def _answers(readings: Sequence[Measured | None]) -> list[Answer]:
    timed = [one.stat for one in readings if one and one.stat and not one.stale]
    best = min(timed, key=lambda stat: stat.median, default=None)
    answers = []
    for one in readings:
        if one is None or one.stat is None or one.stale or best is None or len(timed) < 2:
            answers.append(Answer(one))
            continue
        ratio = (CONSTANT + one.stat.median) / (CONSTANT + best.median)
        answers.append(Answer(one, ratio, one.stat is not best and one.stat.overlaps(best)))
    return answers
