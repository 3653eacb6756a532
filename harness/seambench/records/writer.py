"""What becomes a record: timings out of measurements, and the facts around them.

A measurement holds samples and what an expectation found in the last result. Whether it passes is
worked out here; whoever measures has no word for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from seambase.scan import Query
from seambench.contracts.outcomes import FAILING, Word
from seambench.contracts.registry import PAIR
from seambench.records import facts
from seambench.records.model import (
    NEWEST,
    Answered,
    Busy,
    Conformance,
    Floor,
    Implementation,
    Origin,
    Record,
    Rows,
    Run,
    Skipped,
    Step,
    Timing,
)
from seambench.records.verdicts import Arrived, Finding, failure


@dataclass(frozen=True)
class Sample:
    """One run: seconds on the clock, and seconds of processor time of all threads."""

    wall: float
    cpu: float


@dataclass
class Measurement:
    """What became of one competitor."""

    cold: list[Sample] = field(default_factory=list)  # the first run
    hot: list[Sample] = field(default_factory=list)  # the warm runs after it
    finding: Finding | Arrived | None = None  # what was found in its last result
    error: Exception | None = None  # the exception of a run that raised, after which it ran no more
    peak_bytes: int | None = None  # most resident bytes, in a run of its own
    growth_bytes: int | None = None  # the same above what was resident before
    places: list[int] = field(default_factory=list)  # in which turn of its round each warm run came
    evicted: bool = False  # whether files were given out of the page cache before the first run

    @property
    def failed(self) -> bool:
        """Whether it ran no further."""
        return self.error is not None or bool(self.finding and self.finding.wrong is not None)

    def drop_times(self) -> None:
        """No time without a right answer: what was measured before goes too."""
        self.cold.clear()
        self.hot.clear()
        self.places.clear()
        self.peak_bytes = self.growth_bytes = None


def answered(
    case: str,
    over: Rows,
    measured: Measurement,
    *,
    query: Query | None = None,
    expected: str | None = None,
    paths: Mapping[str, int] | None = None,
    warnings: Sequence[Skipped] = (),
    spent: Mapping[str, float] | None = None,
) -> Answered:
    """The timing of something that gave rows.

    `expected` is the digest of the oracle's rows, for where no answer came; `paths` counts slices
    by how they were read, `warnings` are damage that was skipped, and `spent` has the seconds of
    the last run by what took them.
    """
    finding = measured.finding
    if isinstance(finding, Arrived):
        raise TypeError(f"{case}: what has an answer is judged by its rows")
    judged = finding is not None and measured.error is None
    return Answered(
        case=case,
        over=over,
        query=query,
        expected=finding.expected if finding else expected,
        answer=finding.answer if finding and judged else None,
        paths=dict(paths or {}),
        warnings=list(warnings),
        spent=dict(spent or {}) if judged else {},
        **_common(measured),
    )


def moved(kind: type[Step] | type[Floor], case: str, over: Rows, measured: Measurement) -> Timing:
    """The timing of something without an answer: a step, or a floor."""
    finding = measured.finding
    if isinstance(finding, Finding):
        raise TypeError(f"{case}: what has no answer is judged by what arrived")
    amount = finding.moved if finding and measured.error is None else None
    return kind(case=case, over=over, moved=amount, **_common(measured))


def _common(measured: Measurement) -> dict[str, Any]:
    """The verdict, and the times if it is `pass`."""
    outcome, reason = _verdict(measured)
    passed, finding = outcome == "pass", measured.finding
    return {
        "outcome": outcome,
        "reason": reason,
        "cold": [sample.wall for sample in measured.cold if passed],
        "hot": [sample.wall for sample in measured.hot if passed],
        "cpu": [sample.cpu for sample in measured.hot if passed],
        "places": list(measured.places) if passed else [],
        "evicted": measured.evicted and passed,
        "rows": finding.rows if finding else None,
        "bytes": finding.bytes if finding else None,
        "peak_bytes": measured.peak_bytes if passed else None,
        "growth_bytes": measured.growth_bytes if passed else None,
    }


def _verdict(measured: Measurement) -> tuple[Word, str | None]:
    if measured.error is not None:
        return failure(measured.error)
    if measured.finding is None:
        return "error", "it was not run"
    wrong = measured.finding.wrong
    return ("pass", None) if wrong is None else ("fail", wrong[:4000])


class Recording:
    """One run of a command, from its begin; it makes the records of its implementations.

    `samples` and `threads` are as asked for (None: one per core); `busy` tells what else the
    machine did since the run began.
    """

    def __init__(
        self,
        command: str,
        samples: int | None = None,
        threads: int | None = None,
        busy: Callable[[], Busy] | None = None,
    ) -> None:
        self._run = facts.new_run(command, samples, threads)
        self._busy = busy
        self._machine = facts.machine_info()
        self._begin = time.monotonic()

    def record(
        self,
        implementation: Implementation,
        timings: Sequence[Timing] = (),
        conformance: Sequence[Conformance] = (),
        dataset: Origin | None = None,
        *,
        master: str | None = None,
    ) -> Record:
        """The record of one implementation; the run is over."""
        seconds = round(time.monotonic() - self._begin, 3)
        busy = None if self._busy is None else self._busy()
        run = {name: getattr(self._run, name) for name in Run.__struct_fields__}
        return Record(
            schema=NEWEST,
            run=Run(**run | {"seconds": seconds, "master": master, "busy": busy}),
            machine=self._machine,
            versions=facts.versions(),
            implementation=implementation,
            dataset=dataset,
            conformance=list(conformance),
            timings=list(timings),
        )


def failures(records: Sequence[Record]) -> list[str]:
    """What fails the run, one line each."""
    return [
        f"{one.implementation.name}: {timing.case} on {timing.over.name}: {timing.reason}"
        for one in records
        for timing in one.timings
        if timing.outcome in FAILING
    ] + [
        f"{one.implementation.name}{_read_by(part)}: {case}: {part.reasons.get(case, word)}"
        for one in records
        for part in one.conformance
        for case, word in part.cases()
        if word in FAILING and not (word == "fail" and case in part.should)
    ]


def _read_by(part: Conformance) -> str:
    return "" if part.consumer is None else f"{PAIR}{part.consumer.name}"
