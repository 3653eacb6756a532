"""Layouts of Iceberg data sets: `iceberg-<deletes>-<ordering>-u<ratio>-s<share>`.

Replaced rows are marked in deletion vectors (`v3`) or position delete files (`v2`). With `eq` a
table of version 2 has equality deletes by the primary key; with `rewrite` changed files of such a
table are written anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from seambench.formats.changed import ChangedLayout, ChangedLayouts


@dataclass(frozen=True)
class IcebergLayout(ChangedLayout):
    """One way to lay out Iceberg tables."""

    format_name: ClassVar[str] = "iceberg"
    knob: ClassVar[str] = "deletes"
    choices: ClassVar[tuple[str, ...]] = ("v3", "v2", "eq", "rewrite")


LAYOUTS = ChangedLayouts(IcebergLayout, "Iceberg")
