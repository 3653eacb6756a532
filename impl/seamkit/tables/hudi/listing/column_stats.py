"""Column statistics in the metadata table: its partition `column_stats`.

A record tells of one column of one file, a log or a base file. They rule out slices all of whose
files are told of: a row's values come from one of them. From table version 8 on a log is written
once, so that what was said of it holds.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from seamkit.files.statistics import bounds
from seamkit.tables.hudi.listing.metadata_table import MetadataTable
from seamkit.tables.hudi.listing.told_ranges import Range, ToldRange, ToldRanges, bound_of

__all__ = ["ColumnStats", "known_bounds"]


@dataclass(frozen=True)
class ColumnStats(ToldRanges):
    """Column statistics of a table's files."""

    index: ClassVar[str] = "column_stats"

    def bounds(self, files: Sequence[str], columns: Collection[str]) -> pc.Expression | None:
        """What holds for all rows whose values come from some files.

        Args:
            files: their names, without folders.
            columns: those of interest.

        Returns:
            None where nothing is known.
        """
        found = self.ranges(columns)
        of_files = [found.get(file, {}) for file in files]
        parts: list[pc.Expression] = []
        for column in columns:
            known = [ranges[column] for ranges in of_files if column in ranges]
            if len(known) == len(of_files):
                parts += self._of_column(column, known)
        return functools.reduce(operator.and_, parts) if parts else None

    def _of_column(self, column: str, known: Sequence[Range]) -> list[pc.Expression]:
        kind = self.schema.field(column).type
        told = [one for one in known if one.rows > one.nulls]
        if not told:
            return []
        try:
            least = bound_of(min(one.least for one in told), kind)
            greatest = bound_of(max(one.greatest for one in told), kind)
        except (TypeError, pa.ArrowException, OverflowError):
            return []  # a value is missing, or files have values of different types
        # How nulls of logs are counted, Hudi does not say.
        nullable = len(known) > 1 or any(one.nulls for one in known)
        return list(bounds(column, least, greatest, nullable=nullable))

    def _newest(self, table: MetadataTable, columns: Collection[str]) -> Iterable[ToldRange]:
        by_key: dict[str, Mapping[str, Any]] = {}
        for key, told in self._told(table, columns):
            if told is None:
                by_key.pop(key, None)
            else:
                by_key[key] = told
        return [(told["fileName"], told["columnName"], Range.of(told)) for told in by_key.values()]


def known_bounds(
    statistics: ColumnStats, files: Sequence[str], columns: Collection[str]
) -> pc.Expression | None:
    """See `ColumnStats.bounds`; for `ReadUnit.guarantee`."""
    return statistics.bounds(files, columns)
