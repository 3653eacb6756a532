"""How many times as long one thing takes as another, and which records may stand for a figure.

Samples of one index in one run were taken in one round, so each pair gives a ratio of its own: what
disturbs a round disturbs both. The figure is their median. Its interval says where the figure of
another such run would be: of two runs that differ by chance alone each is within the other's, in
some 95 of 100 pairs. It comes of samples drawn again and again out of those that are there
(bootstrap), two draws beside one another for two runs, with ends further out for few samples, which
know little of their own spread (the expanded percentiles of Hesterberg, "What Teachers Should Know
About the Bootstrap", 2015). Where there are no pairs, both sides are drawn by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from seambase.wording import counted
from seambench.records.model import Record, Timing

#: Fewer samples make no figure: an interval of them says nothing.
LEAST_SAMPLES = 7

_DRAWS = 2000
#: As many standard deviations hold 95 of 100.
_WIDTH = NormalDist().inv_cdf(0.975)
_LEAST_SECONDS = 1e-12

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Ratio:
    """A ratio, and the ends of its interval."""

    value: float
    low: float
    high: float
    count: int  # samples of the side that has fewer
    paired: bool  # whether those of one round were compared with each other

    @property
    def differs(self) -> bool:
        """Whether there is a difference: the interval leaves 1 out."""
        return self.low > 1 or self.high < 1

    @property
    def said(self) -> str:
        """For people."""
        interval = f"{self.low:.2f} to {self.high:.2f}"
        if not self.differs:
            return f"no difference seen ({interval})"
        return f"{self.value:.2f} x ({interval})"


def ratio_of(one: Sequence[float], other: Sequence[float], *, paired: bool) -> Ratio | None:
    """How many times as long one takes as the other; None where either has too few samples.

    Of sides that are `paired` the rounds are the same; one that ended early has those before.
    """
    count = min(len(one), len(other))
    if count < LEAST_SAMPLES:
        return None
    return _of([_draws(one, other, paired=paired)], count, paired=paired)


def mean_ratio(
    pairs: Sequence[tuple[Sequence[float], Sequence[float]]], *, paired: bool
) -> Ratio | None:
    """The geometric mean of ratios of several things; None where any has too few samples."""
    count = min((len(side) for pair in pairs for side in pair), default=0)
    if count < LEAST_SAMPLES:
        return None
    return _of([_draws(a, b, paired=paired) for a, b in pairs], count, paired=paired)


def _of(drawn: Sequence[tuple[float, Floats]], count: int, *, paired: bool) -> Ratio:
    value = float(np.exp(np.mean([np.log(ratio) for ratio, _ in drawn])))
    whole = np.mean([np.log(draws) for _, draws in drawn], axis=0)
    another = value * np.exp(whole[:_DRAWS] - whole[_DRAWS:])
    end = 100 * _beyond(count)
    low, high = (float(one) for one in np.percentile(another, (end, 100 - end)))
    return Ratio(value, low, high, count, paired)


def _beyond(count: int) -> float:
    """The share of draws that an interval of so many samples leaves out at each end.

    It has the width of Student's t of so many samples, by the series of Cornish and Fisher.
    """
    z, free = _WIDTH, count - 1
    t = z + (z**3 + z) / (4 * free) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * free**2)
    return NormalDist().cdf(-sqrt(count / free) * t)


def _draws(one: Sequence[float], other: Sequence[float], *, paired: bool) -> tuple[float, Floats]:
    """The ratio of the samples that are there, and those of samples drawn out of them."""
    rng = np.random.default_rng(len(one))  # the same samples give the same interval
    a, b = (np.maximum(np.asarray(side, dtype=np.float64), _LEAST_SECONDS) for side in (one, other))
    if paired:
        rounds = min(len(a), len(b))
        ratios = a[:rounds] / b[:rounds]
        draws = np.median(_again(rng, ratios), axis=1)
        return float(np.median(ratios)), draws
    medians = [np.median(_again(rng, side), axis=1) for side in (a, b)]
    return float(np.median(a) / np.median(b)), medians[0] / medians[1]


def _again(rng: np.random.Generator, samples: Floats) -> Floats:
    chosen: Floats = samples[rng.integers(0, len(samples), (2 * _DRAWS, len(samples)))]
    return chosen


def unfit(record: Record, timing: Timing | None = None) -> str | None:
    """Why a record, or one of its timings, may be no figure anywhere; None: it may."""
    if record.run.dirty:
        return "its checkout had changes"
    if timing is None:
        return None
    if timing.outcome != "pass":
        return timing.reason
    if len(timing.hot) < LEAST_SAMPLES:
        return f"{counted(len(timing.hot), 'warm sample', 'are')} fewer than {LEAST_SAMPLES}"
    return None


def disturbed(record: Record) -> str | None:
    """Why a record may be no figure where one alone must do; None: the machine was quiet."""
    busy = record.run.busy
    if busy is None:
        return "nobody looked what else the machine did"
    if busy.is_quiet:
        return None
    others = max(busy.before, busy.during)
    stolen = max(busy.stolen_before, busy.stolen)
    return f"others used {others:g} % of the machine, and {stolen:g} % were stolen"
