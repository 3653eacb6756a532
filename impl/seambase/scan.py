"""What every scan says of itself: the views of a table, warnings, and a report."""

from __future__ import annotations

import warnings as python_warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

Query = Literal["snapshot", "read-optimized", "incremental", "cdc"]


class TableWarning(UserWarning):
    """What a scan skips or doubts, as Python's `warnings` tell it: a file, and the reason."""


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

    def __str__(self) -> str:
        place = "" if self.offset < 0 else f"skipped at byte {self.offset}: "
        return f"{self.file}: {place}{self.reason}"


class ScanWarnings(list[ScanWarning]):
    """The warnings of one scan; each is given once through Python's `warnings`, too.

    Whoever has Python raise warnings has the read end with one.

    Args:
        planned: what was known before a row was read; given when the scan is read.
        beside: of another scan of the same read; what one of both has given, the other does not.
    """

    def __init__(
        self, planned: Sequence[ScanWarning] = (), beside: ScanWarnings | None = None
    ) -> None:
        super().__init__(planned)
        self._given: set[ScanWarning] = set() if beside is None else beside._given

    def __reduce__(self) -> tuple[Any, ...]:
        """In another process they are given anew."""
        return ScanWarnings, (list(self),)

    def tell(self, some: Iterable[ScanWarning] | None = None) -> None:
        """Give those that were not given yet; of all, or of some."""
        for warning in list(self) if some is None else some:
            if warning not in self._given:
                self._given.add(warning)
                # A registry of its own: a later scan of the same table tells it anew.
                python_warnings.warn_explicit(
                    str(warning), TableWarning, __name__, 1, registry={}, module=__name__
                )

    def append(self, warning: ScanWarning) -> None:
        """Put one in and tell it."""
        super().append(warning)
        self.tell([warning])

    def extend(self, warnings: Iterable[ScanWarning]) -> None:
        """Put some in and tell them."""
        for warning in warnings:
            self.append(warning)

    def __iadd__(self, warnings: Iterable[ScanWarning]) -> Self:  # type: ignore[override,misc]
        self.extend(warnings)
        return self


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
