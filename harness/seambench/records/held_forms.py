"""What came of tables in other physical forms: a small file for each reader and table format.

What came of cases through every outlet of a scan, for each reader and table format.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from seambench.contracts.outcomes import Outcome
from seambench.contracts.seam import Case
from seambench.records.facts import without_folders


class HeldForms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A reader over all tables of a format in the forms that they can take.

    Attributes:
        impl: the reader.
        version: of the reader.
        date: of the run.
        forms: how many had a place in some table.
        variants: tables in a form.
        answers: cases put to them.
        differences: of these, answers that were not the case's rows.
        left_out: cases that the reader does not pass as they stand, so that no form was shown.
    """

    format: str
    impl: str
    version: str
    date: str
    forms: int
    variants: int
    answers: int
    differences: int
    left_out: int


def held_forms(cases: Iterable[Case], outcomes: Sequence[Outcome]) -> list[HeldForms]:
    """The outcomes of a pass over varied cases, counted by implementation and format."""
    # What is told behind the mark is the form; a case as it stands has none.
    subjects = {case.id: case.subject for case in cases if not case.subject.endswith("#")}
    if not any("#" in subject for subject in subjects.values()):
        return []
    found = []
    for impl, group in dict.fromkeys((one.implementation, one.group) for one in outcomes):
        mine = [one for one in outcomes if (one.implementation, one.group) == (impl, group)]
        asked = [one for one in mine if one.case in subjects]
        about = {subjects[one.case] for one in asked}
        found.append(
            HeldForms(
                format=group,
                impl=impl,
                version=mine[0].version,
                date=dt.date.today().isoformat(),
                forms=len({subject.rpartition("#")[2] for subject in about}),
                variants=len(about),
                answers=len(asked),
                differences=sum(one.failed for one in asked),
                left_out=len(mine) - len(asked),
            )
        )
    return found


def write_held(results: Path, held: HeldForms | HeldWays) -> Path:
    """Write one into `forms/` or `ways/` of a results folder, in the place of an older one."""
    folder = results / ("forms" if isinstance(held, HeldForms) else "ways")
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{held.impl.replace('/', '-')}-{held.format}.json"
    file.write_bytes(msgspec.json.format(msgspec.json.encode(held), indent=1) + b"\n")
    return file


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
