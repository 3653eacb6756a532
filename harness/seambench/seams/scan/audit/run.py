"""A whole audit, step by step, and what to do about a table; nothing is written near it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from seambase.description import TableDescription, UnitDescription
from seambase.errors import InputError, RefusedError, UsageError
from seambase.wording import counted
from seambench import __version__
from seambench.contracts.formats import announced_formats
from seambench.contracts.scan import Bare, Describing, Parted, Scanner, ScanRequest
from seambench.seams.scan.audit.layout import SMALL_BYTES, by_group, layout_of, unit_bytes
from seambench.seams.scan.audit.measure import Checked, check_units, measure_cost
from seambench.seams.scan.audit.model import (
    Advice,
    Audit,
    BrokenRule,
    Budget,
    Cost,
    Damage,
    PeerAnswer,
)
from seambench.seams.scan.audit.peers import Ours, ask_peers, present_peers

_NOTHING = Checked(0, None, [], frozenset())


@dataclass(frozen=True)
class Plan:
    """What is asked of an audit."""

    request: ScanRequest  # the table, where it lies
    seconds: float
    # that are read of the table for checks and measurements; peers, who read it whole, are asked
    # only if it has no more
    most_bytes: int
    peers: Sequence[str] | None = None  # names of readers to ask; None for all that are there
    key: Sequence[str] = ()  # columns that tell rows apart; none for those that the table declares


def audit(scanner: Scanner, plan: Plan, tell: Callable[[str], None]) -> Audit:
    """Look at a table by a reader that must tell what is in one."""
    if not isinstance(scanner, Describing):
        raise RefusedError(f"{scanner.name} does not describe tables")
    budget = Budget(plan.seconds, plan.most_bytes)
    tell("reading the metadata")
    table = scanner.describe(plan.request)
    damage = [Damage(where=one.file, reason=one.reason, stops=False) for one in table.warnings]
    if table.broken:
        damage.append(Damage(where="", reason=table.broken, stops=True))
        return _summary(
            scanner, table, budget, _NOTHING, damage, rules=_rules(table, plan, budget, tell)
        )
    scan = scanner.open(plan.request)
    for name in plan.key:
        if name not in scan.schema.names:
            raise UsageError(f"--key {name!r}: the columns are {', '.join(scan.schema.names)}")
    damage += _strictly(scanner, plan.request, damage)
    checked, cost = _NOTHING, None
    if isinstance(scan, Parted):
        checked = check_units(table, scan, budget, tell)
        damage += checked.damage
    names = present_peers(table.format) if plan.peers is None else plan.peers
    if isinstance(scan, Bare):
        # Half of the time is theirs who are asked afterwards.
        seconds = budget.seconds_left / (2 if names else 1)
        cost, further = measure_cost(table, scan, checked.broken, budget, seconds, tell)
        damage += further
    ours = Ours(scanner, plan.request, table, plan.key or table.key)
    readable = not any(one.stops for one in damage)
    peers = _peers(ours, names, readable, budget, tell)
    rules = _rules(table, plan, budget, tell)
    return _summary(scanner, table, budget, checked, damage, cost, peers, rules)


def _rules(
    table: TableDescription, plan: Plan, budget: Budget, tell: Callable[[str], None]
) -> list[BrokenRule]:
    """Rules of its format that a table on this machine breaks, by the format's own linter."""
    rules: dict[str, BrokenRule] = {}
    folder = Path(plan.request.table)
    known = {one.name: one for one in announced_formats() if one.lint}
    if table.format not in known or not folder.is_dir():
        return []
    if (whole := sum(map(unit_bytes, table.units))) > plan.most_bytes:
        budget.reach(f"no rule of the format was asked: it would read {counted(whole, 'byte')}")
        return []
    tell("asking the rules of the format")
    for one in known[table.format].faults(folder):
        before = rules.get(one.rule)
        first = before or BrokenRule(**{"places": 0, **asdict(one)})
        rules[one.rule] = msgspec.structs.replace(first, places=first.places + 1)
        if not budget.seconds_left:
            budget.reach("not all rules of the format were asked")
            break
    return sorted(rules.values(), key=lambda one: (one.level, one.rule))


def _strictly(scanner: Scanner, request: ScanRequest, known: Sequence[Damage]) -> Sequence[Damage]:
    """Damage that only a strict look at the metadata finds."""
    if not scanner.capabilities.get("strict"):
        return ()
    try:
        scanner.open(replace(request, strict=True))
    except InputError as error:
        if not any(one.reason in str(error) for one in known):
            return (Damage(where="", reason=str(error), stops=False),)
    return ()


def _peers(
    ours: Ours,
    names: Sequence[str],
    readable: bool,
    budget: Budget,
    tell: Callable[[str], None],
) -> list[PeerAnswer]:
    if not names:
        return []
    if not readable:
        budget.reach("no other reader was asked: the table cannot be read whole")
        return []
    whole = sum(map(unit_bytes, ours.table.units))
    if whole > budget.most_bytes:
        budget.reach(f"no other reader was asked: it would read {counted(whole, 'byte')}")
        return []
    return ask_peers(ours, names, budget, tell)


def _summary(
    scanner: Scanner,
    table: TableDescription,
    budget: Budget,
    checked: Checked,
    damage: Sequence[Damage],
    cost: Cost | None = None,
    peers: Sequence[PeerAnswer] = (),
    rules: Sequence[BrokenRule] = (),
) -> Audit:
    return Audit(
        made_utc=datetime.now(UTC).isoformat(timespec="seconds"),
        seambench=__version__,
        reader=scanner.name,
        table=table.table,
        format=table.format,
        version=table.version,
        state=table.state,
        key=list(table.key),
        properties=dict(table.properties),
        limits=budget.limits(),
        layout=None if table.broken else layout_of(table),
        rows=checked.rows,
        checked_units=checked.units,
        damage=list(damage),
        cost=cost,
        peers=list(peers),
        advice=[] if table.broken else advise(table, cost),
        rules=list(rules),
    )


#: What files are combined to.
_TARGET_BYTES = 128 << 20
_LEAST_FILES_SAVED = 2
_MUCH_DELETED = 0.3
_SHOWN = 10


def advise(table: TableDescription, cost: Cost | None) -> list[Advice]:
    """What to compact, combine and rewrite: of each at most ten, the greatest gain first."""
    return [
        *_first(_compact(table, cost)),
        *_first(_rewrite(table)),
        *_first(_combine(table)),
    ]


def _first(ranked: Iterator[tuple[float, Advice]]) -> list[Advice]:
    ordered = sorted(ranked, key=lambda pair: (-pair[0], pair[1].target))
    return [advice for _, advice in ordered[:_SHOWN]]


def _advice(
    what: str, target: str, detail: str, gain: float | None = None, *, measured: bool = False
) -> Advice:
    return Advice(what=what, target=target, gain_seconds=gain, measured=measured, detail=detail)


def _compact(table: TableDescription, cost: Cost | None) -> Iterator[tuple[float, Advice]]:
    """Units with changes, by the time that these cost; without a measurement by their bytes."""
    costs = {} if cost is None else {one.unit: one for one in cost.units}
    changed = [unit for unit in table.units if unit.changes]
    measured = [unit for unit in changed if unit.name in costs]
    extra = {
        unit.name: costs[unit.name].snapshot_seconds - costs[unit.name].files_alone_seconds
        for unit in measured
    }
    sampled_bytes = sum(unit.change_bytes for unit in measured)
    per_byte = sum(extra.values()) / sampled_bytes if sampled_bytes else None
    for unit in changed:
        gain = extra.get(unit.name)
        if gain is None and per_byte is not None:
            gain = per_byte * unit.change_bytes
        if gain is not None and gain <= 0:
            continue
        basis = _changes(unit)
        advice = _advice("compact", unit.name, basis, gain, measured=unit.name in extra)
        yield unit.change_bytes if gain is None else gain, advice


def _changes(unit: UnitDescription) -> str:
    counts = sorted(Counter(file.kind for file in unit.changes).items())
    listed = ", ".join(counted(count, kind) for kind, count in counts)
    return f"{listed}: {counted(unit.change_bytes, 'byte')} over {unit.data_bytes:,}"


def _rewrite(table: TableDescription) -> Iterator[tuple[float, Advice]]:
    """Units of which vectors take out a large part of the rows."""
    for unit in table.units:
        counts = [file.rows for file in unit.files]
        gone = [file.rows for file in unit.changes if file.kind == "deletion vector"]
        rows, deleted = sum(n or 0 for n in counts), sum(n or 0 for n in gone)
        if None in counts or not rows or deleted < _MUCH_DELETED * rows:
            continue
        detail = f"{deleted:,} of {counted(rows, 'row', 'are')} deleted ({deleted / rows:.0%})"
        yield deleted / rows * unit.data_bytes, _advice("rewrite", unit.name, detail)


def _combine(table: TableDescription) -> Iterator[tuple[float, Advice]]:
    """Partitions or buckets with several small data files."""
    for name, units in by_group(table).items():
        sizes = (file.size_bytes for unit in units for file in unit.files)
        small = [size for size in sizes if size < SMALL_BYTES]
        needed = math.ceil(sum(small) / _TARGET_BYTES)
        saved = len(small) - needed
        if saved < _LEAST_FILES_SAVED:
            continue
        detail = (
            f"{counted(len(small), 'file')} of "
            f"{counted(sum(small), 'byte')} together would fit into {needed}"
        )
        yield saved, _advice("combine files", name or "the table", detail)
