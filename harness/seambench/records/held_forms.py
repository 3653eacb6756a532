"""What came of tables in other physical forms: a small file for each reader and table format."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from seambench.contracts.outcomes import Outcome
from seambench.contracts.seam import Case
from seambench.records.held_ways import HeldWays


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
