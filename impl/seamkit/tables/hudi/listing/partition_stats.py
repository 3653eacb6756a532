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
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from seamkit.files.statistics import bounds
from seamkit.tables.hudi.listing.metadata_table import MetadataTable
from seamkit.tables.hudi.listing.told_ranges import Range, ToldRange, ToldRanges, bound_of
from seamkit.tables.hudi.timeline.timeline import Timeline

__all__ = ["PartitionStats", "partition_bounds"]


@dataclass(frozen=True)
class PartitionStats(ToldRanges):
    """Statistics of a table's partitions as they are now."""

    index: ClassVar[str] = "partition_stats"

    def bounds(self, partition: str, columns: Collection[str]) -> pc.Expression | None:
        """What holds for all rows of a partition.

        Args:
            partition: its path below the table.
            columns: those of interest.

        Returns:
            None where nothing is known.
        """
        parts: list[pc.Expression] = []
        for column, known in self.ranges(columns).get(partition, {}).items():
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

    def _newest(self, table: MetadataTable, columns: Collection[str]) -> Iterable[ToldRange]:
        if _is_of_another_state(table, self.timeline):
            return ()
        by_key: dict[str, ToldRange] = {}
        for key, told in self._told(table, columns):
            if told is None:
                by_key.pop(key, None)
                continue
            own = Range.of(told)
            if not told.get("isTightBound") and key in by_key:
                own = _widened(by_key[key][2], own)
            by_key[key] = told["fileName"], told["columnName"], own
        return by_key.values()


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
