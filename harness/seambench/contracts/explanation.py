"""What a case is about, for people: on the page, by commands, in reports of defects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from seambase.wording import counted


@dataclass(frozen=True)
class ShownRows:
    """Rows as text.

    Attributes:
        rows: a text for each column of each row.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Step:
    """One step in the life of what a case reads: a write, a service, an edit of a file.

    Attributes:
        title: what was done, e.g. `upsert`, or a statement of SQL.
        detail: how, in one line; may be empty.
        rows: what was written, if that is known.
    """

    title: str
    detail: str = ""
    rows: ShownRows | None = None

    def __str__(self) -> str:
        return f"{self.title} of {counted(len(self.rows.rows), 'row')}" if self.rows else self.title


@dataclass(frozen=True)
class Explanation:
    """A case explained.

    Attributes:
        rule: what must hold.
        sources: where the rule is written down, or engines were found to break it.
        file: where the case lies, below its suite's folder.
        life: of the table, or whatever is read.
        request: what is asked, by name of the option.
        expected: right answers; more than one where each of them is right.
        outcome: in words what must come where that is no rows.
        definition: the case's own text, where life and request do not say it all.
    """

    rule: str
    sources: Sequence[str] = ()
    file: str = ""
    life: Sequence[Step] = ()
    request: Mapping[str, str] = field(default_factory=dict)
    expected: Sequence[ShownRows] = ()
    outcome: str = ""
    definition: str = ""
