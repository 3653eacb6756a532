"""File slices as read units: what to read of a Hudi table, in the words of `seamkit.scan`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from seambase.description import StoredFile
from seambase.errors import RefusedError
from seamkit.core.collector import gc_paused
from seamkit.scan.units import DataFile, FileTest, Guarantee, ReadPlan, ReadUnit
from seamkit.tables.hudi.base_files import open_slice_base
from seamkit.tables.hudi.indexes.buckets import bucket_units
from seamkit.tables.hudi.indexes.metadata import (
    BloomIndex,
    ColumnStats,
    PartitionStats,
    known_bounds,
    may_hold_keys,
    partition_bounds,
)
from seamkit.tables.hudi.listing.files import FileSlice
from seamkit.tables.hudi.listing.partitions import PartitionColumns
from seamkit.tables.hudi.listing.planning import Plan
from seamkit.tables.hudi.merge.blocks import LogSource
from seamkit.tables.hudi.merge.fold import SliceChanges
from seamkit.tables.hudi.timeline.window import NOW

__all__ = ["Path", "read_plan"]

Path = Literal["auto", "native", "merge"]
"""How slices are read: `auto` chooses for each, `native` reads base files alone and refuses logs
that it would have to apply, `merge` takes that path for every slice."""


@gc_paused()
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
    indexes = _Indexes.of(plan, source)
    units = [_unit(slice_, source, path, partitions, indexes) for slice_ in slices]
    if buckets is not None:
        found = bucket_units(source.storage, source.config, source.schema, slices, buckets)
        units = [replace(unit, bucket=own) for unit, own in zip(units, found, strict=True)]
    notes = []
    if plan.unchanged:
        notes.append(f"pruned     {plan.unchanged} slices hold no change of the window")
    listed_from = "the metadata table" if plan.from_metadata else "folders"
    heading = f"{len(units)} slices, listed from {listed_from}"
    if indexes.names:
        heading += f", filters ask its {', '.join(indexes.names)}"
    table = source.storage.root
    return ReadPlan(table, source.schema, units, heading, notes, list(plan.warnings))


def _unit(
    slice_: FileSlice,
    source: LogSource,
    path: Path,
    partitions: PartitionColumns,
    indexes: _Indexes,
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
        guarantee=indexes.bounds(slice_),
        group_guarantee=indexes.group_bounds(slice_),
        file_test=indexes.file_test(slice_, source.config.record_keys),
    )


@dataclass(frozen=True)
class _Indexes:
    """Indexes of the metadata table that a plan's filters ask; None those that they do not."""

    columns: ColumnStats | None
    partitions: PartitionStats | None
    keys: BloomIndex | None
    by_partition: dict[str, Guarantee] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan, source: LogSource) -> _Indexes:
        table, schema = (source.storage, source.timeline), source.schema
        # Of partitions it knows what they are now.
        columns = plan.from_metadata and ColumnStats.is_there(source.timeline)
        now = plan.from_metadata and source.window == NOW
        return cls(
            ColumnStats(*table, schema) if columns else None,
            PartitionStats(*table, schema)
            if now and PartitionStats.is_there(source.timeline)
            else None,
            BloomIndex(*table)
            if plan.from_metadata and BloomIndex.is_there(source.timeline)
            else None,
        )

    @property
    def names(self) -> list[str]:
        """What they are called."""
        told = {
            "column statistics": self.columns,
            "partition statistics": self.partitions,
            "Bloom filters": self.keys,
        }
        return [name for name, index in told.items() if index is not None]

    def bounds(self, slice_: FileSlice) -> Guarantee | None:
        """What column statistics say of a slice, if all of its files are the table's."""
        if self.columns is None or _has_external(slice_):
            return None
        paths = [log.path for log in slice_.logs]
        paths += [] if slice_.base is None else [slice_.base.path]
        return partial(known_bounds, self.columns, [path.rpartition("/")[2] for path in paths])

    def group_bounds(self, slice_: FileSlice) -> Guarantee | None:
        """What is said of a slice's partition, one for all of its slices."""
        if self.partitions is None or _has_external(slice_):
            return None
        name = slice_.partition
        if name not in self.by_partition:
            self.by_partition[name] = partial(partition_bounds, self.partitions, name)
        return self.by_partition[name]

    def file_test(self, slice_: FileSlice, keys: Sequence[str]) -> FileTest | None:
        """What Bloom filters say of a slice's base file."""
        base = slice_.base
        if self.keys is None or base is None or base.external is not None or base.names is not None:
            return None
        return partial(may_hold_keys, self.keys, base.path.rpartition("/")[2], keys)


def _has_external(slice_: FileSlice) -> bool:
    """Whether rows of a slice lie in a file outside the table."""
    return slice_.base is not None and slice_.base.external is not None


def _bases_alone(slices: list[FileSlice]) -> list[FileSlice]:
    return [
        FileSlice(slice_.partition, slice_.file_id, slice_.instant, slice_.base)
        for slice_ in slices
        if slice_.base is not None
    ]
