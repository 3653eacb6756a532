"""What came of random tables, tables in other forms, and outlets: how many answers were wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from seambench.contracts.registry import library_name
from seambench.records.held_forms import HeldForms, HeldWays
from seambench.report.views.load import Problem

_Counts = TypeVar("_Counts", "HeldForms", "HeldWays", "RandomTables")


class RandomTables(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One comparison of a reader with the writers of random tables, over all of them."""

    format: str
    writer: str  # whose own readers are the witness
    impl: str  # the reader that was compared
    date: str  # of the comparison
    tables: int  # written and read
    answers: int  # compared, one for each question that the writer answered with rows
    differences: int  # of these, answers with other rows and no known reason
    # differences with a known reason: a rule that one version of the writer has alone, or a table
    # that the reader refuses by name; None: not counted
    listed: int | None = None
    unwritten: int | None = None  # tables that the writer could not write; None: not counted
    unanswered: int | None = None  # questions that the writer did not answer; None: not counted
    unasked: int | None = None  # questions that could not be put to the reader; None: not counted


def random_tables(folder: Path, problems: list[Problem]) -> list[RandomTables]:
    """The comparisons of `results/random`, which may be missing, by format and reader."""
    return _counts(folder, RandomTables, problems)


def varied_tables(folder: Path, problems: list[Problem]) -> list[HeldForms]:
    """What readers made of tables in other forms, `results/forms`; see `random_tables`."""
    return _counts(folder, HeldForms, problems)


def held_ways(folder: Path, problems: list[Problem]) -> list[HeldWays]:
    """What came through the outlets of scans, `results/ways`; see `random_tables`."""
    return _counts(folder, HeldWays, problems)


def by_path(rows: Sequence[_Counts]) -> list[tuple[str, Sequence[_Counts]]]:
    """The rows of the reader that answered most, the library as it is used, and those of others."""
    answers: Counter[str] = Counter()
    for one in rows:
        answers[one.impl] += one.answers
    best = max(answers, key=answers.__getitem__)
    others = [one for one in rows if one.impl != best]
    parts: list[tuple[str, Sequence[_Counts]]] = [
        (library_name(), [one for one in rows if one.impl == best])
    ]
    if others:
        parts.append(
            (
                "other paths of the library: " + ", ".join(dict.fromkeys(o.impl for o in others)),
                others,
            )
        )
    return parts


def _counts(folder: Path, kind: type[_Counts], problems: list[Problem]) -> list[_Counts]:
    """The files of a folder that hold counts of a kind."""
    found: list[_Counts] = []
    for path in sorted(folder.glob("*.json")):
        try:
            found.append(msgspec.json.decode(path.read_bytes(), type=kind))
        except (msgspec.MsgspecError, OSError, UnicodeDecodeError) as error:
            problems.append(Problem(f"{folder.name}/{path.name}", str(error)))
    return sorted(found, key=lambda one: (one.format, one.impl))
