"""What came of cases through every outlet of a scan, for each reader and table format."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Sequence

import msgspec

from seambench.contracts.outcomes import Outcome
from seambench.records.facts import without_folders

#: Reasons that differ by what stands in brackets, or behind a colon, are one.
_DETAILS = (" (", ": ")


class HeldWays(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A reader over all tables of a format, through every outlet.

    Attributes:
        impl: the reader.
        version: of the reader.
        date: of the run.
        outlets: how many opened for some case.
        answers: cases through an outlet that opened.
        differences: of these, answers with other rows than the plain read has.
        closed: by outlet, how many cases did not take it for which reason.
    """

    format: str
    impl: str
    version: str
    date: str
    outlets: int
    answers: int
    differences: int
    closed: dict[str, dict[str, int]]


def held_ways(outcomes: Sequence[Outcome]) -> list[HeldWays]:
    """The outcomes of a pass over outlets by implementation and format; of another none."""
    if not all("#" in one.case for one in outcomes):
        return []
    found = []
    for impl, group in dict.fromkeys((one.implementation, one.group) for one in outcomes):
        mine = [one for one in outcomes if (one.implementation, one.group) == (impl, group)]
        asked = [one for one in mine if one.outcome != "not-offered"]
        closed: dict[str, Counter[str]] = {}
        for one in mine:
            if one.outcome == "not-offered":
                closed.setdefault(_outlet(one), Counter())[_kind(one.reason)] += 1
        found.append(
            HeldWays(
                format=group,
                impl=impl,
                version=mine[0].version,
                date=dt.date.today().isoformat(),
                outlets=len({_outlet(one) for one in asked}),
                answers=len(asked),
                differences=sum(one.failed for one in asked),
                closed={outlet: dict(reasons) for outlet, reasons in sorted(closed.items())},
            )
        )
    return found


def _outlet(outcome: Outcome) -> str:
    return outcome.case.rpartition("#")[2]


def _kind(reason: str) -> str:
    """A reason without the details that tell cases apart."""
    line = without_folders(" ".join(reason.split()))
    return min((line.partition(mark)[0] for mark in _DETAILS), key=len)
