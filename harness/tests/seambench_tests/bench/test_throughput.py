"""Timing the steps of a seam: who takes part, what counts, and what is recorded."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seambase.errors import RefusedError, UsageError
from seambench.bench import measure, throughput
from seambench.bench.apart import Here
from seambench.bench.measure import RepeatingClock
from seambench.bench.throughput import (
    MEMCPY,
    ThroughputOptions,
    _Rows,
    _step,
    lineitem,
    measure_throughput,
)
from seambench.contracts.common import Stage
from seambench.records.files import load_record, write_record
from seambench.records.model import Floor, Record
from seambench.records.writer import Sample

_HERE = "seambench_tests.bench.test_throughput"


class Right:
    """Offers a step that keeps every row."""

    name, version, kind = "right", "1", "reference"
    capabilities: Mapping[str, bool] = {}

    def serialize(self) -> None:
        """What makes it an implementation of the serde seam."""

    def stages(self, batch: pa.RecordBatch) -> Sequence[Stage]:
        """One step of the shared name, one of its own."""
        return [
            Stage("keep", lambda: batch, lambda found: found),
            Stage("own", lambda: batch, lambda found: found, bytes=1000),
        ]


class Wrong(Right):
    """Loses a row."""

    name = "wrong"

    def stages(self, batch: pa.RecordBatch) -> Sequence[Stage]:
        """The result stands for one row less."""
        return [Stage("keep", lambda: batch.slice(1), lambda found: found)]


class Refusing(Right):
    """Cannot hold such columns."""

    name = "refusing"

    def stages(self, batch: pa.RecordBatch) -> Sequence[Stage]:
        """Refuses every batch."""
        raise RefusedError(f"no column {batch.schema.names[0]} here")


class FourTimes(Right):
    """Does its step four times whenever it is called."""

    def stages(self, batch: pa.RecordBatch) -> Sequence[Stage]:
        """The shared step, and how often a call does it."""
        return [Stage("keep", lambda: batch, lambda found: found, passes=4)]


class Stepless:
    """An implementation that nobody can time."""

    name, version, kind = "stepless", "1", "reference"
    capabilities: Mapping[str, bool] = {}

    def serialize(self) -> None:
        """What makes it an implementation of the serde seam."""


def _measure(*names: str, **options: Any) -> dict[str, Record]:
    found = measure_throughput(
        ThroughputOptions(
            "serde", [f"{_HERE}:{name}" for name in names], rows=(100,), samples=2, **options
        )
    )
    return {one.implementation.name.rpartition(":")[2]: one for one in found}


@pytest.fixture(scope="module")
def records() -> dict[str, Record]:
    """Three of them beside each other, here and once for all tests."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(throughput, "Apart", lambda _: Here())
        return _measure("Refusing", "Right", "Wrong")


def test_a_step_is_timed_beside_a_copy_of_as_many_bytes(
    records: dict[str, Record], tmp_path: Path
) -> None:
    """Each case has one timing per implementation that offers it and one of the copy."""
    cases = [timing.case for timing in records[MEMCPY].timings]
    assert cases == ["serde/keep/100", "serde/own/100"]
    own = records["Right"].timings[1]
    assert own.bytes == records[MEMCPY].timings[1].bytes == 1000
    assert len(own.hot) == 2
    assert own.rows == 100
    assert all(isinstance(timing, Floor) for timing in records[MEMCPY].timings)
    for record in records.values():
        assert load_record(write_record(tmp_path, record)) == record


def test_a_step_that_loses_a_row_keeps_no_time(records: dict[str, Record]) -> None:
    """A result is compared with the rows that went in before its time counts."""
    timing = records["Wrong"].timings[0]
    assert timing.outcome == "fail"
    assert timing.hot == []
    assert "100:" in (timing.reason or "")


def test_one_that_refuses_the_batch_has_no_case(records: dict[str, Record]) -> None:
    """Another implementation is timed all the same."""
    assert records["Refusing"].timings == []
    assert records["Right"].timings


def test_only_named_steps_are_timed() -> None:
    """Each in a process of its own; a run in which no step is left is a wrong use."""
    records = _measure("Right", only=["own"])
    assert [t.case for t in records["Right"].timings] == ["serde/own/100"]
    with pytest.raises(UsageError, match="no step to time"):
        _measure("Right", only=["teleport"])


def test_an_implementation_without_steps_is_a_wrong_use() -> None:
    """`stages` is optional; asking for it where it is not offered is said at once."""
    with pytest.raises(UsageError, match="offers no steps"):
        _measure("Stepless")


def test_the_rows_are_always_the_same_and_own_their_buffers() -> None:
    """A smaller batch begins a larger one; the fixed set leaves the five columns of text out."""
    batch = lineitem(5000)
    assert batch.num_columns == 16
    assert batch.equals(lineitem(130_000).slice(0, 5000))
    assert lineitem(5000, "fixed").num_columns == 11
    assert batch.column("l_orderkey").buffers()[1].size < 2 * 5000 * 8
    with pytest.raises(UsageError, match="rows"):
        lineitem(0)
    with pytest.raises(UsageError, match="set of columns"):
        lineitem(10, "wide")


def test_times_are_of_one_pass() -> None:
    """A call that does the step four times, called often for one sample: both divide its time."""
    ran: list[int] = []

    def clock(run: Callable[[], Any]) -> tuple[Any, Sample]:
        before = len(ran)
        result = run()
        calls = len(ran) - before
        return result, Sample(8e-4 * calls, 4e-4 * calls)

    timed = RepeatingClock(clock, passes=4)
    samples = [timed(lambda: ran.append(1))[1] for _ in range(2)]

    assert len(ran) > 4
    for sample in samples:
        assert (sample.wall, sample.cpu) == pytest.approx((2e-4, 1e-4))


def test_a_step_says_how_often_a_call_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The times of an implementation that repeats its step itself are divided by its passes."""
    clock = partial(RepeatingClock, lambda run: (run(), Sample(8.0, 4.0)))
    monkeypatch.setattr(measure, "RepeatingClock", clock)
    for name, wall in (("Right", 8.0), ("FourTimes", 2.0)):
        step = _step("serde", f"{_HERE}:{name}", "keep", _Rows(10, "all"))
        assert step.clock(step.run)[1].wall == wall, name
