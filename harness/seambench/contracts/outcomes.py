"""Words for outcomes, and the exceptions by which a check tells them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

__all__ = ["FAILING", "WORDS", "Mismatch", "NotOffered", "Outcome", "Word"]

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


class Mismatch(Exception):  # noqa: N818 - it is a finding about another's answer, not our error
    """The implementation's answer is wrong; the message says how."""


class NotOffered(Exception):  # noqa: N818 - as above
    """The implementation does not state what the case needs."""


@dataclass(frozen=True)
class Outcome:
    """What became of one case with one implementation.

    Attributes:
        seconds: time the check took, unpacking and comparing included; no benchmark.
        reason: one sentence for every outcome but `pass`.
    """

    seam: str
    implementation: str
    case: str
    outcome: Word
    seconds: float = 0.0
    reason: str = ""

    @property
    def failed(self) -> bool:
        """Whether this outcome fails the run."""
        return self.outcome in FAILING

    def to_json(self) -> dict[str, Any]:
        """The outcome as one JSON object."""
        return asdict(self) | {"seconds": round(self.seconds, 3)}
