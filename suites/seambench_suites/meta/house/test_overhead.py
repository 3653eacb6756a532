"""What the harness takes of a case is its own: neither the implementation's, nor too little."""

import time
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from seambench.conformance.load import find_case, load_cases
from seambench.contracts import registry
from seambench.contracts.scan import ScanRequest
from seambench.records.verdicts import Arrived
from seambench.seams.column import check as column_check
from seambench.seams.exchange.cases import ExchangeCase
from seambench.seams.scan.ways import drawn
from seambench_suites.conformance import overhead
from seambench_suites.meta.bent import Bent

_MILLIS = 40.0
_CASES = {
    "column": "column/fixed/int/some/fetch-2",
    "exchange": "exchange/rows/flat/plain/pass-through",
    "scan": "scan/delta/life/pruning/nulls",
}


def _busy(call: Callable[..., Any]) -> Callable[..., Any]:
    """The same, after some processor time."""

    def longer(*args: Any, **named: Any) -> Any:
        end = time.thread_time() + _MILLIS / 1e3
        while time.thread_time() < end:
            pass
        return call(*args, **named)

    return longer


def _of(seam: str) -> float:
    """Milliseconds of processor time of the second of two runs."""
    case = find_case(_CASES[seam])
    return [overhead._of_cases(seam, [case]).cpu[0] for _ in range(2)][1]


@pytest.mark.parametrize(
    ("seam", "call"), [("column", "chunks"), ("exchange", "open"), ("scan", "open")]
)
def test_time_of_the_implementation_is_not_the_harnesss(
    seam: str, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long it takes; what it gives is looked at, so that it is right."""
    right = registry.resolve(seam, overhead.OWN[seam])
    slow = Bent(right, **{call: _busy(getattr(right, call))})
    monkeypatch.setattr(registry, "resolve", lambda *_: slow)
    assert overhead._of_cases(seam, [find_case(_CASES[seam])]).wrong == []
    assert 0 < _of(seam) < _MILLIS


def test_time_of_datasets_that_arrow_filters_is_not_the_harnesss(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those with NaN are read once more, by a condition that is not asked through DuckDB."""
    right = registry.resolve("scan", "auto")

    def opened(request: ScanRequest) -> Any:
        scan = right.open(request)
        read = _busy(scan.dataset().to_batches)
        return Bent(scan, dataset=lambda: Bent(None, to_batches=read))

    monkeypatch.setattr(registry, "resolve", lambda *_: Bent(right, open=opened))
    monkeypatch.setitem(_CASES, "scan", "scan/delta/writers/deltalake/types/newest")
    assert 0 < _of("scan") < _MILLIS


def test_time_of_every_thread_of_the_harness_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the one that judges, and of those that send and read in an exchange."""
    monkeypatch.setattr(column_check, "_compare", _busy(column_check._compare))
    assert _of("column") >= _MILLIS
    monkeypatch.setattr(ExchangeCase, "batches", _busy(ExchangeCase.batches))
    assert _of("exchange") >= _MILLIS


def test_a_wrong_answer_leaves_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cases that do not pass are missing among those that were judged."""
    competitor = overhead._judging("column", 3)
    found = competitor.judge(competitor.run())
    assert isinstance(found, Arrived)
    assert (found.moved.sent, found.moved.arrived) == (3, 3)
    right = registry.resolve("column", overhead.OWN["column"])
    wrong = Bent(right, chunks=lambda *_: [])
    monkeypatch.setattr(registry, "resolve", lambda *_: wrong)
    found = competitor.judge(competitor.run())
    assert isinstance(found, Arrived)
    assert found.moved.arrived < 3


def test_rows_that_are_held_leave_through_outlets_of_engines() -> None:
    """What an implementation gave is asked in its place, as a relation of DuckDB, too."""
    known = load_cases("scan", begins=["scan/hudi/event-v9/"])
    of_relation = (c for c in known if drawn(zlib.crc32(c.id.encode())).outlet == "relation")
    case = next(c for c in of_relation if not c.refused)
    assert overhead._of_cases("scan", [case]).wrong == []


def test_the_way_to_another_process_has_a_cost() -> None:
    """It is asked for cases of its own seam, which a request need not name."""
    assert 0 < overhead._on_the_way("column", overhead.OWN["column"]) < 1_000
