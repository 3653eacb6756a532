"""The cases that exist today: what records say of those that are gone is past."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence

from seambase.errors import SeambenchError
from seambench.conformance.load import load_cases
from seambench.report.views.outcomes import Column, group_of

#: Number of cases by seam and group.
Known = Mapping[str, Mapping[str, int]]


def without_gone(columns: Sequence[Column]) -> Known:
    """Take cases that exist no more out of columns.

    Cases of a group of which nothing is installed here are somebody's own, and stay.

    Each column gets to know, too, how many cases of today it was not asked. Columns are changed in
    place. It tells how many cases there are today and, of groups that are not installed, how many
    were recorded.
    """
    known: dict[str, Counter[str]] = {}
    for seam in dict.fromkeys(column.seam for column in columns):
        ids: set[str] = set()
        with contextlib.suppress(SeambenchError):
            ids = {case.id for case in load_cases(seam)}
        installed = {group_of(case) for case in ids}
        recorded: set[str] = set()
        for column in columns:
            if column.seam == seam:
                gone = [c for c in column.outcomes if group_of(c) in installed and c not in ids]
                for case in gone:
                    del column.outcomes[case]
                recorded |= set(column.outcomes)
        known[seam] = Counter(group_of(case) for case in ids | recorded)
        for column in columns:
            if column.seam == seam:
                column.missing = _missing(column, known[seam])
    return known


def _missing(column: Column, known: Mapping[str, int]) -> int:
    """How many cases of the groups of which it offers any it was never asked."""
    offered = {group_of(case) for case, seen in column.outcomes.items() if seen.kind != "off"}
    answered = sum(group_of(case) in offered for case in column.outcomes)
    return max(0, sum(known[group] for group in offered) - answered)
