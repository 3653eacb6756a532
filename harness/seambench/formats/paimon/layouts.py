"""Layouts of Paimon data sets: `paimon-<changes>-<ordering>-u<ratio>-s<share>`.

Changes stay in sorted runs that a reader merges (`runs`), or the rows that they replace are marked
in deletion vectors (`dv`), or a full compaction merges them in at once (`compacted`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from seambench.formats.changed import ChangedLayout, ChangedLayouts


@dataclass(frozen=True)
class PaimonLayout(ChangedLayout):
    """One way to lay out Paimon tables."""

    format_name: ClassVar[str] = "paimon"
    knob: ClassVar[str] = "changes"
    choices: ClassVar[tuple[str, ...]] = ("runs", "dv", "compacted")


LAYOUTS = ChangedLayouts(PaimonLayout, "Paimon")
