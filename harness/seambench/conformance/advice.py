"""What a run of cases says beyond each outcome: failures that are alike, what is not offered."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from seambench.contracts.outcomes import Outcome
from seambench.contracts.seam import Case

_VARIABLE = re.compile(
    # A column of Delta's column mapping is called col-UUID in files.
    r"\b(?:col-)?[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    r"|/[^\s'\"()]+|'[^']*'|\"[^\"]*\"|\([^()]*\)|\[[^\[\]]*\]|\b\d[\d.,]*\b"
)
_MOST_ADDITIONS = 5
_MOST_WORDS = 4


@dataclass
class Group:
    """Outcomes of one implementation that are alike."""

    implementation: str
    outcome: str
    likeness: str
    members: list[Outcome] = field(default_factory=list)


@dataclass(frozen=True)
class Addition:
    """Capabilities, by stating which an implementation would be put to so many cases more."""

    words: tuple[str, ...]
    cases: int


def likeness(outcome: Outcome) -> str:
    """A reason without what differs from case to case: names, numbers, rows."""
    rows = outcome.difference
    if rows is not None:
        parts = [
            word
            for word, total in (
                ("rows are missing", rows.missing_rows),
                ("rows came that should not", rows.unexpected_rows),
            )
            if total
        ]
        return " and ".join(parts)
    # What an exception says of its own data follows on further lines, or behind its first sentence.
    return _VARIABLE.sub("…", outcome.reason.partition("\n")[0])


def groups(outcomes: Iterable[Outcome]) -> list[Group]:
    """Failed outcomes by implementation, word and likeness; the largest group first."""
    found: dict[tuple[str, str, str], Group] = {}
    for one in outcomes:
        if one.failed:
            key = (one.implementation, one.outcome, likeness(one))
            found.setdefault(key, Group(*key)).members.append(one)
    return sorted(found.values(), key=lambda group: -len(group.members))


def additions(cases: Sequence[Case], stated: frozenset[str]) -> list[Addition]:
    """What stating further capabilities would add, what adds most for fewest words first.

    A case counts for the words that it still needs, and for every larger set of them.
    """
    needs = Counter(
        tuple(sorted(missing)) for case in cases if (missing := set(case.needs) - stated)
    )
    found = []
    for words in needs:
        if len(words) <= _MOST_WORDS or not stated:
            covered = sum(count for other, count in needs.items() if set(other) <= set(words))
            found.append(Addition(words, covered))
    return sorted(found, key=lambda one: (len(one.words), -one.cases, one.words))[:_MOST_ADDITIONS]
