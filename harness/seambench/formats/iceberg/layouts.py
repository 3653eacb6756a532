"""Layouts of Iceberg data sets.

A layout's name is `iceberg-<version>-<ordering>-u<ratio>-s<share>`, for example
`iceberg-v3-event-u20-s100`: 20 % of the rows replaced in each data file that is changed, 100 % of
the files changed, replaced rows marked in deletion vectors. Version 2 marks them in position delete
files; with `eq` in place of the version, a table of version 2 has equality deletes by the primary
key; with `rewrite`, changed files of a table of version 2 are written anew.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast, get_args

from seambase.errors import UsageError
from seambench.contracts.tables import Layout, Ordering

__all__ = ["SPELLING", "Deletes", "IcebergLayout", "make", "parse"]

Deletes = Literal["v2", "v3", "eq", "rewrite"]
"""How rows that are replaced go."""

SPELLING = "iceberg-{v2,v3,eq,rewrite}-{event,commit}-u<ratio>-s<share>"

_PERCENT = r"(\d{1,3}(?:\.\d{1,2})?)"
_NAME = re.compile(rf"iceberg-([a-z0-9]+)-([a-z]+)-u{_PERCENT}-s{_PERCENT}")


@dataclass(frozen=True)
class IcebergLayout(Layout):
    """One way to lay out Iceberg tables.

    Attributes:
        deletes: how rows that are replaced go: `v2` position deletes, `v3` deletion vectors, `eq`
            equality deletes, or `rewrite`, their files written anew.
    """

    format_name: ClassVar[str] = "iceberg"

    deletes: Deletes = "v3"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ordering not in ("event", "commit"):
            raise UsageError(f"ordering {self.ordering!r} is neither event nor commit")
        if self.deletes not in get_args(Deletes):
            known = ", ".join(get_args(Deletes))
            raise UsageError(f"deletes {self.deletes!r} are none of {known}")

    @property
    def name(self) -> str:
        """Name of the data set's folder."""
        return f"iceberg-{self.deletes}-{self.ordering}-u{self.ratio:g}-s{self.share:g}"

    def dimensions(self) -> Mapping[str, Any]:
        """How much is changed, and how."""
        return {
            "deletes": self.deletes,
            "ordering": self.ordering,
            "update_ratio": self.ratio,
            "slice_share": self.share,
        }


def parse(name: str) -> IcebergLayout | None:
    """Read a layout's name; see `seambench.contracts.formats.Layouts`."""
    if match := _NAME.fullmatch(name):
        knobs = {"deletes": match[1], "ordering": match[2]}
        return make(float(match[3]), float(match[4]), knobs)
    return None


def make(ratio: float, share: float, knobs: Mapping[str, str]) -> IcebergLayout:
    """A layout of changed tables; knobs are `deletes` and `ordering`."""
    if unknown := sorted(set(knobs) - {"deletes", "ordering"}):
        raise UsageError(f"Iceberg tables have no knob {unknown[0]!r}; they have deletes, ordering")
    return IcebergLayout(
        ratio=ratio,
        share=share,
        ordering=cast("Ordering", knobs.get("ordering", "event")),
        deletes=cast("Deletes", knobs.get("deletes", "v3")),
    )
