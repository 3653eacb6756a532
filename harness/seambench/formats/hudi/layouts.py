"""Layouts of Hudi data sets.

A layout's name is `cow-v<table version>`, or
`mor-v<table version>-<ordering>-<log blocks>-u<ratio>-s<share>`, for example
`mor-v9-event-avro-u20-s100`: 20 % of the rows updated in each slice that has logs, 100 % of slices
having logs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, cast

from seambase.errors import UsageError
from seambench.contracts.tables import Layout, Ordering

LogFormat = Literal["avro", "parquet"]

SPELLING = "cow-v{6,9} and mor-v{6,9}-{event,commit}-{avro,parquet}-u<ratio>-s<share>"

_PERCENT = r"(\d{1,3}(?:\.\d{1,2})?)"
_COW = re.compile(r"cow-v(\d+)")
_MOR = re.compile(rf"mor-v(\d+)-([a-z]+)-([a-z]+)-u{_PERCENT}-s{_PERCENT}")
_VERSIONS = (6, 9)


@dataclass(frozen=True)
class HudiLayout(Layout):
    """One way to lay out Hudi tables."""

    format_name: ClassVar[str] = "hudi"

    # `cow` (copy-on-write, never changed) or `mor` (merge-on-read)
    kind: Literal["cow", "mor"] = "mor"
    version: int = 9  # Hudi's table version, 6 or 9
    log_format: LogFormat = "avro"  # what the data blocks of the logs hold (`mor` only)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.version not in _VERSIONS:
            raise UsageError(f"table version {self.version} cannot be written: choose 6 or 9")
        if self.log_format not in ("avro", "parquet"):
            raise UsageError(f"log blocks {self.log_format!r} are neither avro nor parquet")

    @property
    def name(self) -> str:
        """Name of the data set's folder."""
        if self.kind == "cow":
            return f"cow-v{self.version}"
        knobs = f"u{self.ratio:g}-s{self.share:g}"
        return f"mor-v{self.version}-{self.ordering}-{self.log_format}-{knobs}"

    def base(self) -> HudiLayout:
        """The layout whose base files this one shares: the same without what is in the logs."""
        return cast("HudiLayout", super(HudiLayout, replace(self, log_format="avro")).base())

    def dimensions(self) -> Mapping[str, Any]:
        """Table version and, of tables with logs, how much changes and how."""
        if self.kind == "cow":
            return {"table_version": self.version}
        return {
            "table_version": self.version,
            "ordering": self.ordering,
            "log_format": self.log_format,
            "update_ratio": self.ratio,
            "slice_share": self.share,
        }


def parse(name: str) -> HudiLayout | None:
    """Read a layout's name; see `seambench.contracts.formats.Layouts`."""
    if match := _COW.fullmatch(name):
        return HudiLayout(kind="cow", version=int(match[1]))
    if match := _MOR.fullmatch(name):
        knobs = {"version": match[1], "ordering": match[2], "log_format": match[3]}
        return make(float(match[4]), float(match[5]), knobs)
    return None


def make(ratio: float, share: float, knobs: Mapping[str, str]) -> HudiLayout:
    """A merge-on-read layout; knobs are `version`, `ordering` and `log_format`."""
    if unknown := sorted(set(knobs) - {"version", "ordering", "log_format"}):
        raise UsageError(
            f"Hudi tables have no knob {unknown[0]!r}; they have version, ordering, log_format"
        )
    version = knobs.get("version", "9")
    return HudiLayout(
        ratio=ratio,
        share=share,
        ordering=cast("Ordering", knobs.get("ordering", "event")),
        version=int(version) if version.isdigit() else 0,
        log_format=cast("LogFormat", knobs.get("log_format", "avro")),
    )
