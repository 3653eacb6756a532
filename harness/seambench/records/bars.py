"""Bars: figures that must be met, declared as data and judged from records.

    [[bar]]
    name = "20 % updated, all columns / base files alone"
    numerator = { by = "auto", case = "scan/all", over = "mor-v9-event-avro-u20-s100" }
    denominator = { by = "native", case = "scan/all", over = "mor-v9-event-avro-u20-s100" }
    at_most = 1.6
    run = "merge"

    [run]
    merge = ["seambench data --scale 1 ...", "seambench bench --scale 1 ..."]

A case may be a pattern: the figure is the geometric mean over all that it fits. Both sides come out
of the newest run that stands (`seambench.records.ratios`) and has both, where samples make pairs;
where no run can have both, of the newest of each on one machine. Without a denominator the figure
is the numerator's own.
"""

from __future__ import annotations

import fnmatch
import statistics
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

import msgspec

from seambase.errors import InputError
from seambase.wording import counted
from seambench.records.model import Record, Scalar, Timing
from seambench.records.ratios import Ratio, disturbed, mean_ratio, unfit


class Declared(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a file declares."""

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the file."""
        try:
            return msgspec.convert(tomllib.loads(path.read_text("utf-8")), cls)
        except (OSError, ValueError, msgspec.ValidationError) as error:
            raise InputError(f"{path}: {error}") from error


class Side(Declared, frozen=True):
    """What is timed."""

    by: str
    case: str  # a case, or a pattern of cases
    over: str | None = None  # the data, as in `Rows.name`; absent: any
    threads: int | None = None  # asked for; absent: one per core
    dimensions: dict[str, Scalar] = {}  # what else must be said of the data
    best: bool = False  # of several cases the fastest alone

    def of(self, record: Record, scale: float) -> dict[str, Timing]:
        """Its timings in a record, by case."""
        if (record.implementation.name, record.run.threads) != (self.by, self.threads):
            return {}
        found = {
            timing.case: timing
            for timing in record.timings
            if fnmatch.fnmatchcase(timing.case, self.case)
            and timing.over.scale == scale
            and self.over in (None, timing.over.name)
            and self.dimensions.items() <= timing.over.dimensions.items()
        }
        timed = [case for case, timing in found.items() if timing.hot]
        if self.best and timed:
            case = min(timed, key=lambda case: statistics.median(found[case].hot))
            return {case: found[case]}
        return found


class Bar(Declared, frozen=True):
    """A figure and its limit."""

    name: str
    run: str  # which of the runs makes its records
    numerator: Side  # what is compared
    denominator: Side | None = None  # with what; absent: the figure is no ratio
    at_most: float | None = None  # the limit; there is this one or `at_least`
    at_least: float | None = None
    scale: float = 1.0  # of TPC-H
    # seconds on the clock, of processors, or most resident MiB
    measure: Literal["wall", "cpu", "peak_mib"] = "wall"

    def allows(self, value: float) -> bool:
        """Whether a figure is within the limit."""
        if self.at_most is not None:
            return value <= self.at_most
        assert self.at_least is not None
        return value >= self.at_least


class Bars(Declared, frozen=True):
    """A declaration: bars, and by name the commands of the runs that their records come from."""

    bar: list[Bar]
    run: dict[str, list[str]]


@dataclass(frozen=True)
class Judged:
    """What became of a bar."""

    bar: Bar
    value: float | None = None  # the figure; None: there is none, for `reason`
    ratio: Ratio | None = None  # with its interval, where it is one
    reason: str = ""
    source: str = ""  # the run it is of, and when that was
    newest: Record | None = None  # a record of that run

    @property
    def word(self) -> str:
        """`met`, `missed` or `no figure`."""
        if self.value is None:
            return "no figure"
        return "met" if self.bar.allows(self.value) else "missed"


def load_bars(path: Path) -> Bars:
    """Read a declaration."""
    bars = Bars.read(path)
    for bar in bars.bar:
        if (bar.at_most is None) == (bar.at_least is None):
            raise InputError(f"{path}: {bar.name!r} needs one of at_most and at_least")
        if bar.run not in bars.run:
            raise InputError(f"{path}: {bar.name!r} names the run {bar.run!r}, which is not there")
    return bars


def judge(bar: Bar, records: Sequence[Record]) -> Judged:
    """Hold a bar against records, which are given oldest first."""
    run = standing_run(bar, records)
    if isinstance(run, str):
        return Judged(bar, reason=run)
    found = _figure(bar, run)
    assert isinstance(found, Judged)
    return found


def standing_run(bar: Bar, records: Sequence[Record]) -> list[Record] | str:
    """A record of each side of a bar, of the newest run that has its figure, or why none."""
    reason = "no record has it"
    for run in _runs(bar, records):
        figure = _whole(bar, run)
        if isinstance(figure, Judged):
            return run
        reason = reason if reason != "no record has it" else figure
    return reason


def judged_runs(bar: Bar, records: Sequence[Record]) -> Iterator[Judged]:
    """A bar by every run that stands, the newest first; none takes part in two."""
    taken: set[str] = set()
    for run in _runs(bar, records):
        ids = {record.run.id for record in run}
        figure = _whole(bar, run) if ids.isdisjoint(taken) else None
        if isinstance(figure, Judged):
            taken |= ids
            yield figure


def _whole(bar: Bar, run: Sequence[Record]) -> Judged | str:
    """The figure of a run, if that stands."""
    reasons = (unfit(record) or disturbed(record) for record in run)
    return next(filter(None, reasons), None) or _figure(bar, run)


def _runs(bar: Bar, records: Sequence[Record]) -> Iterator[list[Record]]:
    """Records of a side each, the newest first: of one run where both are in one."""
    sides = [side for side in (bar.numerator, bar.denominator) if side is not None]
    having = [[one for one in reversed(records) if s.of(one, bar.scale)] for s in sides]
    if len(sides) == 1:
        yield from ([one] for one in having[0])
        return
    together = [
        [one, other]
        for one in having[0]
        for other in having[1]
        if one.run.id == other.run.id and one.machine.name == other.machine.name
    ]
    yield from together
    if not together and sides[0].threads != sides[1].threads:
        # No run has two numbers of threads.
        pairs = ((a, b) for a in having[0] for b in having[1])
        yield from ([a, b] for a, b in pairs if a.machine.name == b.machine.name)


def _figure(bar: Bar, run: Sequence[Record]) -> Judged | str:
    """The figure of a run, or why it has none."""
    sides = [bar.numerator, *([bar.denominator] if bar.denominator else [])]
    timings = [side.of(record, bar.scale) for side, record in zip(sides, run, strict=True)]
    for record, own in zip(run, timings, strict=True):
        why = next((why for timing in own.values() if (why := unfit(record, timing))), None)
        if why is not None:
            return why
    newest = max(run, key=lambda record: record.run.started_utc)
    about = newest.run
    source = f"{about.id}, {about.started_utc[:10]}, commit {(about.commit or '?')[:7]}"
    samples = [[_samples(bar, one) for _, one in sorted(own.items())] for own in timings]
    if any(not side for one in samples for side in one):
        return f"nobody measured {bar.measure}"
    if bar.denominator is None:
        value = statistics.geometric_mean([statistics.median(side) for side in samples[0]])
        return Judged(bar, value, source=source, newest=newest)
    if bar.measure == "peak_mib":
        means = [statistics.geometric_mean([side[0] for side in one]) for one in samples]
        return Judged(bar, means[0] / means[1], source=source, newest=newest)
    names = [set(own) for own in timings]
    if len(names[0]) != len(names[1]) or (len(names[0]) > 1 and names[0] != names[1]):
        return f"its sides have {len(names[0])} and {counted(len(names[1]), 'case')}, which differ"
    paired = run[0].run.id == run[1].run.id
    ratio = mean_ratio(list(zip(*samples, strict=True)), paired=paired)
    if ratio is None:
        return "fewer than 7 samples"
    return Judged(bar, ratio.value, ratio, source=source, newest=newest)


def _samples(bar: Bar, timing: Timing) -> list[float]:
    if bar.measure == "peak_mib":
        return [] if timing.peak_bytes is None else [timing.peak_bytes / (1 << 20)]
    return timing.hot if bar.measure == "wall" else timing.cpu
