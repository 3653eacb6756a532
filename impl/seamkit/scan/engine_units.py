"""Which files of a plan go to an engine's own reader, and why the others stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from seamkit.engines.files import EngineFiles, why_not
from seamkit.files.reader import FileReader
from seamkit.scan.units import ReadPlan, ReadUnit

__all__ = ["EngineShare", "engine_share"]

#: Reads of their own that an engine is given at most: one for each set of values of partitions.
_MOST_READS = 64


@dataclass(frozen=True)
class EngineShare:
    """A plan, split between an engine's own reader and ours.

    Attributes:
        files: what the engine's reader reads.
        rest: what stays.
        reasons: for each unit of the plan, why it stays; None for those that go.
    """

    files: Sequence[EngineFiles]
    rest: ReadPlan
    reasons: Sequence[str | None]


def engine_share(plan: ReadPlan, columns: Sequence[str]) -> EngineShare:
    """Split a plan. Every unit without changes has its files' footers read.

    Args:
        plan: the units.
        columns: those that the scan hands out.

    Raises:
        InputError: a file is missing or broken.
    """
    schema = pa.schema([plan.schema.field(name) for name in columns])
    reads: dict[object, EngineFiles] = {}
    reasons: list[str | None] = []
    for unit in plan.units:
        found = _files_of(unit, schema)
        if isinstance(found, list):
            key = [_key(files) for files in found]
            if len({*reads, *key}) > _MOST_READS:
                found = f"an engine would have to read {_MOST_READS} partitions apart"
        if isinstance(found, str):
            reasons.append(found)
            continue
        reasons.append(None)
        for files in found:
            known = reads.get(_key(files))
            paths = [*(known.paths if known else ()), *files.paths]
            reads[_key(files)] = replace(files, paths=paths)
    rest = [unit for unit, why in zip(plan.units, reasons, strict=True) if why is not None]
    return EngineShare(list(reads.values()), replace(plan, units=rest), reasons)


def _files_of(unit: ReadUnit, schema: pa.Schema) -> list[EngineFiles] | str:
    """A unit's files, each a read of its own; or why it stays."""
    if unit.changes is not None:
        return unit.reason or "it has changes"
    values = {name: value for name, value in unit.partition.items() if name in schema.names}
    wanted = pa.schema([field for field in schema if field.name not in values])
    found = []
    for file in unit.files:
        reader: FileReader = file.open()
        why = why_not(reader, wanted)
        if why is not None:
            return why
        absent = frozenset(wanted.names).difference(reader.schema.names)
        found.append(EngineFiles([reader.name], schema, values, absent))
    return found


def _key(files: EngineFiles) -> object:
    """What files that are read together have in common."""
    values = tuple((name, value.type, value.as_py()) for name, value in files.values.items())
    return values, files.absent
