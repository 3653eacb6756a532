"""Layouts of Paimon data sets.

A layout's name is `paimon-<engine>-<ordering>-u<ratio>-s<share>`, for example
`paimon-runs-event-u20-s100`: 20 % of the rows updated in each bucket that is changed, 100 % of the
buckets changed. With `runs` the changes stay in sorted runs that a reader merges, with `dv` the
rows that they replace are marked in deletion vectors, with `compacted` they are merged in at once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast

from seambase.errors import UsageError
from seambench.contracts.tables import Layout, Ordering

__all__ = ["SPELLING", "Changes", "PaimonLayout", "make", "parse"]

Changes = Literal["runs", "dv", "compacted"]

SPELLING = "paimon-{runs,dv,compacted}-{event,commit}-u<ratio>-s<share>"

_PERCENT = r"(\d{1,3}(?:\.\d{1,2})?)"
_NAME = re.compile(rf"paimon-([a-z]+)-([a-z]+)-u{_PERCENT}-s{_PERCENT}")


@dataclass(frozen=True)
class PaimonLayout(Layout):
    """One way to lay out Paimon tables.

    Attributes:
        changes: where changed rows are left: in runs to be merged, beside deletion vectors, or
            merged by a full compaction.
    """

    format_name: ClassVar[str] = "paimon"

    kept: Changes = "runs"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ordering not in ("event", "commit"):
            raise UsageError(f"ordering {self.ordering!r} is neither event nor commit")
        if self.kept not in ("runs", "dv", "compacted"):
            raise UsageError(f"changes {self.kept!r} are none of runs, dv, compacted")

    @property
    def name(self) -> str:
        """Name of the data set's folder."""
        return f"paimon-{self.kept}-{self.ordering}-u{self.ratio:g}-s{self.share:g}"

    def dimensions(self) -> Mapping[str, Any]:
        """How much is changed, and how."""
        return {
            "changes": self.kept,
            "ordering": self.ordering,
            "update_ratio": self.ratio,
            "slice_share": self.share,
        }


def parse(name: str) -> PaimonLayout | None:
    """Read a layout's name; see `seambench.contracts.formats.Layouts`."""
    if match := _NAME.fullmatch(name):
        knobs = {"changes": match[1], "ordering": match[2]}
        return make(float(match[3]), float(match[4]), knobs)
    return None


def make(ratio: float, share: float, knobs: Mapping[str, str]) -> PaimonLayout:
    """A layout of changed tables; knobs are `changes` and `ordering`."""
    if unknown := sorted(set(knobs) - {"changes", "ordering"}):
        raise UsageError(f"Paimon tables have no knob {unknown[0]!r}; they have changes, ordering")
    return PaimonLayout(
        ratio=ratio,
        share=share,
        ordering=cast("Ordering", knobs.get("ordering", "event")),
        kept=cast("Changes", knobs.get("changes", "runs")),
    )
