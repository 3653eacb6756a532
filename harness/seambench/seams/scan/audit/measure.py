"""Units looked at one by one: whether they can be read, and what their changes cost a reader."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from seambase.description import TableDescription, UnitDescription
from seambase.errors import InputError, RefusedError
from seambase.scan import ScanReport
from seambase.wording import counted
from seambench.contracts.scan import Bare, Parted, Scan
from seambench.seams.scan.audit.layout import unit_bytes
from seambench.seams.scan.audit.model import Budget, Cost, Damage, Range, UnitCost

#: What looking into a data file without reading its columns takes: its footer.
_FOOTER_BYTES = 64 << 10
_REPEATS = 5
_SEED = 16


@dataclass(frozen=True)
class Checked:
    """What came of looking into units."""

    units: int  # how many were looked into
    rows: int | None  # of the whole table; None unless all were looked into and can be read
    damage: list[Damage]  # what was found
    broken: frozenset[int]  # numbers of units that cannot be read


def check_units(
    table: TableDescription, scan: Parted, budget: Budget, tell: Callable[[str], None]
) -> Checked:
    """Count the rows of each unit, which opens its files and reads all that changes them.

    Those with changes come first. It spends half of the bytes and seconds at most.
    """
    order = sorted(range(len(table.units)), key=lambda i: not table.units[i].changes)
    most, until = budget.bytes_left // 2, budget.seconds_left / 2
    spent, rows, damage, broken, done = 0, 0, [], set(), 0
    for i in order:
        unit = table.units[i]
        cost = unit.change_bytes + sum(min(f.size_bytes, _FOOTER_BYTES) for f in unit.files)
        if spent + cost > most or budget.seconds_left < until:
            left = len(order) - done
            budget.reach(f"{left} of {counted(len(order), 'unit')} not looked into for damage")
            break
        tell(f"looking into {unit.name}")
        spent, done = spent + cost, done + 1
        budget.spend(cost)
        part = scan.part(i, [], None)
        try:
            rows += _drain(part)
        except (InputError, RefusedError) as error:
            damage.append(Damage(where=unit.name, reason=str(error), stops=True))
            broken.add(i)
        damage += _skipped(part.report(), table)
    whole = done == len(order) and not broken
    return Checked(done, rows if whole else None, damage, frozenset(broken))


def _skipped(report: ScanReport, table: TableDescription) -> Iterator[Damage]:
    """What reading a unit passed over, but for what planning said already."""
    for one in report.warnings:
        if one not in table.warnings:
            yield Damage(where=one.file, reason=one.reason, stops=False)


def measure_cost(
    table: TableDescription,
    scan: Bare,
    broken: frozenset[int],
    budget: Budget,
    seconds: float,
    tell: Callable[[str], None],
) -> tuple[Cost | None, list[Damage]]:
    """Time a sample of units, in turns with their data files alone.

    Units are drawn by chance, always in the same order, among those with changes and those without
    in turns, as many as can be read so often in these seconds, but one at least. One whose values
    turn out to be unreadable leaves the sample. Without a cost nothing may or can be read; the
    damage on the way is listed, too.
    """
    readable = [i for i in range(len(table.units)) if i not in broken]
    sample = _sample(table, readable, budget)
    if not sample and readable:
        budget.reach("nothing was measured: one unit is more than may be read")
    bare, columns, damage = scan.files_alone(), scan.schema.names, []
    left = len(sample)
    begin = time.monotonic()
    for i in list(sample):  # what is read first fills caches
        if time.monotonic() - begin > seconds / (_REPEATS + 1) and left < len(sample):
            budget.reach(f"{left} of {counted(len(sample), 'unit')} that were drawn not measured")
            del sample[-left:]
            break
        left -= 1
        tell(f"measuring {table.units[i].name}")
        try:
            _drain(scan.part(i, columns, None))
            _drain(bare.part(i, columns, None))
        except (InputError, RefusedError) as error:
            damage.append(Damage(where=table.units[i].name, reason=str(error), stops=True))
            sample.remove(i)
    if not sample:
        return None, damage
    whole: list[list[float]] = []
    alone: list[list[float]] = []
    for turn in range(_REPEATS):
        if whole and time.monotonic() - begin > seconds:
            budget.reach(f"the sample was read {counted(turn, 'time')} instead of {_REPEATS}")
            break
        tell(f"measuring, turn {turn + 1} of {_REPEATS}")
        pairs = [(_seconds(scan, i, columns), _seconds(bare, i, columns)) for i in sorted(sample)]
        whole.append([pair[0] for pair in pairs])
        alone.append([pair[1] for pair in pairs])
    budget.spend(2 * (len(whole) + 1) * sum(unit_bytes(table.units[i]) for i in sample))
    return _cost(table, sorted(sample), whole, alone), damage


def _cost(
    table: TableDescription,
    sample: Sequence[int],
    whole: Sequence[Sequence[float]],
    alone: Sequence[Sequence[float]],
) -> Cost:
    units = [table.units[i] for i in sample]
    weights = _weights(table, units)
    whole_sums = [_weighted(turn, weights) for turn in whole]
    alone_sums = [_weighted(turn, weights) for turn in alone]
    pairs = list(zip(whole_sums, alone_sums, strict=True))
    all_bytes = sum(map(unit_bytes, table.units))
    costs = [
        UnitCost(
            unit=unit.name,
            snapshot_seconds=statistics.median(turn[at] for turn in whole),
            files_alone_seconds=statistics.median(turn[at] for turn in alone),
        )
        for at, unit in enumerate(units)
    ]
    return Cost(
        sampled_units=len(sample),
        sampled_changed_units=sum(bool(unit.changes) for unit in units),
        share=sum(map(unit_bytes, units)) / all_bytes if all_bytes else 1.0,
        repeats=len(whole),
        ratio=_range([a / max(b, 1e-9) for a, b in pairs]),
        snapshot_seconds=_range([sum(turn) for turn in whole]),
        files_alone_seconds=_range([sum(turn) for turn in alone]),
        extra_seconds=statistics.median(a - b for a, b in pairs),
        units=costs,
    )


def _weights(table: TableDescription, sampled: Sequence[UnitDescription]) -> list[float]:
    """For each unit of the sample, how many bytes of the table one of its own stands for."""

    def total(units: Sequence[UnitDescription], changed: bool) -> int:
        return sum(unit_bytes(unit) for unit in units if bool(unit.changes) == changed)

    return [
        total(table.units, bool(unit.changes)) / max(1, total(sampled, bool(unit.changes)))
        for unit in sampled
    ]


def _weighted(seconds: Sequence[float], weights: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(seconds, weights, strict=True))


def _sample(table: TableDescription, readable: Sequence[int], budget: Budget) -> list[int]:
    """Numbers of units, as many as half of the bytes that are left allow to be read in turns.

    They come in the order in which they were drawn.
    """
    drawn = random.Random(_SEED).sample(readable, len(readable))
    kinds = [[i for i in drawn if bool(table.units[i].changes) == changed] for changed in (1, 0)]
    most = budget.bytes_left // 2 // (2 * (_REPEATS + 1))
    sample: list[int] = []
    at = 0
    while any(kinds):
        kind = kinds[at % 2]
        at += 1
        if not kind:
            continue
        size = unit_bytes(table.units[kind[0]])
        if size > most:
            kind.clear()
            continue
        most -= size
        sample.append(kind.pop(0))
    return sample


def _seconds(scan: Parted, number: int, columns: Sequence[str]) -> float:
    part = scan.part(number, columns, None)
    begin = time.perf_counter()
    _drain(part)
    return time.perf_counter() - begin


def _drain(part: Scan) -> int:
    with part.to_reader() as stream:
        return sum(batch.num_rows for batch in stream)


def _range(values: Sequence[float]) -> Range:
    return Range(median=statistics.median(values), low=min(values), high=max(values))
