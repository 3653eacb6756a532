"""What was timed of seams other than scans: rates by chunk size, beside a plain copy."""

from __future__ import annotations

import itertools
import re
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from seambench.contracts.common import OVER, TimedFamily
from seambench.records.model import Answered, Floor, Timing
from seambench.records.ratios import ratio_of
from seambench.report.views.load import Shown
from seambench.report.views.runs import RunSet, is_of_tables, run_sets
from seambench.report.views.stats import Stat

_NUMBER = re.compile(r"(\d+)(?:\s+(.*))?$")


@dataclass(frozen=True)
class Rate:
    """One competitor at one number of rows."""

    stat: Stat | None  # seconds
    moved: int | None  # bytes that a run moved; None: unknown
    link: str
    reason: str = ""
    peak: int | None = None
    cpu: float | None = None
    copy: float | None = None  # the seconds of a plain copy of as many bytes
    times: float | None = None  # as fast as so many times the best peer, or the best of the others
    best: bool = False
    same: bool = False  # no difference from the best
    # seconds of the last run by what its sides spent them on, as they count them
    spent: Mapping[str, float] = field(default_factory=dict)
    hot: Sequence[float] = ()  # the samples of it, by round

    @property
    def bytes_per_second(self) -> float | None:
        """By the median."""
        if self.stat is None or not self.moved:
            return None
        return self.moved / max(self.stat.median, 1e-12)


@dataclass(frozen=True)
class Turn:
    """From how many rows on which competitors win; several where there is no difference."""

    rows: int
    names: Sequence[str]
    rival: str = ""  # the next of the others there, and how much longer it takes; empty: none

    @property
    def said(self) -> str:
        """In words."""
        return f"from {self.rows:,} on {' or '.join(self.names)}{self.rival}"


@dataclass
class Group:
    """What is compared with each other."""

    label: str  # the same of all its timings: a plan and its workers, or a format and a step
    # by competitor and number of rows
    rates: dict[str, dict[int, Rate]] = field(default_factory=dict)

    @property
    def rows(self) -> list[int]:
        """All numbers of rows, least first."""
        return sorted({count for one in self.rates.values() for count in one})

    @property
    def turns(self) -> list[Turn]:
        """Who wins from which number of rows on; nothing where none compete."""
        found: list[Turn] = []
        for count in self.rows:
            winners = [
                name
                for name, by_rows in self.rates.items()
                if (rate := by_rows.get(count)) and (rate.best or rate.same)
            ]
            if winners and (not found or found[-1].names != winners):
                found.append(Turn(count, winners, self._rival(count, winners)))
        return found

    def _rival(self, count: int, winners: Sequence[str]) -> str:
        """The fastest of those that do not win, and its ratio to the fastest."""
        there = {who: one for who, by_rows in self.rates.items() if (one := by_rows.get(count))}
        timed = {who: one for who, one in there.items() if one.stat is not None}
        others = [who for who in timed if who not in winners]
        rival = min(others, key=lambda who: statistics.median(timed[who].hot), default=None)
        best = next((who for who in winners if timed[who].best), None)
        if rival is None or best is None:
            return ""
        ratio = ratio_of(timed[rival].hot, timed[best].hot, paired=False)
        return f", before {rival} by {ratio.said}" if ratio is not None else ""


@dataclass(frozen=True)
class Family:
    """Timings of one kind, of one set of runs."""

    seam: str
    about: TimedFamily
    runs: RunSet
    groups: Sequence[Group]

    @property
    def competitors(self) -> list[str]:
        """Everybody in any group, in the order of appearance."""
        return list(dict.fromkeys(name for group in self.groups for name in group.rates))

    @property
    def compares(self) -> bool:
        """Whether several compete, at several numbers of rows, in any group."""
        return any(len(group.rows) > 1 and group.turns for group in self.groups)

    @property
    def by_ways(self) -> bool:
        """Whether ways of one implementation compete, rather than implementations."""
        return bool(self.about.ways)


def families(
    records: Iterable[Shown],
    known: Sequence[tuple[str, TimedFamily]],
    *,
    comparing: bool = False,
) -> list[Family]:
    """Every family that was timed, each by the widest set of runs of its newest day.

    Records come oldest first. Timings of families that are not known make one by their first word.
    `comparing` takes only sets of runs in which several compete; families without one are left out.
    """
    listed = list(records)
    by_prefix = {family.prefix: (seam, family) for seam, family in known}
    prefixes = dict.fromkeys(
        _prefix(timing)
        for shown in listed
        for timing in shown.record.timings
        if not is_of_tables(timing)
    )
    found: list[Family] = []
    for prefix in prefixes:
        seam, about = by_prefix.get(prefix, (prefix, TimedFamily(prefix, prefix)))
        made = (
            Family(seam, about, one, _groups(about, one))
            for one in run_sets(listed, partial(_is_of, prefix))
        )
        found += itertools.islice((f for f in made if f.compares or not comparing), 1)
    order = list(by_prefix)
    return sorted(found, key=lambda f: (f.seam, _place_in(order, f.about.prefix)))


def _place_in(order: Sequence[str], prefix: str) -> int:
    return order.index(prefix) if prefix in order else len(order)


def _is_of(prefix: str, timing: Timing) -> bool:
    return not is_of_tables(timing) and _prefix(timing) == prefix


def _prefix(timing: Timing) -> str:
    return timing.case.partition("/")[0]


@dataclass(frozen=True)
class _Place:
    """Where a timing belongs."""

    group: str
    competitor: str
    rows: int


def _place(about: TimedFamily, shown: Shown, timing: Timing) -> _Place:
    name = shown.record.implementation.name
    parts = timing.case.split("/")[1:]
    if OVER in about.parts:
        parts.append(timing.over.name)
    if about.parts and len(parts) == len(about.parts):
        said = dict(zip(about.parts, parts, strict=True))
        rows = "0" if about.parts[-1] in about.ways else said.pop(about.parts[-1])
        number = _NUMBER.match(rows)
        way = " ".join(text for part in about.ways if (text := said.pop(part)) != "none")
        kept = [_worded(part, text) for part, text in said.items()]
        if number is not None:
            return _Place(
                ", ".join([*kept, *filter(None, number.groups()[1:])]), way or name, int(number[1])
            )
    number = _NUMBER.match(parts[-1]) if parts else None
    if number is not None and len(parts) > 1:
        return _Place("/".join(parts[:-1]), name, int(number[1]))
    return _Place("/".join(parts), name, 0)


def _worded(part: str, text: str) -> str:
    if not text.isdigit():
        return text
    return f"{text} {part.removesuffix('s') if text == '1' else part}"


def _groups(about: TimedFamily, one: RunSet) -> list[Group]:
    newest: dict[_Place, tuple[Shown, Timing]] = {}
    copies: dict[tuple[str, int], float] = {}
    for shown, timing in one.timings:
        place = _place(about, shown, timing)
        if isinstance(timing, Floor):
            stat = Stat.of(timing.hot)
            if stat is not None:
                copies[place.group, place.rows] = stat.median
        else:
            newest[place] = (shown, timing)
    groups: dict[str, Group] = {}
    for (label, count), listed in _by_row(newest).items():
        group = groups.setdefault(label, Group(label))
        for name, rate in _judged(listed, copies.get((label, count)), moves=about.moves):
            group.rates.setdefault(name, {})[count] = rate
    return list(groups.values())


def _by_row(
    newest: dict[_Place, tuple[Shown, Timing]],
) -> dict[tuple[str, int], dict[str, tuple[Shown, Timing]]]:
    found: dict[tuple[str, int], dict[str, tuple[Shown, Timing]]] = {}
    for place, one in newest.items():
        found.setdefault((place.group, place.rows), {})[place.competitor] = one
    return found


def _judged(
    listed: dict[str, tuple[Shown, Timing]], copy: float | None, *, moves: bool
) -> Iterator[tuple[str, Rate]]:
    stats = {name: Stat.of(timing.hot) for name, (_, timing) in listed.items()}
    timed = {name: stat for name, stat in stats.items() if stat is not None}
    peers = {
        name for name, (shown, _) in listed.items() if shown.record.implementation.kind == "peer"
    }
    best = min(timed, key=lambda name: timed[name].median, default=None)
    for name, (shown, timing) in listed.items():
        stat = timed.get(name)
        others = [one.median for who, one in timed.items() if who != name and who in peers]
        others = others or [one.median for who, one in timed.items() if who != name]
        cpu = Stat.of(timing.cpu)
        yield (
            name,
            Rate(
                stat=stat,
                moved=timing.bytes if moves else None,
                link=shown.link,
                reason=timing.reason or "",
                peak=timing.peak_bytes,
                cpu=cpu.median if cpu else None,
                copy=copy,
                times=min(others) / stat.median if others and stat else None,
                best=len(timed) > 1 and name == best,
                same=bool(stat and best and name != best and stat.overlaps(timed[best])),
                spent=timing.spent if isinstance(timing, Answered) else {},
                hot=timing.hot,
            ),
        )
