"""Words for outcomes, and the exceptions by which a check tells them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from seambase.errors import SeambenchError
from seambench.contracts.common import Level

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
REFUSAL = "refusal"
"""What stands for a refusal where wrong answers have a digest."""
_FOLDERS = re.compile(r"/[^\s'\"]*/")
FAILING = frozenset({"fail", "xpass", "error", "timeout", "crash"})
"""Words that fail a run; the others do not."""


@dataclass(frozen=True)
class Difference:
    """A few of the rows that tell an answer from the right one, each value as text.

    Attributes:
        missing: rows that were expected and did not come.
        unexpected: rows that came and were not expected.
        missing_rows: how many of the first there are in all.
        unexpected_rows: how many of the second.
        digest: of all of them, every bit that counts, whatever their order.
    """

    columns: Sequence[str]
    missing: Sequence[Sequence[str]]
    unexpected: Sequence[Sequence[str]]
    missing_rows: int
    unexpected_rows: int
    digest: str = ""


class Mismatch(Exception):  # noqa: N818 - it is a finding about another's answer, not our error
    """The implementation's answer is wrong; the message says how.

    Args:
        message: one sentence.
        difference: the rows in question, where the answer is rows.
        refusal: what came was a refusal in a sentence, where an answer or another refusal was
            asked for: nobody was given wrong rows.
    """

    def __init__(
        self, message: str, difference: Difference | None = None, *, refusal: bool = False
    ) -> None:
        super().__init__(message)
        self.difference = difference
        self.refusal = refusal


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
        reason: one sentence for every outcome but `pass`: what came, whether that was known or not.
        level: of the case; a `should` that ends in `fail` does not fail the run.
        group: the format or the group of rules that the case belongs to.
        version: of the implementation; empty where it did not get as far as saying it.
        difference: of a wrong answer that is rows.
        must_refuse: what the case asks for is a refusal, no answer.
        refusal: of a `fail`: a refusal in a sentence came, and no wrong answer.
        known: of an `xfail` or `xpass`: why it was expected to fail; of another failure than the
            known one: how it is another.
        came: of an `xfail`: the word that it would have had.
        answer: of a case with several right answers, which of them came, from 1; 0 for others.
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
    must_refuse: bool = False
    refusal: bool = False
    known: str = ""
    came: Word | None = None
    answer: int = 0

    @property
    def digest(self) -> str:
        """What tells this wrong answer from others: of its rows, else of the reason.

        `REFUSAL` where a refusal came; empty where no answer did.
        """
        if "fail" not in (self.outcome, self.came):
            return ""
        if self.refusal:
            return REFUSAL
        if self.difference is not None:
            return self.difference.digest
        return short_digest(_FOLDERS.sub("", self.reason))

    @property
    def said(self) -> str:
        """What came, and what was known of it, in a line."""
        if self.outcome == "xfail":
            return f"{self.known} ({self.came}: {self.reason})"
        if self.known and self.outcome != "xpass":
            return f"{self.reason}; {self.known}"
        return self.reason

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
        return asdict(self) | {"seconds": round(self.seconds, 3), "digest": self.digest}


def short_digest(text: str) -> str:
    """A digest for people to copy."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]
