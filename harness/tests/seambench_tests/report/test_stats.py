"""Samples in short, the mark of a checkout that had changes, answers of records in words."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from seambench.cli.shared.common import tell_records
from seambench.records.model import Record
from seambench.report import build
from seambench.report.views.load import Shown
from seambench.report.views.stats import Stat, geometric_mean, mean_of
from seambench_tests.records.test_bars import record, timing
from seambench_tests.samples.report_records import write_record


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


_SAID = "2.00 x (2.00 to 2.00)"


def compared(**of_run: object) -> list[Record]:
    """Merged reads of a fifth of the rows updated take twice as long as base files alone."""
    over = {"name": "mor-v9-event-avro-u20-s100", "scale": 1.0, "format": "hudi"}
    over |= {"dimensions": {"update_ratio": 20.0, "slice_share": 100.0}}
    sides = (("native", 1.0), ("auto", 2.0))
    return [
        record(by, "aaaaaaaa", [timing("scan/all", [seconds] * 7) | {"over": over}], **of_run)
        for by, seconds in sides
    ]


def test_the_page_of_costs_answers_in_words(tmp_path: Path) -> None:
    """The row that records have, with its interval; rows that they lack are not there."""
    for one in compared():
        write_record(tmp_path / "results", msgspec.to_builtins(one))
    build(tmp_path / "results", tmp_path / "site")
    page = (tmp_path / "site" / "cost.html").read_text(encoding="utf-8")
    assert f"<li><b>20 % updated, all columns</b>: {_SAID}</li>" in page
    assert "100 % updated" not in page


@pytest.mark.parametrize(("busy", "answered"), [({}, True), ({"during": 40.0}, False)])
def test_the_terminal_answers_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], busy: dict[str, float], answered: bool
) -> None:
    """Of a machine that others used nothing is concluded."""
    made = compared(busy={"waited": 0.0, "before": 0.0, **busy})
    assert tell_records(made, tmp_path, lambda _: None) == 0
    said = capsys.readouterr().out
    assert (f"  20 % updated, all columns: {_SAID}" in said) is answered
    assert ("What does merging cost over the base files alone?" in said) is answered
