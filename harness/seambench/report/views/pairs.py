"""Who reads whose bytes: a grid of producers and consumers for each seam that has pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

from seambench.contracts.registry import PAIR
from seambench.records.misread import archive_name
from seambench.report.views.load import Shown, named
from seambench.report.views.outcomes import KINDS, Seen, seen_in


@dataclass
class PairCell:
    """A producer and a consumer: the newest outcome by case; `names` as a command takes them.

    `tables` are the links of tables that were misread, by case.
    """

    seam: str
    names: str
    link: str = ""
    outcomes: dict[str, Seen] = field(default_factory=dict)
    tables: dict[str, str] = field(default_factory=dict)

    @property
    def counts(self) -> Counter[str]:
        """Cases of each kind."""
        return Counter(seen.kind for seen in self.outcomes.values())

    @property
    def kind(self) -> str:
        """The worst that is among them."""
        return next((kind for kind in KINDS if self.counts[kind]), "none")

    @property
    def failures(self) -> list[tuple[Seen, list[str]]]:
        """What is not right, each with the cases in which that came of it, the worst first."""
        found: dict[tuple[str, str], tuple[Seen, list[str]]] = {}
        for case, seen in self.outcomes.items():
            if seen.kind not in ("right", "off"):
                key = (seen.kind, seen.known or seen.reason)
                found.setdefault(key, (seen, []))[1].append(case)
        return sorted(found.values(), key=lambda one: (KINDS.index(one[0].kind), -len(one[1])))

    @property
    def wrong(self) -> int:
        """How many cases are not right."""
        return sum(len(cases) for _, cases in self.failures)

    def case_link(self, case: str) -> str:
        """Where a case is explained: its rule with its sources, and its steps."""
        return "matrix.html#" + urlencode({"seam": self.seam, "case": case})

    def command(self, case: str) -> str:
        """What shows an outcome again."""
        return f"seambench check --seam {self.seam} --impl '{self.names}' --case {case}"


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
            names = f"{shown.record.implementation.name}{PAIR}{part.consumer.name}"
            cells = seams.setdefault(part.seam, {})
            cell = cells.setdefault((shown.label, consumer), PairCell(part.seam, names))
            cell.link = shown.link
            cell.outcomes |= dict(seen_in(shown, part))
            links = {case: shown.table_link(archive_name(case)) for case, _ in part.cases()}
            kept = shown.tables
            cell.tables |= {case: link for case, link in links.items() if link in kept}
    return [
        Grid(seam, sorted({a for a, _ in cells}), sorted({b for _, b in cells}), cells)
        for seam, cells in sorted(seams.items())
    ]
