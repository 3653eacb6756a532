"""What came of random tables: how many were written, asked of, and answered otherwise."""

from __future__ import annotations

from pathlib import Path

import msgspec

from seambench.report.views.load import Problem

__all__ = ["RandomTables", "random_tables"]


class RandomTables(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One comparison of a reader with the writers of random tables, over all of them.

    Attributes:
        format: of the tables.
        writer: whose own readers are the witness.
        impl: the reader that was compared.
        date: of the comparison.
        tables: written and read.
        answers: compared, one for each question that the writer answered with rows.
        differences: of these, answers with other rows and no known reason.
        listed: differences with a known reason: a rule that one version of the writer has alone, or
            a table that the reader refuses by name; None: not counted.
        unwritten: tables that the writer could not write; None: not counted.
        unanswered: questions that the writer did not answer; None: not counted.
        unasked: questions that could not be put to the reader; None: not counted.
    """

    format: str
    writer: str
    impl: str
    date: str
    tables: int
    answers: int
    differences: int
    listed: int | None = None
    unwritten: int | None = None
    unanswered: int | None = None
    unasked: int | None = None


def random_tables(folder: Path, problems: list[Problem]) -> list[RandomTables]:
    """The comparisons of a results folder, by format and reader.

    Args:
        folder: `results/random`; it may be missing.
        problems: receives the files that hold none, and why.
    """
    found = []
    for path in sorted(folder.glob("*.json")):
        try:
            found.append(msgspec.json.decode(path.read_bytes(), type=RandomTables))
        except (msgspec.MsgspecError, OSError, UnicodeDecodeError) as error:
            problems.append(Problem(f"{folder.name}/{path.name}", str(error)))
    return sorted(found, key=lambda one: (one.format, one.impl))
