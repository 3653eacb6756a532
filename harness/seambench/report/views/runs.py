"""Timings of scans and queries, put together: runs of one commit, scale and place are one set.

What is compared within a set was measured by the same code on the same machine over the same rows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from seambench.records.model import Answered, Record, Rows, Stored, Timing
from seambench.report.views.load import Shown
from seambench.report.views.stats import Stat

#: What tells how much of tables is changed; all else tells tables apart.
_AXES = ("update_ratio", "slice_share", "slices_with_logs")


@dataclass(frozen=True)
class Reader:
    """Who read which form of which tables."""

    name: str
    version: str
    format: str
    # what tells the tables from the set's most common ones of that format; often empty
    variant: str = ""

    @property
    def label(self) -> str:
        """For legends."""
        tables = f"{self.format}, {self.variant}" if self.variant else self.format
        return f"{self.name} \N{MIDDLE DOT} {tables}"


@dataclass(frozen=True)
class Measured:
    """The samples of one case by one reader over one layout, of one of the runs of a set."""

    case: str
    reader: Reader
    ratio: float  # per cent of the rows updated in a changed slice
    share: float  # per cent of the slices that are changed, as they were counted
    stale: bool  # the reader read base files alone, where others had to merge
    stat: Stat | None
    peak: int | None  # most resident bytes
    outcome: str
    reason: str  # why there is no time
    link: str
    cpu: float | None = None  # seconds of processor time, the median of those samples that have it
    stored: Stored | None = None  # what the tables cost their writer, where that is known
    paths: Mapping[str, int] = field(default_factory=dict)
    spent: Mapping[str, float] = field(default_factory=dict)

    @property
    def suite(self) -> str:
        """First part of the case: `scan`, or the suite of a query."""
        return self.case.partition("/")[0]


@dataclass
class RunSet:
    """Runs of one commit at one scale on one machine, or on one of Spark's masters there."""

    machine: str
    commit: str
    scale: float
    master: str | None = None
    started: str = ""
    timings: list[tuple[Shown, Timing]] = field(default_factory=list)
    shown: list[Shown] = field(default_factory=list)

    @property
    def id(self) -> str:
        """Part of a file's name and of addresses."""
        text = f"{self.machine}-{self.commit}-{self.scale:g}"
        text += f"-{self.master}" if self.master else ""
        return re.sub(r"[^A-Za-z0-9.-]+", "_", text.replace("+", "-dirty"))

    @property
    def place(self) -> str:
        """Where they ran."""
        return f"{self.machine}, Spark on {self.master}" if self.master else self.machine

    @property
    def label(self) -> str:
        """For people."""
        when = f"{self.started[:10]}, scale {self.scale:g}, commit {self.commit}"
        whose = "your run: " if self.is_visitors else ""
        loads = self.newest.machine.load_before
        load = f", load {loads[0]:.1f} before it" if loads else ""
        return f"{whose}{when}, {self.place}{load}"

    @property
    def is_visitors(self) -> bool:
        """Whether a visitor made it, here, and it came with no checkout."""
        return any(shown.is_visitors for shown in self.shown)

    @property
    def newest(self) -> Record:
        """Its newest record, for what it says of the machine."""
        return self.shown[-1].record


def is_of_tables(timing: Timing) -> bool:
    """Whether tables of a format were read."""
    return isinstance(timing, Answered) and timing.over.format is not None


def run_sets(
    records: Iterable[Shown],
    wanted: Callable[[Timing], bool],
    counted: Callable[[Timing], bool] | None = None,
) -> list[RunSet]:
    """Sets with timings of a kind: those of the newest day first, of these the widest.

    Records are oldest first. `counted` says which timings make a set wide. One that is not half as
    wide as the widest then comes behind all that are: a run of few cases, made for one figure, does
    not take the place of what compares many. Without it all do, and the newest is first.
    """
    sets: dict[tuple[str, str, float, str | None], RunSet] = {}
    for shown in records:
        for timing in shown.record.timings:
            if not wanted(timing) or timing.outcome == "unavailable":
                continue
            record = shown.record
            place = record.machine.name, shown.commit, timing.over.scale
            key = (*place, record.run.master)
            one = sets.setdefault(key, RunSet(*key))
            one.started = shown.record.run.started_utc
            one.timings.append((shown, timing))
            if not one.shown or one.shown[-1] is not shown:
                one.shown.append(shown)
    widths = {key: _width(one, counted or (lambda _: True)) for key, one in sets.items()}
    widest = max((width for width, _ in widths.values()), default=0) if counted else 0
    order = sorted(
        sets,
        key=lambda key: (2 * widths[key][0] >= widest, sets[key].started[:10], widths[key]),
        reverse=True,
    )
    return [sets[key] for key in order]


def is_scan(timing: Timing) -> bool:
    """Whether a table was read as a whole, rather than queried."""
    return timing.case.startswith("scan/")


def _width(one: RunSet, counted: Callable[[Timing], bool]) -> tuple[int, float]:
    """How many different things by how many implementations; at equal width the larger scale."""
    different = {(s.label, t.case, t.over.name) for s, t in one.timings if counted(t)}
    return (len(different), one.scale)


def measured(one: RunSet) -> list[Measured]:
    """What a set says of readers of tables.

    A case that several runs have is shown by the one that has it over the most tables, of two such
    by the newer: samples of two runs had different minutes, and are not put together.
    """
    timed = [
        (shown, timing)
        for shown, timing in one.timings
        if isinstance(timing, Answered) and timing.over.format is not None
    ]
    common = _common(timing for _, timing in timed)
    groups: dict[tuple[Reader, str, str], list[tuple[Shown, Answered]]] = {}
    for shown, timing in timed:
        about, over = shown.record.implementation, timing.over
        variant = _variant(over, common[over.format or ""])
        reader = Reader(about.name, about.version, over.format or "", variant)
        groups.setdefault((reader, timing.case, over.name), []).append((shown, timing))
    stale = {
        reader for (reader, _, _), listed in groups.items() if any(t.over.stale for _, t in listed)
    }
    wide = Counter(
        (reader, case, run)
        for (reader, case, _), listed in groups.items()
        for run in {shown.record.run.id for shown, _ in listed}
    )
    return [
        _measured(
            case,
            reader,
            max(reversed(listed), key=lambda one: wide[reader, case, one[0].record.run.id]),
            [timing for _, timing in listed if timing.outcome != "pass"],
            stale=reader in stale,
        )
        for (reader, case, _), listed in groups.items()
    ]


def _measured(
    case: str,
    reader: Reader,
    best: tuple[Shown, Answered],
    wrong: Sequence[Answered],
    *,
    stale: bool,
) -> Measured:
    shown, last = best
    cpu = None if wrong else Stat.of(last.cpu)
    ratio, share = last.over.per_cent("update_ratio"), _share(last.over)
    worst = wrong[-1] if wrong else last
    return Measured(
        case=case,
        reader=reader,
        ratio=ratio,
        share=share,
        stale=stale,
        stat=None if wrong else Stat.of(last.hot or last.cold),
        peak=last.peak_bytes,
        outcome=worst.outcome,
        reason=worst.reason or "",
        link=shown.link,
        cpu=cpu.median if cpu else None,
        stored=last.over.stored,
        paths=last.paths,
        spent=last.spent,
    )


def _share(over: Rows) -> float:
    """Per cent of the slices that have changes, as they were counted.

    Records from before they were counted have the share that was asked for, of which so many slices
    as there were can have shown another one.
    """
    wanted, slices = over.per_cent("slice_share"), over.per_cent("slices")
    if over.per_cent("update_ratio") == 0 or not slices:
        return wanted
    counted = over.dimensions.get("slices_with_logs", max(1, round(slices * wanted / 100)))
    return 100 * float(counted) / slices if wanted else 0.0


def _common(timings: Iterable[Timing]) -> dict[str, dict[str, str | None]]:
    """By format, of each dimension what most of its layouts have; None: most lack it."""
    layouts: dict[str, dict[str, dict[str, str]]] = {}
    for timing in timings:
        by_name = layouts.setdefault(timing.over.format or "", {})
        by_name[timing.over.name] = _others(timing.over)
    return {format_: _most(list(by_name.values())) for format_, by_name in layouts.items()}


def _most(layouts: Sequence[Mapping[str, str]]) -> dict[str, str | None]:
    words = sorted({word for layout in layouts for word in layout})
    counts = {word: Counter(layout.get(word) for layout in layouts) for word in words}
    return {
        word: max(found, key=lambda value: (found[value], value or ""))
        for word, found in counts.items()
    }


def _others(over: Rows) -> dict[str, str]:
    """What tells tables apart besides how much of them is changed."""
    return {word: str(value) for word, value in over.dimensions.items() if word not in _AXES}


def _variant(over: Rows, common: Mapping[str, str | None]) -> str:
    """What tells tables from the most common ones of their format, in words."""
    others = _others(over)
    words = [(word.replace("_", " "), others.get(word)) for word in sorted(common)]
    usual = [common[word] for word in sorted(common)]
    return ", ".join(
        f"no {word}" if own is None else f"{word} {own}"
        for (word, own), most in zip(words, usual, strict=True)
        if own != most
    )
