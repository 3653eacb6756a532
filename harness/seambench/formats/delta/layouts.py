"""Layouts of Delta data sets: `delta-<deletes>-<ordering>-u<ratio>-s<share>`.

Replaced rows are marked in deletion vectors (`dv`), or changed files are written anew (`rewrite`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from seambench.formats.changed import ChangedLayout, ChangedLayouts


@dataclass(frozen=True)
class DeltaLayout(ChangedLayout):
    """One way to lay out Delta tables."""

    format_name: ClassVar[str] = "delta"
    knob: ClassVar[str] = "deletes"
    choices: ClassVar[tuple[str, ...]] = ("dv", "rewrite")


LAYOUTS = ChangedLayouts(DeltaLayout, "Delta")
