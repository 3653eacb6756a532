"""The matrix: what became of every case, by implementation and by the rule that it tests.

Of each implementation and version the newest outcome of a case counts. Cases are grouped by folder;
a group is as deep as leaves a table that can be read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from seambench.contracts.outcomes import Word
from seambench.report.load import Shown

__all__ = ["KINDS", "Cell", "Column", "Matrix", "columns_of", "matrices", "summary"]

#: What a visitor must tell apart, worst first: wrong rows without a word; a crash or an error; a
#: refusal of what is offered; a rule whose reading is disputed; right; not asked. That a failure is
#: known excuses nobody here.
KINDS = ("wrong", "broken", "refused", "disputed", "right", "off")
_SAID = {
    "wrong": "wrong",
    "broken": "broke",
    "refused": "refused",
    "disputed": "disputed",
    "right": "right",
    "off": "not offered",
}
_OF_WORD: dict[Word, str] = {
    "pass": "right",
    "xpass": "broken",
    "not-offered": "off",
    "unavailable": "off",
    "error": "broken",
    "timeout": "broken",
    "crash": "broken",
}
#: What stood behind a known failure, at the end of its reason.
_KNOWN_BROKEN = re.compile(r"\((?:error|timeout|crash): ")
_MOST_GROUPS = 70
#: A case of a table in several variants is one rule: `archived@v6`, `archived@v9`.
_VARIANT = re.compile(r"@[^/]*")


@dataclass
class Column:
    """One implementation, in one version, at one seam.

    Attributes:
        file: copy of its newest record, for links.
        outcomes: by case, its kind and its word.
        reasons: by case.
    """

    seam: str
    name: str
    version: str
    file: str
    outcomes: dict[str, tuple[str, Word]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def view(self, depth: int) -> dict[str, Any]:
        """Plain data for the page's script: cases by group, and by kind and word."""
        groups: dict[str, dict[str, list[str]]] = {}
        for case, (kind, word) in self.outcomes.items():
            words = groups.setdefault(_group(case, depth), {})
            words.setdefault(f"{kind} {word}", []).append(case)
        named = {"seam": self.seam, "name": self.name, "file": self.file}
        return {**named, "groups": groups, "reasons": self.reasons}


@dataclass(frozen=True)
class Cell:
    """Cases of one group at one column.

    Attributes:
        kind: the worst that is among them; `none`: there is no case.
        text: how many of that kind.
        rest: the other kinds with their numbers.
    """

    kind: str
    text: str
    rest: str

    @classmethod
    def of(cls, counts: Counter[str]) -> Cell:
        """A cell of so many cases of each kind."""
        present = [kind for kind in KINDS if counts[kind]]
        if not present:
            return cls("none", "\N{EN DASH}", "")
        said = [f"{counts[kind]} {_SAID[kind]}" for kind in present]
        return cls(present[0], said[0], ", ".join(said[1:]))


@dataclass(frozen=True)
class Matrix:
    """One seam.

    Attributes:
        seam: its name.
        cases: how many there are.
        columns: implementations, each with its number in the page's data.
        totals: of each column.
        shares: of each column, the parts of its cases in per cent by kind, best first.
        rows: a group of cases, and a cell for each column.
        depth: of the folders that make a group.
    """

    seam: str
    cases: int
    columns: Sequence[tuple[int, Column]]
    totals: Sequence[Cell]
    shares: Sequence[Sequence[tuple[str, float]]]
    rows: Sequence[tuple[str, Sequence[Cell]]]
    depth: int


def columns_of(records: Iterable[tuple[Shown, str]]) -> list[Column]:
    """Every implementation that was checked, by seam; reference and native ones first.

    Args:
        records: oldest first, each with its copy beside the page.
    """
    found: dict[tuple[str, str, str], Column] = {}
    order = {}
    for shown, file in records:
        about = shown.record.implementation
        for part in shown.record.conformance:
            key = (part.seam, about.name, about.version)
            column = found.setdefault(key, Column(*key, file))
            column.file = file
            order[key] = (part.seam != "scan", part.seam, about.kind == "peer", about.name)
            refused, should = set(part.refused), set(part.should)
            for case, word in part.cases():
                reason = part.reasons.get(case, "")
                kind = _OF_WORD.get(word) or _kind_of_failure(reason, case in refused)
                if word in ("fail", "xfail") and case in should:
                    kind = "disputed"
                column.outcomes[case] = (kind, word)
                column.reasons.pop(case, None)
            column.reasons |= part.reasons
    return [found[key] for key in sorted(found, key=lambda key: order[key])]


def _kind_of_failure(reason: str, is_refusal: bool) -> str:
    if is_refusal:
        return "refused"
    return "broken" if _KNOWN_BROKEN.search(reason) else "wrong"


def matrices(columns: Sequence[Column]) -> list[Matrix]:
    """A matrix for each seam, in the order of the columns."""
    seams = dict.fromkeys(column.seam for column in columns)
    return [
        _matrix(seam, [(at, one) for at, one in enumerate(columns) if one.seam == seam])
        for seam in seams
    ]


def _matrix(seam: str, columns: Sequence[tuple[int, Column]]) -> Matrix:
    cases = {case for _, column in columns for case in column.outcomes}
    depth = _depth(cases)
    counts: list[dict[str, Counter[str]]] = []
    for _, column in columns:
        by_group: dict[str, Counter[str]] = {}
        for case, (kind, _) in column.outcomes.items():
            by_group.setdefault(_group(case, depth), Counter())[kind] += 1
        counts.append(by_group)
    totals = [sum(one.values(), Counter[str]()) for one in counts]
    groups = sorted({_group(case, depth) for case in cases})
    return Matrix(
        seam,
        len(cases),
        columns,
        [Cell.of(total) for total in totals],
        [
            [(kind, 100 * total[kind] / total.total()) for kind in reversed(KINDS) if total[kind]]
            for total in totals
        ],
        [(g, [Cell.of(one.get(g, Counter())) for one in counts]) for g in groups],
        depth,
    )


def _depth(cases: Iterable[str]) -> int:
    """How many folders name a group: as many as leave no more groups than fit."""
    listed = list(cases)
    depths = range(2, 2 + max((case.count("/") for case in listed), default=0))
    fitting = [d for d in depths if len({_group(case, d) for case in listed}) <= _MOST_GROUPS]
    return max(fitting, default=2)


def _group(case: str, depth: int) -> str:
    folders = _VARIANT.sub("", case).split("/")[:-1]
    return "/".join(folders[:depth]) or case


def summary(tables: Sequence[Matrix]) -> str:
    """What was found, in a sentence."""
    columns = [column for table in tables for _, column in table.columns]
    if not columns:
        return "No conformance was recorded yet."
    cases = sum(table.cases for table in tables)
    wrong = {
        f"{column.name} ({column.seam})": count
        for column in columns
        if (count := sum(kind == "wrong" for kind, _ in column.outcomes.values()))
    }
    begin = (
        f"In {cases:,} cases, {len(columns) - len(wrong)} of {len(columns)} implementations are "
        "never wrong without a word"
    )
    said = ", ".join(f"{name} in {count}" for name, count in wrong.items())
    return f"{begin}. Wrong rows, and no word: {said}." if said else f"{begin}."
