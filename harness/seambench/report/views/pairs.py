"""Who reads whose bytes: a grid of producers and consumers for each seam that has pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from seambench.contracts.outcomes import Word
from seambench.records.model import Conformance
from seambench.report.views.load import Shown, named
from seambench.report.views.outcomes import KINDS, kind_of


@dataclass
class PairCell:
    """A producer and a consumer: by case, the kind of the newest outcome, its word and reason."""

    producer: str
    consumer: str
    link: str = ""
    outcomes: dict[str, tuple[str, Word, str]] = field(default_factory=dict)

    @property
    def counts(self) -> Counter[str]:
        """Cases of each kind."""
        return Counter(kind for kind, _, _ in self.outcomes.values())

    @property
    def kind(self) -> str:
        """The worst that is among them."""
        return next((kind for kind in KINDS if self.counts[kind]), "none")

    @property
    def failures(self) -> list[tuple[str, str, str, int]]:
        """Kind, reason, first case and number of the cases that are not right, by reason."""
        found: dict[tuple[str, str], list[str]] = {}
        for case, (kind, _, reason) in self.outcomes.items():
            if kind not in ("right", "off"):
                found.setdefault((kind, reason), []).append(case)
        ordered = sorted(found.items(), key=lambda item: (KINDS.index(item[0][0]), -len(item[1])))
        return [(kind, reason, cases[0], len(cases)) for (kind, reason), cases in ordered]


@dataclass(frozen=True)
class Grid:
    """A seam's pairs: a row for each producer, a column for each consumer."""

    seam: str
    producers: Sequence[str]
    consumers: Sequence[str]
    cells: dict[tuple[str, str], PairCell]


def grids(records: Iterable[Shown]) -> list[Grid]:
    """The grid of every seam in whose records are pairs."""
    seams: dict[str, dict[tuple[str, str], PairCell]] = {}
    for shown in records:
        for part in shown.record.conformance:
            if part.consumer is None:
                continue
            consumer = named(part.consumer.name, part.consumer.version)
            cells = seams.setdefault(part.seam, {})
            cell = cells.setdefault((shown.label, consumer), PairCell(shown.label, consumer))
            cell.link = shown.link
            cell.outcomes |= _outcomes(part)
    return [
        Grid(seam, sorted({a for a, _ in cells}), sorted({b for _, b in cells}), cells)
        for seam, cells in sorted(seams.items())
    ]


def _outcomes(part: Conformance) -> dict[str, tuple[str, Word, str]]:
    refused, should = set(part.refused), set(part.should)
    found: dict[str, tuple[str, Word, str]] = {}
    for case, word in part.cases():
        if word != "unavailable":
            reason = part.reasons.get(case, "")
            known = part.known.get(case)
            came = known.came if known else word
            kind = kind_of(came, is_refusal=case in refused, should=case in should)
            found[case] = (kind, word, reason)
    return found
