"""What to do about a table, ordered by what it is worth."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from seambase.description import TableDescription, UnitDescription
from seambase.wording import counted
from seambench.seams.scan.audit.layout import SMALL_BYTES, by_group
from seambench.seams.scan.audit.model import Advice, Cost

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


def _first(found: Iterator[tuple[float, Advice]]) -> list[Advice]:
    ordered = sorted(found, key=lambda pair: (-pair[0], pair[1].target))
    return [advice for _, advice in ordered[:_SHOWN]]


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
        yield (
            unit.change_bytes if gain is None else gain,
            Advice(
                what="compact",
                target=unit.name,
                gain_seconds=gain,
                measured=unit.name in extra,
                detail=_changes(unit),
            ),
        )


def _changes(unit: UnitDescription) -> str:
    counts = sorted(Counter(file.kind for file in unit.changes).items())
    listed = ", ".join(counted(count, kind) for kind, count in counts)
    return f"{listed}: {unit.change_bytes:,} bytes over {unit.data_bytes:,}"


def _rewrite(table: TableDescription) -> Iterator[tuple[float, Advice]]:
    """Units of which vectors take out a large part of the rows."""
    for unit in table.units:
        told = [file.rows for file in unit.files]
        gone = [file.rows for file in unit.changes if file.kind == "deletion vector"]
        rows, deleted = sum(n or 0 for n in told), sum(n or 0 for n in gone)
        if None in told or not rows or deleted < _MUCH_DELETED * rows:
            continue
        detail = f"{deleted:,} of {rows:,} rows are deleted ({deleted / rows:.0%})"
        yield (
            deleted / rows * unit.data_bytes,
            Advice(
                what="rewrite", target=unit.name, gain_seconds=None, measured=False, detail=detail
            ),
        )


def _combine(table: TableDescription) -> Iterator[tuple[float, Advice]]:
    """Partitions or buckets with several small data files."""
    for name, units in by_group(table).items():
        small = [file for file in _files(units) if file < SMALL_BYTES]
        needed = math.ceil(sum(small) / _TARGET_BYTES)
        saved = len(small) - needed
        if saved < _LEAST_FILES_SAVED:
            continue
        detail = f"{len(small)} files of {sum(small):,} bytes together would fit into {needed}"
        yield (
            saved,
            Advice(
                what="combine files",
                target=name or "the table",
                gain_seconds=None,
                measured=False,
                detail=detail,
            ),
        )


def _files(units: Sequence[UnitDescription]) -> list[int]:
    return [file.size_bytes for unit in units for file in unit.files]
