"""The first page: who is right, what merge-on-read costs, who wins from which chunk size on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seambench.contracts.formats import announced_formats
from seambench.report.views.costs import Cell, Curve, cost_at
from seambench.report.views.load import Loaded
from seambench.report.views.outcomes import (
    Column,
    Share,
    counts_of,
    group_of,
    matrix_link,
    newest_versions,
    shares_of,
)
from seambench.report.views.runs import RunSet, is_of_tables, is_scan, run_sets
from seambench.report.views.throughput import Family, Group

__all__ = ["RATIO", "Cost", "Right", "RightRow", "Start", "start_of"]

#: Per cent of the rows updated, where one figure must do.
RATIO = 20.0


@dataclass(frozen=True)
class RightRow:
    """One reader, and by table format what became of the cases that it offers."""

    column: Column
    shares: Sequence[Sequence[Share]]


@dataclass(frozen=True)
class Right:
    """Who is right, by table format; and the other seams, where groups are no formats."""

    formats: Sequence[str]
    rows: Sequence[RightRow]
    others: Sequence[tuple[Column, Sequence[Share]]]


@dataclass(frozen=True)
class Cost:
    """What a scan costs at `RATIO`.

    Attributes:
        rows: of each reader its curve's only point, and the length of its bar in per cent.
    """

    runs: RunSet
    what: str
    rows: Sequence[tuple[Curve, Cell, float]]


@dataclass(frozen=True)
class Start:
    """All of the first page."""

    finding: str
    wrong_link: str
    right: Right
    cost: Cost | None
    winners: tuple[Family, Sequence[Group]] | None


def start_of(loaded: Loaded, columns: Sequence[Column], comparing: Sequence[Family]) -> Start:
    """Put the first page together; `comparing` are families in which several compete."""
    newest = newest_versions(columns)
    wrong = sorted(
        (c for c in newest if counts_of(c)["wrong"]), key=lambda c: -counts_of(c)["wrong"]
    )
    link = matrix_link(wrong[0], kind="wrong") if wrong else "matrix.html"
    return Start(_finding(newest, wrong), link, _right(newest), _cost(loaded), _winners(comparing))


def _finding(newest: Sequence[Column], wrong: Sequence[Column]) -> str:
    """What was found, in a sentence or two."""
    if not newest:
        return "No conformance was recorded yet."
    cases = len({case for column in newest for case in column.outcomes})
    count = f"{len(newest)} implementation{'s' if len(newest) > 1 else ''}"
    if not wrong:
        return f"{cases:,} cases, {count}: none gives wrong rows without a word."
    said = [f"{c.name} {c.version} ({counts_of(c)['wrong']})" for c in wrong[:4]]
    more = f" and {len(wrong) - 4} more" if len(wrong) > 4 else ""
    verb = "gives" if len(wrong) == 1 else "give"
    return (
        f"{cases:,} cases, {count}: {len(wrong)} {verb} wrong answers without a word: "
        f"{', '.join(said)}{more}."
    )


def _right(newest: Sequence[Column]) -> Right:
    names = {format_.name for format_ in announced_formats()}
    of_formats: list[Column] = []
    others: list[tuple[Column, Sequence[Share]]] = []
    formats: set[str] = set()
    for column in newest:
        groups = {group_of(case) for case in column.outcomes}
        if groups <= names:
            of_formats.append(column)
            formats |= {g for g in groups if counts_of(column, g).keys() - {"off"}}
        else:
            others.append((column, shares_of(column, offered=True)))
    listed = sorted(formats)
    ordered = sorted(of_formats, key=lambda c: (not c.is_peer, -counts_of(c)["wrong"], c.name))
    rows = [
        RightRow(column, [shares_of(column, name, offered=True) for name in listed])
        for column in ordered
    ]
    return Right(listed, [row for row in rows if any(row.shares)], others)


def _cost(loaded: Loaded) -> Cost | None:
    """The newest of the runs that compare the most formats."""
    known = [
        (one, found)
        for one in run_sets(loaded.records, is_of_tables, is_scan)
        if (found := cost_at(one, RATIO)) and not all(curve.stale for curve in found[1])
    ]
    if not known:
        return None
    one, (what, curves) = max(known, key=lambda run: len({c.reader.format for c in run[1][1]}))
    plain = {curve.reader.format for curve in curves if not curve.reader.variant}
    curves = [c for c in curves if not c.reader.variant or c.reader.format not in plain]
    longest = max(curve.cells[0].stat.median for curve in curves)
    ordered = sorted(curves, key=lambda c: (c.reader.format, c.cells[0].stat.median))
    rows = [
        (curve, curve.cells[0], max(1.0, 100 * curve.cells[0].stat.median / longest))
        for curve in ordered
    ]
    return Cost(one, what, rows)


def _winners(comparing: Sequence[Family]) -> tuple[Family, Sequence[Group]] | None:
    """The first family in which ways compete at several numbers of rows."""
    for family in comparing:
        groups = [group for group in family.groups if len(group.rows) > 1 and group.turns]
        if family.by_ways and groups:
            plan = groups[0].label.partition(",")[0]
            return family, [g for g in groups if g.label.partition(",")[0] == plan]
    return None
