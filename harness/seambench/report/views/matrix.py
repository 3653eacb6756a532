"""The matrix as it stands in the page without a script: cases by rule and implementation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from seambench.report.views.outcomes import KINDS, SAID, Column, Share, shares_of, unfolded

_MOST_GROUPS = 60
#: A case of a table in several variants is one rule: `archived@v6`, `archived@v9`.
_VARIANT = re.compile(r"@[^/]*")
_SHORT = SAID | {"wrong": "wrong", "broken": "broke", "refused": "refused", "disputed": "disputed"}


@dataclass(frozen=True)
class Cell:
    """Cases of one group at one column."""

    kind: str  # the worst that is among them; `none`: there is no case
    text: str  # how many defects of that kind
    rest: str  # how many cases these are, if more, and the other kinds with their numbers

    @classmethod
    def of(cls, column: Column, cases: Sequence[str]) -> Cell:
        """A cell of so many defects of each kind; what is right or not offered counts by case."""
        ways: dict[str, set[str]] = {}
        for case in cases:
            ways.setdefault(column.outcomes[case].kind, set()).add(column.way(case))
        present = [kind for kind in KINDS if kind in ways]
        if not present:
            return cls("none", "", "")
        said = [f"{len(ways[kind])} {_SHORT[kind]}" for kind in present]
        counted = sum(column.outcomes[case].kind == present[0] for case in cases)
        if counted > len(ways[present[0]]):
            said.insert(1, f"in {counted} cases")
        return cls(present[0], said[0], ", ".join(said[1:]))


@dataclass(frozen=True)
class Row:
    """A group of cases: its path, and a cell for each column."""

    path: str
    cells: Sequence[Cell]

    def said(self, first: int) -> str:
        """How many of the first columns have which worst outcome, where cells are folded away."""
        counts = Counter(cell.kind for cell in self.cells[:first])
        return ", ".join(f"{counts[kind]} {_SHORT[kind]}" for kind in KINDS if counts[kind])


@dataclass(frozen=True)
class Matrix:
    """One seam: its columns, the shares of each by kind, and a row for each group of cases."""

    seam: str
    cases: int
    # how many columns are shown at once: the newest versions of others and one of ours. The others
    # are our other ways and older versions.
    first: int
    columns: Sequence[Column]
    shares: Sequence[Sequence[Share]]
    rows: Sequence[Row]


def matrices(columns: Sequence[Column]) -> list[Matrix]:
    """A matrix for each seam, that of most implementations first."""
    seams = Counter(column.seam for column in columns)
    return [_matrix(s, [one for one in columns if one.seam == s]) for s, _ in seams.most_common()]


def _matrix(seam: str, every: Sequence[Column]) -> Matrix:
    first = unfolded(every)
    rest = [one for one in every if one not in first]
    # Our other ways, then older versions of others, newest first.
    ours = [one for one in rest if not one.is_peer]
    older = [one for one in reversed(rest) if one.is_peer]
    columns = [*first, *ours, *older]
    cases = {case for column in columns for case in column.outcomes}
    depth = _depth(cases)
    listed: list[dict[str, list[str]]] = []
    for column in columns:
        by_group: dict[str, list[str]] = {}
        for case in column.outcomes:
            by_group.setdefault(_group(case, depth), []).append(case)
        listed.append(by_group)
    rows = [
        Row(path, [Cell.of(c, one.get(path, ())) for c, one in zip(columns, listed, strict=True)])
        for path in sorted({_group(case, depth) for case in cases})
    ]
    shares = [shares_of(column) for column in columns]
    return Matrix(seam, len(cases), len(first), columns, shares, rows)


def _depth(cases: Iterable[str]) -> int:
    """How many folders name a group: as many as leave no more groups than fit."""
    listed = list(cases)
    depths = range(2, 2 + max((case.count("/") for case in listed), default=0))
    fitting = [d for d in depths if len({_group(case, d) for case in listed}) <= _MOST_GROUPS]
    return max(fitting, default=2)


def _group(case: str, depth: int) -> str:
    folders = _VARIANT.sub("", case).split("/")[:-1]
    return "/".join(folders[:depth]) or case
