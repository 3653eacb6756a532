"""Ratios of paired samples: what is there is named, what is not there is not."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pytest

from seambench.bench.measure import Competitor, orders, take_turns
from seambench.records.ratios import Ratio, mean_ratio, ratio_of
from seambench.records.verdicts import Finding
from seambench.records.writer import Sample

RIGHT = "duckdb2:3:00000000000000aa:00000000000000bb"


def noisy(seconds: float, count: int, seed: int, noise: float = 0.01) -> list[float]:
    """Samples around a time, with a noise of so much of it."""
    rng = np.random.default_rng(seed)
    return [float(one) for one in seconds * rng.lognormal(0.0, noise, count)]


def test_a_slowdown_of_five_per_cent_is_named() -> None:
    """With a noise of one per cent, 15 rounds tell 5 % from nothing, and by about how much."""
    found = ratio_of(noisy(1.05, 15, 1), noisy(1.0, 15, 2), paired=True)
    assert found is not None
    assert found.differs
    assert 1.03 < found.low < found.value < found.high < 1.07
    assert found.said.startswith("1.0")


def test_no_difference_is_said_to_be_none() -> None:
    """Of a hundred pairs of alike competitors few are told apart, and those that are not say so."""
    found = [
        ratio_of(noisy(1, 15, seed), noisy(1, 15, 1000 + seed), paired=True) for seed in range(100)
    ]
    assert sum(one is not None and one.differs for one in found) <= 10
    same = next(one for one in found if one is not None and not one.differs)
    assert same.said.startswith("no difference seen (0.9")


@pytest.mark.parametrize("count", [7, 15])
def test_an_interval_holds_the_figure_of_another_run(count: int) -> None:
    """Of two runs that differ by chance each lies within the other's, in some 95 of 100 pairs.

    The interval of the figure itself is too narrow for that: it holds both in 60 to 70 of 100.
    """

    def figure(seed: int) -> Ratio:
        sides = (noisy(1.0, count, 2 * seed + side, 0.05) for side in (0, 1))
        found = ratio_of(*sides, paired=True)
        assert found is not None
        return found

    pairs = [(figure(seed), figure(1000 + seed)) for seed in range(400)]
    alike = sum(
        one.low <= other.value <= one.high and other.low <= one.value <= other.high
        for one, other in pairs
    )
    assert 0.9 <= alike / len(pairs) <= 0.98


def test_what_disturbs_a_round_disturbs_no_pair() -> None:
    """A machine that becomes four times as slow leaves paired ratios alone, and no others."""
    drift = np.linspace(1, 4, 12)
    a, b = (
        [float(x) for x in np.array(noisy(s, 12, seed)) * drift] for s, seed in ((1.1, 3), (1, 4))
    )
    paired, apart = (ratio_of(a, b, paired=paired) for paired in (True, False))
    assert paired is not None
    assert apart is not None
    assert (paired.differs, apart.differs) == (True, False)
    assert paired.high - paired.low < 0.05


@pytest.mark.parametrize("count", [0, 1, 6])
def test_fewer_than_seven_samples_make_no_figure(count: int) -> None:
    """Neither side may have fewer, in a ratio or in a mean of ratios."""
    few, many = [1.0] * count, [1.0] * 9
    assert ratio_of(few, many, paired=True) is None
    assert ratio_of(many, few, paired=False) is None
    assert mean_ratio([(many, many), (few, many)], paired=True) is None


def test_a_mean_is_of_ratios() -> None:
    """Twice as slow in one query and twice as fast in another is no difference."""
    fast, slow = noisy(1, 9, 5), noisy(2, 9, 6)
    mean = mean_ratio([(slow, fast), (fast, slow)], paired=True)
    assert mean is not None
    assert 0.98 < mean.value < 1.02
    assert not mean.differs


def test_orders_are_fair() -> None:
    """In any even number of rounds each comes before each other as often as after it."""
    names = ["a", "b", "c", "d"]
    for rounds in (2, 6, 20):
        found = list(itertools.islice(orders(names, 7), rounds))
        for one, other in itertools.permutations(names, 2):
            before = sum(order.index(one) < order.index(other) for order in found)
            assert before == rounds // 2
    assert len({tuple(order) for order in found}) > 4
    assert found == list(itertools.islice(orders(names, 7), 20))


class Second:
    """A machine on which whoever runs after another in a round takes a fifth longer."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self.before = 0

    def clock(self, seconds: float) -> Callable[[object], tuple[object, Sample]]:
        """A clock for something that takes so long by itself."""

        def tell(_: object) -> tuple[object, Sample]:
            took = seconds * (1.2 if self.before % 2 else 1.0)
            self.before += 1
            took *= float(self._rng.lognormal(0, 0.01))
            return None, Sample(took, took)

        return tell


def in_a_fixed_order(samples: Iterable[Sequence[float]]) -> bool:
    """Whether a ratio of samples whose turns never changed tells a difference."""
    found = ratio_of(*samples, paired=True)
    return found is not None and found.differs


@pytest.mark.parametrize("seed", range(10))
def test_the_order_of_turns_changes_no_ratio(seed: int) -> None:
    """Competitors alike, the second of a round 20 % slower: no difference is told.

    By turns in a fixed order the same machine tells one.
    """
    machine = Second(seed)
    clocks = [machine.clock(1.0), machine.clock(1.0)]
    fixed = [[clock(None)[1].wall for clock in clocks] for _ in range(14)]
    assert in_a_fixed_order(list(zip(*fixed, strict=True)))

    def judge(_: object) -> object:
        return Finding(RIGHT, RIGHT)

    machine.before = 0
    both = {
        name: Competitor(lambda: None, judge, machine.clock(1.0))  # type: ignore[arg-type]
        for name in "ab"
    }
    measured = take_turns(both, 14, seed=seed)
    a, b = ([sample.wall for sample in measured[name].hot] for name in "ab")
    found = ratio_of(a, b, paired=True)

    assert found is not None
    assert not found.differs
    places = zip(measured["a"].places, measured["b"].places, strict=True)
    assert [sorted(pair) for pair in places] == [[0, 1]] * 14
