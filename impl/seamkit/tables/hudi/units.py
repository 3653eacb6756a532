"""File slices as read units: what to read of a Hudi table, in the words of `seamkit.scan`."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from typing import Literal

import pyarrow.compute as pc

from seambase.description import StoredFile
from seambase.errors import RefusedError
from seamkit.core.collector import collector_at_rest
from seamkit.scan.units import DataFile, ReadPlan, ReadUnit
from seamkit.tables.hudi.base_files import open_slice_base
from seamkit.tables.hudi.listing.buckets import bucket_units
from seamkit.tables.hudi.listing.column_stats import ColumnStats, known_bounds
from seamkit.tables.hudi.listing.partitions import PartitionColumns
from seamkit.tables.hudi.listing.planning import Plan
from seamkit.tables.hudi.listing.slices import FileSlice
from seamkit.tables.hudi.merge.changes import LogSource, SliceChanges

__all__ = ["Path", "read_plan"]

Path = Literal["auto", "native", "merge"]
"""How slices are read: `auto` chooses for each, `native` reads base files alone and refuses logs
that it would have to apply, `merge` takes that path for every slice."""


@collector_at_rest()
def read_plan(
    plan: Plan, source: LogSource, path: Path, *, merge_logs: bool, buckets: int | None = None
) -> ReadPlan:
    """The units of a read, in the order of partition and file id.

    Args:
        plan: the slices.
        source: what they have in common.
        path: how to read them.
        merge_logs: False for the read-optimised view: logs are left out, and slices without a base
            file contribute nothing.
        buckets: how many the table's simple bucket index is said to have; None where nobody knows.

    Raises:
        RefusedError: logs on the native path.
    """
    slices = plan.slices if merge_logs else _bases_alone(plan.slices)
    partitions = PartitionColumns(source.config, source.schema)
    told = ColumnStats(source.storage, source.timeline, source.schema)
    statistics = told if plan.has_statistics else None
    units = [_unit(slice_, source, path, partitions, statistics) for slice_ in slices]
    if buckets is not None:
        found = bucket_units(source.storage, source.config, source.schema, slices, buckets)
        units = [replace(unit, bucket=own) for unit, own in zip(units, found, strict=True)]
    notes = []
    if plan.unchanged:
        notes.append(f"pruned     {plan.unchanged} slices hold no change of the window")
    heading = f"{len(units)} slices, listed from {plan.source}"
    if statistics is not None:
        heading += ", filters ask its column statistics"
    table = source.storage.root
    return ReadPlan(table, source.schema, units, heading, notes, list(plan.warnings))


def _unit(
    slice_: FileSlice,
    source: LogSource,
    path: Path,
    partitions: PartitionColumns,
    statistics: ColumnStats | None,
) -> ReadUnit:
    if path == "native" and slice_.logs:
        raise RefusedError(
            f"{source.storage.root}: file group {slice_.file_id} has logs, which the native path "
            "does not apply; read it with --reader auto, or ask for --query read-optimized"
        )
    base, files = slice_.base, []
    if base is not None:
        opened = partial(open_slice_base, source.storage, base, source.config.record_keys)
        files.append(DataFile(source.storage.full(base.path), base.size_bytes, opened))
    return ReadUnit(
        name=base.path if base else "no base file",
        files=files,
        partition=partitions.values(slice_.partition),
        changes=SliceChanges(slice_, source) if slice_.logs or path == "merge" else None,
        reason=f"{len(slice_.logs)} logs" if slice_.logs else "no log to apply",
        changed_by=[
            StoredFile("log", source.storage.full(log.path), log.size_bytes) for log in slice_.logs
        ],
        group=slice_.partition,
        guarantee=_bounds(slice_, statistics),
    )


def _bounds(
    slice_: FileSlice, statistics: ColumnStats | None
) -> Callable[[Collection[str]], pc.Expression | None] | None:
    """What column statistics say of a slice; None where not all of its files are the table's."""
    base = slice_.base
    if statistics is None or (base is not None and base.external is not None):
        return None
    paths = [log.path for log in slice_.logs] + ([] if base is None else [base.path])
    return partial(known_bounds, statistics, [path.rpartition("/")[2] for path in paths])


def _bases_alone(slices: list[FileSlice]) -> list[FileSlice]:
    return [
        FileSlice(slice_.partition, slice_.file_id, slice_.instant, slice_.base)
        for slice_ in slices
        if slice_.base is not None
    ]
