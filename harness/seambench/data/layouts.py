"""Names of data sets, and what they say about the tables in them.

A layout's name is its folder's name: `parquet`, `cow-v9`, or
`mor-v<table version>-<ordering>-<log blocks>-u<ratio>-s<share>`, for example
`mor-v9-event-avro-u20-s100`: 20 % of the rows updated in each slice that has logs, 100 % of slices
having logs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from seambase.errors import UsageError

__all__ = ["DEFAULT_LAYOUTS", "Layout", "LogFormat", "Ordering", "curve_layouts", "parse_layout"]

Ordering = Literal["event", "commit"]
LogFormat = Literal["avro", "parquet"]

_PERCENT = r"(\d{1,3}(?:\.\d{1,2})?)"
_COW = re.compile(r"cow-v(\d+)")
_MOR = re.compile(rf"mor-v(\d+)-([a-z]+)-([a-z]+)-u{_PERCENT}-s{_PERCENT}")
_VERSIONS = (6, 9)
_ORDERINGS: dict[str, Ordering] = {"event": "event", "commit": "commit"}
_LOG_FORMATS: dict[str, LogFormat] = {"avro": "avro", "parquet": "parquet"}


@dataclass(frozen=True)
class Layout:
    """One way to lay out the tables.

    Attributes:
        kind: `parquet`, `cow` (Hudi copy-on-write) or `mor` (Hudi merge-on-read).
        version: Hudi's table version, 6 or 9; 0 for `parquet`.
        ordering: how Hudi chooses between two versions of a row (`mor` only).
        log_format: what the data blocks of the logs hold (`mor` only).
        ratio: per cent of the rows touched in a slice that has logs.
        share: per cent of the slices that have logs.
    """

    kind: Literal["parquet", "cow", "mor"]
    version: int = 0
    ordering: Ordering = "event"
    log_format: LogFormat = "avro"
    ratio: float = 0.0
    share: float = 100.0

    def __post_init__(self) -> None:
        if self.kind != "parquet" and self.version not in _VERSIONS:
            raise UsageError(f"table version {self.version} cannot be written: choose 6 or 9")
        for word, value in (("update ratio", self.ratio), ("slice share", self.share)):
            if not 0 <= value <= 100:
                raise UsageError(f"{word} {value:g} is not a per cent between 0 and 100")

    @property
    def name(self) -> str:
        """Name of the data set's folder."""
        if self.kind == "parquet":
            return "parquet"
        if self.kind == "cow":
            return f"cow-v{self.version}"
        knobs = f"u{self.ratio:g}-s{self.share:g}"
        return f"mor-v{self.version}-{self.ordering}-{self.log_format}-{knobs}"

    @property
    def has_logs(self) -> bool:
        """Whether any slice is meant to have logs."""
        return self.kind == "mor" and self.ratio > 0 and self.share > 0

    def base(self) -> Layout:
        """The layout whose base files this one shares: the same without what is in the logs."""
        return replace(self, log_format="avro", ratio=100.0 if self.has_logs else 0.0, share=100.0)


def parse_layout(name: str) -> Layout:
    """Read a layout's name.

    Raises:
        UsageError: the name is none, or asks for something that cannot be written.
    """
    if name == "parquet":
        return Layout("parquet")
    if match := _COW.fullmatch(name):
        return Layout("cow", int(match[1]))
    match = _MOR.fullmatch(name)
    if match is None:
        raise UsageError(
            f"unknown layout {name!r}: known are parquet, cow-v6, cow-v9 and "
            "mor-v{6,9}-{event,commit}-{avro,parquet}-u<ratio>-s<share>"
        )
    ordering = _ORDERINGS.get(match[2])
    log_format = _LOG_FORMATS.get(match[3])
    if ordering is None:
        raise UsageError(f"layout {name!r}: ordering {match[2]!r} is neither event nor commit")
    if log_format is None:
        raise UsageError(f"layout {name!r}: log blocks {match[3]!r} are neither avro nor parquet")
    return Layout("mor", int(match[1]), ordering, log_format, float(match[4]), float(match[5]))


def curve_layouts(
    ratios: tuple[float, ...] = (0, 5, 20, 50, 100),
    share: float = 100,
    *,
    version: int = 9,
    ordering: Ordering = "event",
    log_format: LogFormat = "avro",
) -> tuple[Layout, ...]:
    """One merge-on-read layout per update ratio, alike in all else."""
    return tuple(Layout("mor", version, ordering, log_format, ratio, share) for ratio in ratios)


#: What `seambench data` makes when nothing else is asked for: plain Parquet, the curve over update
#: ratios with logs in every slice, and one data set in which only a fifth of the slices has logs.
DEFAULT_LAYOUTS: tuple[str, ...] = (
    "parquet",
    *(layout.name for layout in curve_layouts()),
    Layout("mor", 9, "event", "avro", 20, 20).name,
)
