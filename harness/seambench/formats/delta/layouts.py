"""Layouts of Delta data sets.

A layout's name is `delta-<deletes>-<ordering>-u<ratio>-s<share>`, for example
`delta-dv-event-u20-s100`: 20 % of the rows replaced in each data file that is changed, 100 % of the
files changed, replaced rows marked in deletion vectors. With `rewrite` instead of `dv` changed
files are written anew.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast

from seambase.errors import UsageError
from seambench.contracts.tables import Layout, Ordering

__all__ = ["SPELLING", "DeltaLayout", "make", "parse"]

SPELLING = "delta-{dv,rewrite}-{event,commit}-u<ratio>-s<share>"

_PERCENT = r"(\d{1,3}(?:\.\d{1,2})?)"
_NAME = re.compile(rf"delta-([a-z]+)-([a-z]+)-u{_PERCENT}-s{_PERCENT}")


@dataclass(frozen=True)
class DeltaLayout(Layout):
    """One way to lay out Delta tables.

    Attributes:
        deletes: whether rows that are replaced are marked in deletion vectors (`dv`), or their
            files written anew (`rewrite`).
    """

    format_name: ClassVar[str] = "delta"

    deletes: Literal["dv", "rewrite"] = "dv"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ordering not in ("event", "commit"):
            raise UsageError(f"ordering {self.ordering!r} is neither event nor commit")
        if self.deletes not in ("dv", "rewrite"):
            raise UsageError(f"deletes {self.deletes!r} are neither dv nor rewrite")

    @property
    def name(self) -> str:
        """Name of the data set's folder."""
        return f"delta-{self.deletes}-{self.ordering}-u{self.ratio:g}-s{self.share:g}"

    def dimensions(self) -> Mapping[str, Any]:
        """How much is changed, and how."""
        return {
            "deletes": self.deletes,
            "ordering": self.ordering,
            "update_ratio": self.ratio,
            "slice_share": self.share,
        }


def parse(name: str) -> DeltaLayout | None:
    """Read a layout's name; see `seambench.contracts.formats.Layouts`."""
    if match := _NAME.fullmatch(name):
        knobs = {"deletes": match[1], "ordering": match[2]}
        return make(float(match[3]), float(match[4]), knobs)
    return None


def make(ratio: float, share: float, knobs: Mapping[str, str]) -> DeltaLayout:
    """A layout of changed tables; knobs are `deletes` and `ordering`."""
    if unknown := sorted(set(knobs) - {"deletes", "ordering"}):
        raise UsageError(f"Delta tables have no knob {unknown[0]!r}; they have deletes, ordering")
    return DeltaLayout(
        ratio=ratio,
        share=share,
        ordering=cast("Ordering", knobs.get("ordering", "event")),
        deletes=cast("Literal['dv', 'rewrite']", knobs.get("deletes", "dv")),
    )
