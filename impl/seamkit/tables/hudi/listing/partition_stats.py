"""Statistics of whole partitions in the metadata table: its partition `partition_stats`.

A record tells of one column of one partition what `column_stats` tells of one of a file: the range
of all values in the files of the newest slices (Hudi 1.2.0, mergeColumnStatsRecords). One that says
`isTightBound` replaces what was told before, others widen it. Nothing is told of partitions as they
were, so that other states of the table do not ask; and a record is only as good as the writer's
knowledge of all files: of a file whose footer has no range for a column it takes no notice. Footers
leave out ranges of long texts, so that only numbers and dates count, which always have them.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError
from seamkit.files.statistics import bounds
from seamkit.files.storage import Storage
from seamkit.tables.hudi.listing.column_stats import Range, bound_of, told_ranges
from seamkit.tables.hudi.listing.metadata_table import (
    MetadataTable,
    has_partition,
    open_metadata_table,
)
from seamkit.tables.hudi.timeline.timeline import Timeline

__all__ = ["PartitionStats", "has_partition_statistics", "partition_bounds"]

_PARTITION = "partition_stats"


def has_partition_statistics(timeline: Timeline) -> bool:
    """Whether the table has statistics of its partitions that are understood."""
    known = timeline.config.version >= 8 and timeline.schema_history is None
    return known and has_partition(timeline, _PARTITION)


@dataclass(frozen=True)
class PartitionStats:
    """Statistics of a table's partitions as they are now, read when they are first asked for.

    Attributes:
        storage: the table's folder.
        timeline: its instants.
        schema: its columns.
    """

    storage: Storage
    timeline: Timeline
    schema: pa.Schema

    def __getstate__(self) -> dict[str, Any]:
        """Without what was read."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def bounds(self, partition: str, columns: Collection[str]) -> pc.Expression | None:
        """What holds for all rows of a partition.

        Args:
            partition: its path below the table.
            columns: those of interest.

        Returns:
            None where nothing is known.
        """
        parts: list[pc.Expression] = []
        for column, known in self._ranges(frozenset(columns)).get(partition, {}).items():
            kind = self.schema.field(column).type
            if not (pa.types.is_integer(kind) or pa.types.is_date32(kind)):
                continue
            try:
                least, greatest = bound_of(known.least, kind), bound_of(known.greatest, kind)
            except (pa.ArrowException, OverflowError):
                continue
            # How nulls are counted where ranges are widened, Hudi does not say.
            if least is not None and greatest is not None and known.least <= known.greatest:
                parts += bounds(column, least, greatest, nullable=True)
        return functools.reduce(operator.and_, parts) if parts else None

    def _ranges(self, columns: frozenset[str]) -> Mapping[str, Mapping[str, Range]]:
        """By partition and column; nothing where the index is broken, or of another state."""
        if columns not in self._read_before:
            try:
                self._read_before[columns] = self._read(columns)
            except (InputError, RefusedError, LookupError, TypeError, AttributeError):
                self._read_before[columns] = {}  # the last three: records of another form
        return self._read_before[columns]

    @cached_property
    def _read_before(self) -> dict[frozenset[str], Mapping[str, Mapping[str, Range]]]:
        return {}

    def _read(self, columns: frozenset[str]) -> Mapping[str, Mapping[str, Range]]:
        table = open_metadata_table(self.storage, self.timeline)
        if _is_of_another_state(table, self.timeline):
            return {}
        by_key: dict[str, tuple[str, str, Range | None]] = {}
        for key, told in told_ranges(table, _PARTITION, columns):
            if told is None:
                by_key.pop(key, None)
                continue
            own = Range.of(told)
            if not told.get("isTightBound") and key in by_key:
                own = _widened(by_key[key][2], own)
            by_key[key] = told["fileName"], told["columnName"], own
        return _by_partition(by_key)


def partition_bounds(
    statistics: PartitionStats, partition: str, columns: Collection[str]
) -> pc.Expression | None:
    """See `PartitionStats.bounds`; for `ReadUnit.group_guarantee`."""
    return statistics.bounds(partition, columns)


def _is_of_another_state(table: MetadataTable, timeline: Timeline) -> bool:
    """Whether writes count in the metadata table that the data table's instants do not have.

    They completed after these were listed: ranges may have become narrower, and what is read is the
    table as it was before.
    """
    newest = timeline.last_completed() or ""
    known = {instant.requested for instant in timeline.instants}
    written = [i.requested for i in table.timeline.writes() if i.action == "deltacommit"]
    newer = any(requested > newest and requested not in known for requested in written)
    return newer or not table.pending.isdisjoint(written)


def _widened(before: Range | None, own: Range | None) -> Range | None:
    """The range of two together; None where one of them is not known."""
    if before is None or own is None:
        return None
    told = [one for one in (before, own) if one.rows > one.nulls]
    if not told:
        return replace(own, rows=before.rows + own.rows, nulls=before.nulls + own.nulls)
    return Range(
        min(one.least for one in told),
        max(one.greatest for one in told),
        before.rows + own.rows,
        before.nulls + own.nulls,
    )


def _by_partition(
    by_key: Mapping[str, tuple[str, str, Range | None]],
) -> Mapping[str, Mapping[str, Range]]:
    """Ranges by partition and column, without those of which two records tell."""
    found: dict[str, dict[str, Range]] = {}
    seen: set[tuple[str, str]] = set()
    for partition, column, known in by_key.values():
        ranges = found.setdefault(partition, {})
        if (partition, column) in seen:
            ranges.pop(column, None)
        elif known is not None:
            ranges[column] = known
        seen.add((partition, column))
    return found
