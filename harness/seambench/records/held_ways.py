"""What came of cases through every door of a scan, for each reader and table format."""

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
    """A reader over all tables of a format, through every door.

    Attributes:
        format: of the tables.
        impl: the reader.
        version: of the reader.
        date: of the run.
        doors: how many opened for some case.
        answers: cases through a door that opened.
        differences: of these, answers with other rows than the plain read has.
        closed: by door, how many cases did not take it for which reason.
    """

    format: str
    impl: str
    version: str
    date: str
    doors: int
    answers: int
    differences: int
    closed: dict[str, dict[str, int]]


def held_ways(outcomes: Sequence[Outcome]) -> list[HeldWays]:
    """The outcomes of a pass over doors, counted by implementation and format; of another none."""
    if not all("#" in one.case for one in outcomes):
        return []
    found = []
    for impl, group in dict.fromkeys((one.implementation, one.group) for one in outcomes):
        mine = [one for one in outcomes if (one.implementation, one.group) == (impl, group)]
        asked = [one for one in mine if one.outcome != "not-offered"]
        closed: dict[str, Counter[str]] = {}
        for one in mine:
            if one.outcome == "not-offered":
                closed.setdefault(_door(one), Counter())[_kind(one.reason)] += 1
        found.append(
            HeldWays(
                format=group,
                impl=impl,
                version=mine[0].version,
                date=dt.date.today().isoformat(),
                doors=len({_door(one) for one in asked}),
                answers=len(asked),
                differences=sum(one.failed for one in asked),
                closed={door: dict(reasons) for door, reasons in sorted(closed.items())},
            )
        )
    return found


def _door(outcome: Outcome) -> str:
    return outcome.case.rpartition("#")[2]


def _kind(reason: str) -> str:
    """A reason without the details that tell cases apart."""
    line = without_folders(" ".join(reason.split()))
    return min((line.partition(mark)[0] for mark in _DETAILS), key=len)
