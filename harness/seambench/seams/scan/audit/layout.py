"""How the rows of a table lie, in numbers: all from its description, nothing is read."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence

from seambase.description import StoredFile, TableDescription, UnitDescription
from seambench.seams.scan.audit.model import Group, Kind, Layout

SMALL_BYTES = 32 << 20
"""Data files below it count as small: opening them weighs more than reading them."""

_GROUPS_SHOWN = 10


def layout_of(table: TableDescription) -> Layout:
    """The layout of a table that is not broken."""
    data = _once(file for unit in table.units for file in unit.files)
    sizes = sorted(file.size_bytes for file in data)
    rows = [file.rows for file in data]
    groups = [_group(name, units) for name, units in by_group(table).items()]
    groups.sort(key=_bytes, reverse=True)
    middle = statistics.median(map(_bytes, groups)) if groups else 0
    changes = _once(file for unit in table.units for file in unit.changes)
    return Layout(
        unit=table.unit_word,
        units=len(table.units),
        changed_units=sum(bool(unit.changes) for unit in table.units),
        kinds=_kinds(table),
        data_files=len(data),
        data_bytes=sum(sizes),
        change_bytes=sum(file.size_bytes for file in changes),
        data_rows=None if None in rows else sum(row for row in rows if row is not None),
        smallest_bytes=sizes[0] if sizes else 0,
        median_bytes=int(statistics.median(sizes)) if sizes else 0,
        largest_bytes=sizes[-1] if sizes else 0,
        small_files=sum(size < SMALL_BYTES for size in sizes),
        small_bytes=SMALL_BYTES,
        n_groups=len(groups),
        skew=_bytes(groups[0]) / middle if middle else 1.0,
        groups=groups[:_GROUPS_SHOWN],
    )


def by_group(table: TableDescription) -> dict[str, list[UnitDescription]]:
    """The units of each partition or bucket."""
    groups: dict[str, list[UnitDescription]] = defaultdict(list)
    for unit in table.units:
        groups[unit.group].append(unit)
    return groups


def unit_bytes(unit: UnitDescription) -> int:
    """All bytes that reading a unit may touch."""
    return unit.data_bytes + unit.change_bytes


def _group(name: str, units: Sequence[UnitDescription]) -> Group:
    return Group(
        name=name,
        units=len(units),
        changed_units=sum(bool(unit.changes) for unit in units),
        data_bytes=sum(f.size_bytes for f in _once(f for u in units for f in u.files)),
        change_bytes=sum(f.size_bytes for f in _once(f for u in units for f in u.changes)),
    )


def _bytes(group: Group) -> int:
    return group.data_bytes + group.change_bytes


def _kinds(table: TableDescription) -> list[Kind]:
    kinds = sorted({file.kind for unit in table.units for file in unit.changes})
    found = []
    for kind in kinds:
        files = _once(f for unit in table.units for f in unit.changes if f.kind == kind)
        rows = [file.rows for file in files]
        found.append(
            Kind(
                kind=kind,
                files=len(files),
                bytes=sum(file.size_bytes for file in files),
                units=sum(any(f.kind == kind for f in unit.changes) for unit in table.units),
                rows=None if None in rows else sum(row for row in rows if row is not None),
            )
        )
    return found


def _once(files: Iterable[StoredFile]) -> list[StoredFile]:
    """Each file, or part of one, once: deletes may apply to several units."""
    return list({(file.kind, *file.identity): file for file in files}.values())
