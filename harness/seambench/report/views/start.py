"""The first page: who is right, what merge-on-read costs, who wins from which chunk size on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from seambase.wording import counted
from seambench.contracts.formats import announced_formats
from seambench.contracts.peers.catalogue import catalogue
from seambench.contracts.registry import find_seam, library_name
from seambench.report.views.costs import Cell, Curve, cost_at
from seambench.report.views.load import Loaded, named
from seambench.report.views.outcomes import (
    Column,
    Known,
    Share,
    counts_of,
    group_of,
    matrix_link,
    newest_versions,
    shares_of,
    unfolded,
    ways_of,
)
from seambench.report.views.runs import RunSet, is_of_tables, is_scan, run_sets
from seambench.report.views.throughput import Family, Group

#: Per cent of the rows updated, where one figure must do.
RATIO = 20.0
#: What a reader can be that says nothing of how a format is read today.
_FLOOR, _PAST = "a floor", "an old release"


@dataclass(frozen=True)
class FormatCases:
    """What became of the cases of a format that a reader states."""

    shares: Sequence[Share]  # by kind, worst first
    stated: int  # how many cases it was asked, as it states what they need
    of: int  # how many the format has

    @property
    def reach(self) -> float:
        """Per cent of the format's cases that it states."""
        return 100 * self.stated / self.of

    @property
    def said(self) -> str:
        """In words."""
        right = sum(share.count for share in self.shares if share.kind == "right")
        return f"{right} of {self.stated} right; the format has {counted(self.of, 'case')}"


@dataclass(frozen=True)
class RightRow:
    """One reader, and what became of the cases that it states, by table format."""

    column: Column
    label: str
    by_format: Sequence[FormatCases | None]


@dataclass(frozen=True)
class Right:
    """Who is right."""

    formats: Sequence[str]  # names of table formats
    peers: Sequence[RightRow]  # readers of others, the most wrong first
    # readers of files that know nothing of the formats these files belong to
    floors: Sequence[RightRow]
    past: Sequence[RightRow]  # readers of others that cannot be had as their projects are today
    # of a seam whose implementations make what readers take, the most wrong first
    writers: Sequence[RightRow]
    ours: Sequence[RightRow]  # the library, as users read with it
    variants: Sequence[RightRow]  # its other paths
    # implementations of the other seams, where groups are no formats
    others: Sequence[tuple[Column, Sequence[Share]]]

    @property
    def parts(self) -> Sequence[tuple[str, Sequence[RightRow]]]:
        """Rows in the order of the page, each part with what it is."""
        return [
            ("", self.peers),
            ("old releases: no newer one of these readers can be had", self.past),
            ("floors: they read files, and know nothing of the table", self.floors),
            ("the library of this project", self.ours),
            ("writers: rows after each step of a script, and metadata", self.writers),
        ]


@dataclass(frozen=True)
class Cost:
    """What a scan costs at `RATIO`."""

    runs: RunSet
    what: str
    # of each reader its curve's only point, and the length of its bar in per cent
    rows: Sequence[tuple[Curve, Cell, float]]


@dataclass(frozen=True)
class Start:
    """All of the first page."""

    finding: str
    wrong_link: str
    right: Right
    cost: Cost | None
    # of a run that came with no checkout; else, without any `cost`, of a machine that did other
    # work, too
    other_cost: Cost | None
    winners: tuple[Family, Sequence[Group]] | None


def start_of(
    loaded: Loaded,
    columns: Sequence[Column],
    comparing: Sequence[Family],
    known: Known,
    figured: Loaded | None = None,
) -> Start:
    """Put the first page together.

    `loaded` are all records of a quiet machine that came with the checkout, or all such if there is
    none, `figured` all records with figures; `comparing` are families in which several compete,
    `known` the cases of today.
    """
    newest = newest_versions(columns)
    wrong = sorted(
        (c for c in newest if counts_of(c)["wrong"] and not _apart(c)),
        key=lambda c: (-_ways(c), -counts_of(c)["wrong"]),
    )
    link = matrix_link(wrong[0], kind="wrong") if wrong else "matrix.html"
    right = _right(newest, known)
    cost, other = _cost(loaded), None
    if figured is not None:
        other = _cost(figured.of(visitors=True)) or (None if cost else _cost(figured))
    return Start(_finding(newest, wrong), link, right, cost, other, _winners(comparing))


def newer_of(name: str, version: str) -> str:
    """The release of its project that a peer's version is behind of and cannot be had in."""
    peer = catalogue().get(("scan", name))
    return peer.newer(version) if peer else ""


def _apart(column: Column) -> str:
    """Why a reader accuses nobody of today, by what the catalogue says of it; mostly empty."""
    peer = catalogue().get((column.seam, column.name))
    if peer and peer.floor:
        return _FLOOR
    return _PAST if peer and peer.newer(column.version) else ""


def _finding(newest: Sequence[Column], wrong: Sequence[Column]) -> str:
    """What was found, in a sentence or two; floors and old releases are counted, and no more."""
    if not newest:
        return "No conformance was recorded yet."
    cases = len({case for column in newest for case in column.outcomes})
    # However many ways this project has of its own, at a seam it is one.
    number = len({(c.seam, c.name if c.is_peer else "") for c in newest})
    count = counted(number, "implementation")
    if not wrong:
        excused = sorted({_apart(c) for c in newest if counts_of(c)["wrong"]})
        none = f"none but {' and '.join(excused)}" if excused else "none"
        return f"{counted(cases, 'case')}, {count}: {none} gives wrong rows without a word."
    said = [
        f"{'' if c.is_peer else 'our '}{named(c.name, c.version)} ({counted(_ways(c), 'way')})"
        for c in wrong[:4]
    ]
    more = f" and {len(wrong) - 4} more" if len(wrong) > 4 else ""
    verb = "gives" if len(wrong) == 1 else "give"
    return (
        f"{counted(cases, 'case')}, {count}: {len(wrong)} {verb} wrong answers without a word: "
        f"{', '.join(said)}{more}."
    )


def _ways(column: Column) -> int:
    return ways_of(column, "wrong")


def _right(newest: Sequence[Column], known: Known) -> Right:
    names = {format_.name for format_ in announced_formats()}
    of_formats: list[Column] = []
    others: list[tuple[Column, Sequence[Share]]] = []
    formats: set[str] = set()
    by_seam = ([c for c in newest if c.seam == seam] for seam in {c.seam for c in newest})
    first = [one for columns in by_seam for one in unfolded(columns)]
    for column in newest:
        groups = {group_of(case) for case in column.outcomes}
        if groups <= names:
            of_formats.append(column)
            formats |= {g for g in groups if counts_of(column, g).keys() - {"off"}}
        elif column in first:
            others.append((column, shares_of(column, offered=True)))
    listed = sorted(formats)
    ordered = sorted(of_formats, key=lambda c: (-_ways(c), -counts_of(c)["wrong"], c.name))
    rows = [_right_row(column, listed, known.get(column.seam, {})) for column in ordered]
    rows = [row for row in rows if any(row.by_format)]
    writers = [row for row in rows if find_seam(row.column.seam).reader]
    peers = [row for row in rows if row.column.is_peer and row not in writers]
    own = [row for row in rows if not row.column.is_peer]
    # What users get is the path that reads the most.
    best = max(own, key=lambda row: sum(one.stated for one in row.by_format if one), default=None)
    return Right(
        formats=listed,
        peers=[row for row in peers if not _apart(row.column)],
        floors=[row for row in peers if _apart(row.column) == _FLOOR],
        past=[row for row in peers if _apart(row.column) == _PAST],
        writers=writers,
        ours=[replace(best, label=library_name())] if best else [],
        variants=[row for row in own if row is not best],
        others=others,
    )


def _right_row(column: Column, formats: Sequence[str], known: Mapping[str, int]) -> RightRow:
    by_format: list[FormatCases | None] = []
    for name in formats:
        shares = shares_of(column, name, offered=True)
        stated = sum(share.count for share in shares)
        of = max(known.get(name, 0), stated)
        by_format.append(FormatCases(shares, stated, of) if shares else None)
    return RightRow(column, column.name, by_format)


def _cost(loaded: Loaded) -> Cost | None:
    """The newest of the runs that compare the most formats."""
    known = [
        (one, drawn)
        for one in run_sets(loaded.records, is_of_tables, is_scan)
        if (drawn := cost_at(one, RATIO)) and not all(curve.stale for curve in drawn[1])
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
