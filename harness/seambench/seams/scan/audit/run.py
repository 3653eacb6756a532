"""A whole audit, step by step; nothing is written anywhere near the table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from seambase.description import TableDescription
from seambase.errors import InputError, RefusedError, UsageError
from seambench import __version__
from seambench.contracts.scan import Bare, Describing, Parted, Scanner, ScanRequest
from seambench.seams.scan.audit.advice import advise
from seambench.seams.scan.audit.budget import Budget
from seambench.seams.scan.audit.layout import layout_of, unit_bytes
from seambench.seams.scan.audit.measure import Checked, check_units, measure_cost
from seambench.seams.scan.audit.model import Audit, Cost, Damage, PeerAnswer
from seambench.seams.scan.audit.peers import Ours, ask_peers, present_peers

_NOTHING = Checked(0, None, [], frozenset())


@dataclass(frozen=True)
class Plan:
    """What is asked of an audit.

    Attributes:
        request: the table, where it lies.
        seconds: for everything.
        most_bytes: that are read of the table for checks and measurements; peers, who read it
            whole, are asked only if it has no more.
        peers: names of readers to ask; None for all that are there.
        key: columns that tell rows apart; none for those that the table declares.
    """

    request: ScanRequest
    seconds: float
    most_bytes: int
    peers: Sequence[str] | None = None
    key: Sequence[str] = ()


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
        return _told(scanner, table, budget, _NOTHING, damage)
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
        cost, met = measure_cost(table, scan, checked.broken, budget, seconds, tell)
        damage += met
    ours = Ours(scanner, plan.request, table, plan.key or table.key)
    readable = not any(one.stops for one in damage)
    peers = _peers(ours, names, readable, budget, tell)
    return _told(scanner, table, budget, checked, damage, cost, peers)


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
        budget.reach(f"no other reader was asked: it would read {whole:,} bytes")
        return []
    return ask_peers(ours, names, budget, tell)


def _told(
    scanner: Scanner,
    table: TableDescription,
    budget: Budget,
    checked: Checked,
    damage: Sequence[Damage],
    cost: Cost | None = None,
    peers: Sequence[PeerAnswer] = (),
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
    )
