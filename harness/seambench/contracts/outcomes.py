"""Words for outcomes, and the exceptions by which a check tells them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from seambase.errors import SeambenchError
from seambench.contracts.common import Level

__all__ = [
    "FAILING",
    "ROWS_KEPT",
    "WORDS",
    "CrashError",
    "Difference",
    "Mismatch",
    "NotOffered",
    "Outcome",
    "ProtocolError",
    "TimedOutError",
    "Word",
]

Word = Literal[
    "pass",
    "fail",
    "xfail",
    "xpass",
    "not-offered",
    "unavailable",
    "error",
    "timeout",
    "crash",
]
WORDS: tuple[str, ...] = get_args(Word)
FAILING = frozenset({"fail", "xpass", "error", "timeout", "crash"})
"""Words that fail a run; the others do not."""


ROWS_KEPT = 20
"""Rows of each kind that a difference keeps; it counts all."""

_ROWS_TOLD = 3


@dataclass(frozen=True)
class Difference:
    """What tells the rows that came from those that must; as text, one sentence.

    Attributes:
        columns: their names.
        expected: number of rows that must come.
        read: number of rows that came.
        missing: the first rows that did not come, a text for each value.
        unexpected: the first rows that should not have come.
        missing_total: how many did not come.
        unexpected_total: how many should not have come.
    """

    columns: Sequence[str]
    expected: int
    read: int
    missing: Sequence[Sequence[str]] = ()
    unexpected: Sequence[Sequence[str]] = ()
    missing_total: int = 0
    unexpected_total: int = 0

    def __str__(self) -> str:
        parts = []
        for word, rows, total in (
            ("missing", self.missing, self.missing_total),
            ("unexpected", self.unexpected, self.unexpected_total),
        ):
            if rows:
                shown = ", ".join(map(self._row, rows[:_ROWS_TOLD]))
                more = total - len(rows[:_ROWS_TOLD])
                parts.append(f"{word} {shown}" + (f" and {more} more" if more else ""))
        return f"{self.expected} rows expected, {self.read} read: " + "; ".join(parts)

    def _row(self, row: Sequence[str]) -> str:
        cells = zip(self.columns, row, strict=True)
        return "(" + ", ".join(f"{name}={value}" for name, value in cells) + ")"


class Mismatch(Exception):  # noqa: N818 - it is a finding about another's answer, not our error
    """The implementation's answer is wrong; the message says how.

    Attributes:
        difference: the rows by which it is, where it is rows.
    """

    def __init__(self, reason: str, difference: Difference | None = None) -> None:
        super().__init__(reason)
        self.difference = difference


class NotOffered(Exception):  # noqa: N818 - as above
    """The implementation does not state what the case needs."""


class CrashError(SeambenchError):
    """A program behind a door ended in a way that is neither success nor a refusal."""


class TimedOutError(SeambenchError):
    """A program behind a door did not finish in time and was killed."""


class ProtocolError(SeambenchError):
    """What came through a door is not what the door's contract says; never a refusal."""


@dataclass(frozen=True)
class Outcome:
    """What became of one case with one implementation.

    Attributes:
        seconds: time the check took, unpacking and comparing included; no benchmark.
        reason: one sentence for every outcome but `pass`.
        level: of the case; a `should` that ends in `fail` does not fail the run.
        group: the format or the group of rules that the case belongs to.
        version: of the implementation; empty where it did not get as far as saying it.
        difference: the rows by which an answer is wrong, where it is rows.
    """

    seam: str
    implementation: str
    case: str
    outcome: Word
    seconds: float = 0.0
    reason: str = ""
    level: Level = "must"
    group: str = ""
    version: str = ""
    difference: Difference | None = None

    @property
    def failed(self) -> bool:
        """Whether this outcome fails the run."""
        return self.outcome in FAILING and (self.level, self.outcome) != ("should", "fail")

    @property
    def is_verdict(self) -> bool:
        """Whether the implementation was put to the case, and judged."""
        return self.outcome not in ("not-offered", "unavailable")

    def to_json(self) -> dict[str, Any]:
        """The outcome as one JSON object."""
        return asdict(self) | {"seconds": round(self.seconds, 3)}
