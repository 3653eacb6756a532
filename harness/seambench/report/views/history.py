"""How times and outcomes changed: our kernels by commit, our scans by commit, peers by version.

What is known of kernels is asv's, as `asv run` leaves it in `results/history`. A regression is held
against the best that the series had since the last one, not against the commit before: what creeps
up by a little with each commit is found where it has come to the margin. For times that is where
the least of the runs after is slower, by a margin that grows with the noise, than the worst of the
best runs before; instructions are counted without noise, and one commit is enough. asv's own step
detection names neither a step in twelve commits nor any creep. A regression stays one until it is
mended, when the newest figures are as good as the best before it, or somebody writes into
`acknowledged.toml` beside the results what it is the price of.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import statistics
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec

from seambench.report.views.costs import cost_at
from seambench.report.views.load import Loaded, Problem
from seambench.report.views.outcomes import Column, counts_of
from seambench.report.views.runs import is_of_tables, run_sets

#: The unit of figures that have no noise.
COUNTED = "instructions"
_BENCHMARK = re.compile(r"bench_\w+\.(\w+)\.\w+")
#: So many runs on each side count; at the ends fewer, but so many at least.
_WINDOW, _LEAST_RUNS = 4, 3
#: How many times as slow it must be at least, and by how many standard deviations of its noise.
_MARGIN, _DEVIATIONS = 1.02, 1.5
#: How many times as many instructions; counts of the same commit differ by less than _COUNT_NOISE.
_COUNT_MARGIN, _COUNT_NOISE = 1.02, 1.003
_ACKNOWLEDGED = "acknowledged.toml"


@dataclass(frozen=True)
class Point:
    """A figure at a commit; `low` and `high` are the ends of its range."""

    commit: str
    date: str
    value: float
    low: float
    high: float
    link: str = ""


@dataclass(frozen=True)
class Step:
    """A regression: after the commit `last_good`, at `first_bad` or between the two."""

    last_good: str
    first_bad: str
    factor: float  # how many times as slow, or as many instructions
    reason: str = ""  # what it is the price of, where somebody has said so


@dataclass(frozen=True)
class Kernel:
    """One kernel over commits, oldest first, and where it became slower."""

    name: str
    machine: str
    points: Sequence[Point]
    regressions: Sequence[Step]
    unit: str = "seconds"  # of its values, as asv calls it: `seconds`, `bytes`, `instructions`

    @property
    def label(self) -> str:
        """Its name for people, without asv's words for modules and methods."""
        module = _BENCHMARK.match(self.name)
        if module is None:
            return self.name
        choice = self.name[module.end() :].strip()
        return choice.strip("()") if self.unit == COUNTED else f"{module[1]} {choice}".strip()


def steps(points: Sequence[Point]) -> list[Step]:
    """Where times became worse for good, at once or little by little; points are oldest first."""
    values = [point.value for point in points]
    margin = max(_MARGIN, 1 + _DEVIATIONS * _noise(values))
    found: list[tuple[Step, float]] = []
    begin, best, best_end = 0, math.inf, 0
    for at in range(_LEAST_RUNS, len(points) - _LEAST_RUNS + 1):
        before = values[max(begin, at - _WINDOW) : at]
        if len(before) >= _LEAST_RUNS and max(before) <= best:
            best, best_end = max(before), at - 1
        after = min(values[at : at + _WINDOW])
        if after <= margin * best:
            continue
        at_once = len(before) >= _LEAST_RUNS and after > margin * max(before)
        last_good = points[at - 1 if at_once else best_end].commit
        found.append((Step(last_good, points[at].commit, after / best), best))
        begin, best = at, math.inf
    return _unmended(found, max(values[-_LEAST_RUNS:], default=0), margin)


def _noise(values: Sequence[float]) -> float:
    """The relative standard deviation of neighbours, which steps between a few do not change."""
    changes = [abs(math.log(b / a)) for a, b in itertools.pairwise(values)]
    return statistics.median(changes) / 0.954 if changes else 0.0


def rises(points: Sequence[Point]) -> list[Step]:
    """Where counts, oldest first, have risen by a margin above the least since the last rise."""
    found: list[tuple[Step, float]] = []
    least, last_good = math.inf, ""
    for point in points:
        if point.value > _COUNT_MARGIN * least:
            found.append((Step(last_good, point.commit, point.value / least), least))
            least = math.inf
        if point.value <= _COUNT_NOISE * least:
            least, last_good = min(least, point.value), point.commit
    return _unmended(found, points[-1].value if points else 0, _COUNT_MARGIN)


def _unmended(steps: Sequence[tuple[Step, float]], newest: float, margin: float) -> list[Step]:
    """Those of steps, each with the best before it, above which the newest figure still is."""
    return [step for step, best in steps if newest > margin * best]


class Acknowledged(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A regression that stays, and what it is the price of."""

    kernel: str  # its label
    since: str  # the first bad commit, seven letters of it
    reason: Annotated[str, msgspec.Meta(min_length=20)]


def _acknowledged(folder: Path, problems: list[Problem]) -> dict[tuple[str, str], str]:
    """Reasons by kernel and first bad commit."""
    path = folder / _ACKNOWLEDGED
    if not path.exists():
        return {}
    try:
        listed = msgspec.convert(
            tomllib.loads(path.read_text("utf-8")), dict[str, list[Acknowledged]]
        )
    except (ValueError, msgspec.ValidationError) as error:
        problems.append(Problem(f"{folder.name}/{path.name}", str(error)))
        return {}
    return {(one.kernel, one.since): one.reason for one in listed.get("rise", [])}


def regressions(folder: Path, problems: list[Problem]) -> list[tuple[Kernel, Step]]:
    """Every regression of a kernel, those of the newest commits first; see `kernels`."""
    slower = [
        (
            next(point.date for point in kernel.points if point.commit == step.first_bad),
            kernel,
            step,
        )
        for kernel in kernels(folder, problems)
        for step in kernel.regressions
    ]
    ordered = sorted(slower, key=lambda one: (one[0], one[2].factor), reverse=True)
    return [(kernel, step) for _, kernel, step in ordered]


def kernels(folder: Path, problems: list[Problem]) -> list[Kernel]:
    """Kernels with results of at least two commits, in asv's folder with one for each machine."""
    units = _units(folder, problems)
    points_of: dict[tuple[str, str, str], list[Point]] = {}
    for path in sorted(folder.glob("*/*.json")):
        if path.name == "machine.json":
            continue
        try:
            read = json.loads(path.read_bytes())
            for benchmark, name, point in _points(read):
                unit = units.get(benchmark, "seconds")
                points_of.setdefault((path.parent.name, name, unit), []).append(point)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            where = path.relative_to(folder.parent).as_posix()
            problems.append(Problem(where, f"no results of asv: {error!r}"))
    reasons = _acknowledged(folder, problems)
    used, made = set[tuple[str, str]](), list[Kernel]()
    for (machine, name, unit), points in sorted(points_of.items()):
        ordered = sorted(points, key=lambda point: point.date)
        if len({point.commit for point in ordered}) < 2:
            continue
        kernel = Kernel(name, machine, ordered, (), unit)
        slower = rises(ordered) if unit == COUNTED else steps(ordered)
        used |= {(kernel.label, step.first_bad) for step in slower}
        named = [
            replace(step, reason=reasons.get((kernel.label, step.first_bad), "")) for step in slower
        ]
        made.append(replace(kernel, regressions=named))
    problems += [
        Problem(f"{folder.name}/{_ACKNOWLEDGED}", f"{label} has no regression since {since}")
        for label, since in reasons.keys() - used
    ]
    return made


def _units(folder: Path, problems: list[Problem]) -> dict[str, str]:
    """The units of benchmarks that asv knows; it measures seconds where it says nothing."""
    path = folder / "benchmarks.json"
    if not path.exists():
        return {}
    try:
        read = json.loads(path.read_bytes())
        return {name: str(about["unit"]) for name, about in read.items() if name != "version"}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        problems.append(Problem(f"{folder.name}/{path.name}", f"no benchmarks of asv: {error!r}"))
        return {}


def _points(read: Mapping[str, Any]) -> Iterator[tuple[str, str, Point]]:
    """Each benchmark with each choice of its parameters, in asv's form of version 2."""
    commit, date = str(read["commit_hash"])[:7], f"{int(read['date']):020d}"
    for name, row in read["results"].items():
        members = dict(zip(read["result_columns"], row, strict=False))
        results = members.get("result") or []
        choices = list(itertools.product(*members.get("params") or []))
        lows, highs = (members.get(f"stats_ci_99_{end}") or [None] * len(results) for end in "ab")
        for choice, value, low, high in zip(choices, results, lows, highs, strict=True):
            # asv writes null for what failed, and NaN for what was skipped.
            if isinstance(value, int | float) and value == value and value > 0:
                said = ", ".join(str(one).strip("'") for one in choice)
                full = f"{name} ({said})" if said else str(name)
                point = Point(commit, date, value, _end(low, value), _end(high, value))
                yield str(name), full, point


def _end(end: object, value: float) -> float:
    """An end of a confidence interval, which asv leaves out or calls infinite after few runs."""
    return end if isinstance(end, int | float) and 0 < end < math.inf else value


def scans_by_commit(loaded: Loaded, ratio: float) -> list[Kernel]:
    """Our own scans of tables with updates, by the commit of Seambench that was measured."""
    found: dict[tuple[str, str], list[Point]] = {}
    sets = run_sets(
        [s for s in loaded.records if s.record.implementation.kind != "peer"], is_of_tables
    )
    for one in sorted(sets, key=lambda one: one.started):
        cost = cost_at(one, ratio)
        for curve in cost[1] if cost else []:
            if curve.stale:
                continue
            cell = curve.cells[0]
            name = f"{curve.reader.label}, scale {one.scale:g}, {ratio:g} % updated"
            found.setdefault((one.place, name), []).append(
                Point(
                    one.commit,
                    one.started,
                    cell.stat.median,
                    cell.stat.low,
                    cell.stat.high,
                    cell.link,
                )
            )
    return [
        Kernel(name, machine, points, steps(points))
        for (machine, name), points in found.items()
        if len(points) > 1
    ]


@dataclass(frozen=True)
class Versions:
    """Versions of an implementation at a seam, oldest first, and what changed with each."""

    seam: str
    name: str
    columns: Sequence[Column]
    # for each version, how many cases became right and how many ceased to be
    changes: Sequence[tuple[int, int]]

    @property
    def wrong(self) -> list[int]:
        """Cases that are wrong without a word, by version."""
        return [counts_of(column)["wrong"] for column in self.columns]


def versions(columns: Sequence[Column]) -> list[Versions]:
    """Implementations of which several versions were checked."""
    groups: dict[tuple[str, str], list[Column]] = {}
    for column in columns:
        groups.setdefault((column.seam, column.name), []).append(column)
    found = []
    for (seam, name), listed in groups.items():
        if len(listed) > 1:
            changes = [(0, 0), *(_changes(a, b) for a, b in itertools.pairwise(listed))]
            found.append(Versions(seam, name, listed, changes))
    return found


def _changes(before: Column, after: Column) -> tuple[int, int]:
    both = before.outcomes.keys() & after.outcomes.keys()
    was = {case for case in both if before.outcomes[case].kind == "right"}
    now = {case for case in both if after.outcomes[case].kind == "right"}
    return len(now - was), len(was - now)
