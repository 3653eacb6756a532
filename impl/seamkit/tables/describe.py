"""A planned scan as a description of its table: which files are read, and what changes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from seambase.description import StoredFile, TableDescription, UnitDescription
from seamkit.scan.scan import Scan
from seamkit.scan.unit_scan import UnitScan
from seamkit.scan.units import DataFile, ReadUnit, Runs

__all__ = ["described"]


def described(
    scan: Scan,
    *,
    format_name: str,
    version: str,
    state: str,
    key: Sequence[str] = (),
    unit_word: str = "file",
    properties: Mapping[str, str] = MappingProxyType({}),
) -> TableDescription:
    """Describe the table of a snapshot scan.

    Args:
        scan: of all columns, without a filter.
        format_name: as in `formats.NAME`.
        version: of the format.
        state: that is read.
        key: columns that tell rows apart.
        unit_word: what units are called.
        properties: further facts.
    """
    assert isinstance(scan, UnitScan)
    plan = scan.plan
    return TableDescription(
        table=plan.table,
        format=format_name,
        version=version,
        state=state,
        key=list(key),
        units=[_unit(unit) for unit in plan.units],
        unit_word=unit_word,
        properties=dict(properties),
        warnings=list(plan.warnings),
    )


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
