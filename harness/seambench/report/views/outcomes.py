"""What became of every case, by implementation, version and seam.

Of each implementation and version the newest outcome of a case counts; earlier ones that differ are
kept as its history. What was not run is not there.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

from seambase.errors import SeambenchError
from seambase.wording import counted
from seambench.conformance.load import load_cases
from seambench.contracts.outcomes import Word
from seambench.contracts.peers.catalogue import AT
from seambench.records.model import Conformance, Differing, Implementation
from seambench.report.views.load import Shown

#: What a visitor must tell apart, worst first: wrong rows without a word; a crash or an error; a
#: refusal of what is offered; a rule whose reading is disputed; right; not offered. That a failure
#: is known excuses nobody here.
KINDS = ("wrong", "broken", "refused", "disputed", "right", "off")
SAID = {
    "wrong": "wrong without a word",
    "broken": "error, crash or time limit",
    "refused": "refused by name",
    "disputed": "rule disputed",
    "right": "right",
    "off": "not offered",
}
_OF_WORD: dict[Word, str] = {
    "pass": "right",
    "xpass": "broken",
    "not-offered": "off",
    "error": "broken",
    "timeout": "broken",
    "crash": "broken",
}


@dataclass(frozen=True)
class Earlier:
    """An outcome that a later run of the same version replaced by another."""

    kind: str
    word: Word
    date: str
    link: str


@dataclass
class Seen:
    """The newest outcome of a case."""

    kind: str
    word: Word
    reason: str = ""
    known: str = ""  # why it was expected to fail; empty where it was not
    difference: Differing | None = None
    link: str = ""  # the record that it is from
    date: str = ""
    # other outcomes of earlier runs, oldest first
    earlier: list[Earlier] = field(default_factory=list)

    @property
    def said(self) -> str:
        """Why it was expected to fail, and what came of it; empty where it is right."""
        return f"{self.known} ({self.reason})" if self.known else self.reason


def seen_in(shown: Shown, part: Conformance) -> Iterator[tuple[str, Seen]]:
    """What a run says of its cases; one that is unavailable was not run."""
    refused, should, date = set(part.refused), set(part.should), shown.record.run.started_utc[:10]
    for case, word in part.cases():
        if word != "unavailable":
            known = part.known.get(case)
            came = known.came if known else word
            kind = kind_of(came, is_refusal=case in refused, should=case in should)
            reason, rows = part.reasons.get(case, ""), part.differences.get(case)
            why = known.reason if known else ""
            yield case, Seen(kind, word, reason, why, rows, shown.link, date)


@dataclass
class Column:
    """One implementation, in one version, at one seam.

    Attributes:
        about: `reference`, `native`, `peer` or `variant`.
        asked: the name by which commands know it.
        link: copy of its newest record.
        date: of that record.
        commit: of Seambench, which asked.
        outcomes: by case.
        missing: cases of today, of what it offers, that it was never asked.
        is_visitors: its newest record came with no checkout: whoever looks made it.
    """

    seam: str
    name: str
    version: str
    about: str
    named_as: str = ""
    link: str = ""
    date: str = ""
    commit: str = ""
    outcomes: dict[str, Seen] = field(default_factory=dict)
    missing: int = 0
    is_visitors: bool = False

    @property
    def key(self) -> str:
        """By which addresses name it."""
        return f"{self.name}@{self.version}"

    @property
    def is_peer(self) -> bool:
        """Whether it is somebody else's."""
        return self.about == "peer"

    def way(self, case: str) -> str:
        """By what a case counts: by the known defect that it shows, one of its own otherwise."""
        return self.outcomes[case].known or case

    def add(self, shown: Shown, part: Conformance) -> None:
        """Take over the outcomes of a newer run."""
        self.link, self.date = shown.link, shown.record.run.started_utc[:10]
        self.commit, self.is_visitors = shown.commit, shown.is_visitors
        self.named_as = shown.record.implementation.name
        for case, seen in seen_in(shown, part):
            if before := self.outcomes.get(case):
                seen.earlier = before.earlier
                if before.kind != seen.kind:
                    was = Earlier(before.kind, before.word, before.date, before.link)
                    seen.earlier.append(was)
            self.outcomes[case] = seen


def kind_of(came: Word, *, is_refusal: bool, should: bool) -> str:
    """The kind of an outcome, by its word, whether it was expected or not.

    A refusal is one in a sentence; `should`: the case's rule has defenders on both sides.
    """
    if came in _OF_WORD:
        return _OF_WORD[came]
    if should:
        return "disputed"
    return "refused" if is_refusal else "wrong"


def columns_of(records: Iterable[Shown]) -> list[Column]:
    """Every implementation that was checked, in each version, by seam; ours first."""
    found: dict[tuple[str, str, str], Column] = {}
    for shown in records:
        about = shown.record.implementation
        for part in shown.record.conformance:
            if part.consumer is not None or all(w == "unavailable" for _, w in part.cases()):
                continue
            key = (part.seam, _plain_name(about), about.version)
            found.setdefault(key, Column(*key, about.kind)).add(shown, part)
    return sorted(
        found.values(),
        key=lambda one: (one.seam, one.is_peer, one.name, version_key(one.version)),
    )


def _plain_name(about: Implementation) -> str:
    """The name without a version that was asked for by it."""
    name, at, version = about.name.partition(AT)
    return name if at and version == about.version else about.name


def version_key(version: str) -> list[tuple[int, int | str]]:
    """Orders versions as people do: 0.9 before 0.10."""
    parts = re.findall(r"\d+|[^\d.]+", version)
    return [(1, int(part)) if part.isdigit() else (0, part) for part in parts]


def newest_versions(columns: Iterable[Column]) -> list[Column]:
    """Of each implementation at each seam the newest version alone."""
    newest = {(column.seam, column.name): column for column in columns}
    return list(newest.values())


def group_of(case: str) -> str:
    """The format or the group of rules that a case belongs to."""
    parts = case.split("/")
    return parts[1] if len(parts) > 1 else case


def counts_of(column: Column, group: str | None = None) -> Counter[str]:
    """How many cases of each kind a column has, in a group or in all."""
    return Counter(
        seen.kind
        for case, seen in column.outcomes.items()
        if group is None or group_of(case) == group
    )


def ways_of(column: Column, kind: str, group: str | None = None) -> int:
    """In how many ways a column has a kind of outcome: cases of one known defect are one."""
    return len(
        {
            column.way(case)
            for case, seen in column.outcomes.items()
            if seen.kind == kind and (group is None or group_of(case) == group)
        }
    )


def unfolded(columns: Sequence[Column]) -> list[Column]:
    """The columns of a seam that a visitor meets first, peers before ours.

    Of others the newest version of each; of this project's the one that offers the most.
    """
    newest = newest_versions(columns)
    own = [column for column in newest if not column.is_peer]
    best = max(
        own, key=lambda one: sum(counts_of(one).values()) - counts_of(one)["off"], default=None
    )
    return [*(one for one in newest if one.is_peer), *([best] if best else [])]


@dataclass(frozen=True)
class Share:
    """Cases of one kind among others."""

    kind: str
    count: int
    ways: int  # by how many defects they come to be what they are
    percent: float  # of all
    link: str  # to just these in the matrix

    @property
    def said(self) -> str:
        """In words."""
        return f"{self.count} {SAID[self.kind]}{self.in_ways}"

    @property
    def in_ways(self) -> str:
        """Of cases that are fewer defects, how many these are."""
        if self.ways == self.count:
            return ""
        return f" in {counted(self.ways, 'way')}"


def shares_of(column: Column, group: str | None = None, *, offered: bool = False) -> list[Share]:
    """The cases of a column, or of a group of it, by kind, worst first."""
    counts = counts_of(column, group)
    kinds = [kind for kind in KINDS if counts[kind] and not (offered and kind == "off")]
    total = sum(counts[kind] for kind in kinds)
    return [
        Share(
            kind,
            counts[kind],
            ways_of(column, kind, group),
            100 * counts[kind] / total,
            matrix_link(column, group=group, kind=kind),
        )
        for kind in kinds
    ]


def matrix_link(column: Column, **state: str | None) -> str:
    """The matrix with a choice of cases."""
    chosen = {name: value for name, value in state.items() if value}
    return "matrix.html#" + urlencode({"seam": column.seam, **chosen, "impl": column.key})


#: Number of cases by seam and group.
Known = Mapping[str, Mapping[str, int]]


def without_gone(columns: Sequence[Column]) -> Known:
    """Take cases that exist no more out of columns.

    Cases of a group of which nothing is installed here are somebody's own, and stay.

    Each column gets to know, too, how many cases of today it was not asked. Columns are changed in
    place. It tells how many cases there are today and, of groups that are not installed, how many
    were recorded.
    """
    known: dict[str, Counter[str]] = {}
    for seam in dict.fromkeys(column.seam for column in columns):
        ids: set[str] = set()
        with contextlib.suppress(SeambenchError):
            ids = {case.id for case in load_cases(seam)}
        installed = {group_of(case) for case in ids}
        recorded: set[str] = set()
        for column in columns:
            if column.seam == seam:
                gone = [c for c in column.outcomes if group_of(c) in installed and c not in ids]
                for case in gone:
                    del column.outcomes[case]
                recorded |= set(column.outcomes)
        known[seam] = Counter(group_of(case) for case in ids | recorded)
        for column in columns:
            if column.seam == seam:
                column.missing = _missing(column, known[seam])
    return known


def _missing(column: Column, known: Mapping[str, int]) -> int:
    """How many cases of the groups of which it offers any it was never asked."""
    offered = {group_of(case) for case, seen in column.outcomes.items() if seen.kind != "off"}
    answered = sum(group_of(case) in offered for case in column.outcomes)
    return max(0, sum(known[group] for group in offered) - answered)
