"""The files of a planned scan, as descriptions and lists of files name them."""

from __future__ import annotations

from seambase.description import StoredFile, UnitDescription
from seamkit.scan.scan import Scan
from seamkit.scan.unit_scan import UnitScan
from seamkit.scan.units import DataFile, ReadPlan, ReadUnit, Runs


def plan_of(scan: Scan) -> ReadPlan:
    """What a scan of a snapshot reads."""
    assert isinstance(scan, UnitScan)
    return scan.plan


def described_units(plan: ReadPlan) -> list[UnitDescription]:
    """The units of a plan, with their files and what changes these."""
    return [_unit(unit) for unit in plan.units]


def _unit(unit: ReadUnit) -> UnitDescription:
    """Of sorted runs the first, the oldest, counts as data; those above it change its rows."""
    files, later = list(unit.files), []
    if isinstance(unit.changes, Runs):
        files = list(unit.changes.runs[0])
        later = [_stored(file, "sorted run") for run in unit.changes.runs[1:] for file in run]
    return UnitDescription(
        name=unit.name,
        group=unit.group,
        files=[_stored(file, "data file") for file in files],
        changes=[*later, *unit.changed_by],
        reason=unit.reason,
    )


def _stored(file: DataFile, kind: str) -> StoredFile:
    return StoredFile(kind, file.name, file.size_bytes, file.rows)
