"""What every scan says of itself: the views of a table, warnings, and a report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Query", "ScanReport", "ScanWarning"]


Query = Literal["snapshot", "read-optimized", "incremental", "cdc"]


@dataclass(frozen=True)
class ScanWarning:
    """Something that was skipped because the format says so: never a silent loss.

    Attributes:
        file: what was not read, or not wholly.
        offset: byte at which what was skipped begins; -1 if all of it was left out.
        reason: a sentence.
    """

    file: str
    offset: int
    reason: str


@dataclass
class ScanReport:
    """What a finished scan did.

    Attributes:
        paths: how many slices each path served, e.g. `{"native": 6, "merge": 2}`.
        warnings: damage that was skipped as the format's own reader skips it.
        rows: rows handed out.
        peak_bytes: most bytes the scanner's own allocator held at once, if it counts.
        seconds: what it spent them on, of all its threads, if it counts: a reader in Java tells
            `open`, `read` (rows read in Java), `convert` (rows appended to columns there, if the
            scanner tells it; `read` has it otherwise) and `fill` (columns copied out).
        pages: of column chunks of Parquet files of which an index of pages said what to read, those
            of dictionaries aside.
        unread_pages: those among them that were not read.
    """

    paths: dict[str, int] = field(default_factory=dict)
    warnings: list[ScanWarning] = field(default_factory=list)
    rows: int = 0
    peak_bytes: int | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    pages: int = 0
    unread_pages: int = 0
