"""What came of tables in other physical forms: a small file for each reader and table format.

What came of cases through every outlet of a scan, for each reader and table format.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from seambench.contracts.outcomes import Outcome
from seambench.contracts.seam import Case
from seambench.records.facts import without_folders


class Held(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A reader over all tables of a format."""

    format: str
    impl: str  # the reader
    version: str  # of the reader
    date: str  # of the run
    answers: int  # cases put to it
    differences: int  # of these, answers with other rows than the case, or the plain read, has


class HeldForms(Held, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A reader over the forms that tables can take."""

    forms: int  # how many had a place in some table
    variants: int  # tables in a form
    left_out: int  # cases that the reader does not pass as they stand, so that no form was shown


class HeldWays(Held, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A reader through every outlet."""

    outlets: int  # how many opened for some case
    closed: dict[str, dict[str, int]]  # by outlet, how many cases did not take it for which reason


def held_forms(cases: Iterable[Case], outcomes: Sequence[Outcome]) -> list[HeldForms]:
    """The outcomes of a pass over varied cases, counted by implementation and format."""
    # What stands behind the mark is the form; a case as it stands has none.
    subjects = {case.id: case.subject for case in cases if not case.subject.endswith("#")}
    if not any("#" in subject for subject in subjects.values()):
        return []
    found = []
    for mine in _by_reader(outcomes):
        answered = [one for one in mine if one.case in subjects]
        about = {subjects[one.case] for one in answered}
        forms = {subject.rpartition("#")[2] for subject in about}
        left_out = len(mine) - len(answered)
        shared = _shared(mine, answered)
        found.append(HeldForms(**shared, forms=len(forms), variants=len(about), left_out=left_out))
    return found


def held_ways(outcomes: Sequence[Outcome]) -> list[HeldWays]:
    """The outcomes of a pass over outlets by implementation and format; of another none."""
    if not all("#" in one.case for one in outcomes):
        return []
    found = []
    for mine in _by_reader(outcomes):
        answered = [one for one in mine if one.outcome != "not-offered"]
        closed: dict[str, Counter[str]] = {}
        for one in mine:
            if one.outcome == "not-offered":
                closed.setdefault(_outlet(one), Counter())[_kind(one.reason)] += 1
        by_outlet = {outlet: dict(reasons) for outlet, reasons in sorted(closed.items())}
        outlets = len({_outlet(one) for one in answered})
        found.append(HeldWays(**_shared(mine, answered), outlets=outlets, closed=by_outlet))
    return found


def write_held(results: Path, held: HeldForms | HeldWays) -> Path:
    """Write one into `forms/` or `ways/` of a results folder, in the place of an older one."""
    folder = results / ("forms" if isinstance(held, HeldForms) else "ways")
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{held.impl.replace('/', '-')}-{held.format}.json"
    file.write_bytes(msgspec.json.format(msgspec.json.encode(held), indent=1) + b"\n")
    return file


def _by_reader(outcomes: Sequence[Outcome]) -> list[list[Outcome]]:
    """Outcomes of one implementation and format each, in their order."""
    found: dict[tuple[str, str], list[Outcome]] = {}
    for one in outcomes:
        found.setdefault((one.implementation, one.group), []).append(one)
    return list(found.values())


def _shared(mine: Sequence[Outcome], answered: Sequence[Outcome]) -> dict[str, Any]:
    return {
        "format": mine[0].group,
        "impl": mine[0].implementation,
        "version": mine[0].version,
        "date": dt.date.today().isoformat(),
        "answers": len(answered),
        "differences": sum(one.failed for one in answered),
    }


#: Reasons that differ by what stands in brackets, or behind a colon, are one.
_DETAILS = (" (", ": ")


def _outlet(outcome: Outcome) -> str:
    return outcome.case.rpartition("#")[2]


def _kind(reason: str) -> str:
    """A reason without the details that tell cases apart."""
    line = without_folders(" ".join(reason.split()))
    return min((line.partition(mark)[0] for mark in _DETAILS), key=len)
