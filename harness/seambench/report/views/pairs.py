"""Who reads whose bytes: a grid of producers and consumers for each seam that has pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from seambench.report.views.load import Shown, named
from seambench.report.views.outcomes import KINDS, Seen, seen_in


@dataclass
class PairCell:
    """A producer and a consumer: the newest outcome by case."""

    producer: str
    consumer: str
    link: str = ""
    outcomes: dict[str, Seen] = field(default_factory=dict)

    @property
    def counts(self) -> Counter[str]:
        """Cases of each kind."""
        return Counter(seen.kind for seen in self.outcomes.values())

    @property
    def kind(self) -> str:
        """The worst that is among them."""
        return next((kind for kind in KINDS if self.counts[kind]), "none")

    @property
    def failures(self) -> list[tuple[str, str, str, int]]:
        """Kind, reason, first case and number of the cases that are not right, by reason."""
        found: dict[tuple[str, str], list[str]] = {}
        for case, seen in self.outcomes.items():
            if seen.kind not in ("right", "off"):
                found.setdefault((seen.kind, seen.reason), []).append(case)
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
            cell.outcomes |= dict(seen_in(shown, part))
    return [
        Grid(seam, sorted({a for a, _ in cells}), sorted({b for _, b in cells}), cells)
        for seam, cells in sorted(seams.items())
    ]
