"""Samples of a timing in short: median and range; and what two ranges say of each other."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_LEAST = 1e-12


@dataclass(frozen=True)
class Stat:
    """Median, least and greatest of `count` samples."""

    median: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, samples: Sequence[float]) -> Stat | None:
        """In short; None where there is no sample.

        A time of zero, as of a clock that is too coarse, counts as a picosecond: ratios exist.
        """
        if not samples:
            return None
        times = [max(sample, _LEAST) for sample in samples]
        return cls(statistics.median(times), min(times), max(times), len(times))

    def overlaps(self, other: Stat) -> bool:
        """Whether these samples show no difference from the others."""
        return self.low <= other.high and other.low <= self.high


def geometric_mean(values: Iterable[float]) -> float:
    """The geometric mean of at least one number above zero."""
    logs = [math.log(max(value, _LEAST)) for value in values]
    return math.exp(sum(logs) / len(logs))


def whole_mean(values: Sequence[float | None]) -> float | None:
    """The geometric mean; None where a value is missing, since a gap must not look fast."""
    known = [value for value in values if value is not None]
    return geometric_mean(known) if known and len(known) == len(values) else None


def mean_of(stats: Sequence[Stat]) -> Stat:
    """The geometric mean of several timings, of their medians and of the ends of their ranges."""
    return Stat(
        geometric_mean(one.median for one in stats),
        geometric_mean(one.low for one in stats),
        geometric_mean(one.high for one in stats),
        min(one.count for one in stats),
    )
