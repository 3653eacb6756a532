"""Samples in short, and the mark of a checkout that had changes."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from seambench.report.views.load import Shown
from seambench.report.views.stats import Stat, geometric_mean, mean_of


def _stat(*samples: float) -> Stat:
    found = Stat.of(samples)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("one", "other", "overlap"),
    [
        ((1.0, 2.0), (2.0, 3.0), True),
        ((1.0, 4.0), (2.0, 3.0), True),
        ((1.0, 2.0), (2.1, 3.0), False),
        ((1.0,), (1.0,), True),
        ((1.0,), (1.1,), False),
    ],
)
def test_ranges_that_touch_show_no_difference(
    one: tuple[float, ...], other: tuple[float, ...], *, overlap: bool
) -> None:
    """Whichever of both is asked: a gap on either side tells them apart."""
    assert _stat(*one).overlaps(_stat(*other)) is overlap
    assert _stat(*other).overlaps(_stat(*one)) is overlap


def test_samples_in_short() -> None:
    """Median, ends and number; none of none, and a time of zero is a very short one."""
    assert _stat(3.0, 1.0, 2.0) == Stat(2.0, 1.0, 3.0, 3)
    assert Stat.of([]) is None
    assert 0 < _stat(0.0).low < 1e-9
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    mean = mean_of([_stat(1.0, 2.0, 4.0), _stat(8.0, 8.0)])
    assert mean.count == 2
    assert [mean.low, mean.median, mean.high] == pytest.approx([8**0.5, 4.0, 32**0.5])


@pytest.mark.parametrize(
    ("commit", "dirty", "shown"),
    [
        ("0123456789ab", False, "0123456"),
        ("0123456789ab", True, "0123456+"),
        (None, None, "unknown"),
    ],
)
def test_a_checkout_with_changes_is_marked(
    commit: str | None, dirty: bool | None, shown: str
) -> None:
    """A commit alone would say that its code is what ran."""
    record = cast("Any", SimpleNamespace(run=SimpleNamespace(commit=commit, dirty=dirty)))
    assert Shown(record, Path("a"), "a", "a").commit == shown
