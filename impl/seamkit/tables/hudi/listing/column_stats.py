"""Column statistics in the metadata table: its partition `column_stats`.

A record tells of one column of one file, a log or a base file, its least and greatest value, how
many values there are, nulls among them, and how many nulls (Hudi 1.2.0, HoodieMetadataColumnStats).
They rule out slices all of whose files are told of: a row's values come from one of them. From
table version 8 on a log is written once, so that what was said of it holds.
"""

from __future__ import annotations

import functools
import operator
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError
from seamkit.files.statistics import bounds
from seamkit.files.storage import Storage
from seamkit.tables.hudi.listing.metadata_table import (
    MetadataTable,
    has_partition,
    open_metadata_table,
)
from seamkit.tables.hudi.timeline.timeline import Timeline

__all__ = ["ColumnStats", "Range", "bound_of", "has_statistics", "known_bounds", "told_ranges"]

_PARTITION = "column_stats"
# More would take longer to read than most reads that they could spare.
_MOST_BYTES = 8 << 20
# Of a key: the base64 of eight bytes, a hash of the column's name.
_COLUMN_CHARS = 12

_Ranges = Mapping[str, Mapping[str, "Range"]]
"""By name of the file and column."""


@dataclass(frozen=True)
class Range:
    """What a record tells; `least` and `greatest` are None where there is no value but nulls."""

    least: Any
    greatest: Any
    rows: int
    nulls: int

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Range | None:
        """What a record tells; None where it contradicts itself, or does not tell."""
        rows, nulls = told["valueCount"], told["nullCount"]
        if rows is None or nulls is None or not 0 <= nulls <= rows:
            return None
        least, greatest = ((told[name] or {}).get("value") for name in ("minValue", "maxValue"))
        return cls(least, greatest, rows, nulls)


def has_statistics(timeline: Timeline) -> bool:
    """Whether the table has column statistics that are understood."""
    config = timeline.config
    known = config.version >= 8 and timeline.schema_history is None
    return known and has_partition(timeline, _PARTITION)


@dataclass(frozen=True)
class ColumnStats:
    """Column statistics of a table's files, read when they are first asked for.

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

    def bounds(self, files: Sequence[str], columns: Collection[str]) -> pc.Expression | None:
        """What holds for all rows whose values come from some files.

        Args:
            files: their names, without folders.
            columns: those of interest.

        Returns:
            None where nothing is known.
        """
        found = self._ranges(frozenset(columns))
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

    def _ranges(self, columns: frozenset[str]) -> _Ranges:
        """Those of some columns; nothing where the index is broken, stale or too large."""
        if columns not in self._read_before:
            try:
                self._read_before[columns] = self._read(columns)
            except (InputError, RefusedError, LookupError, TypeError, AttributeError):
                self._read_before[columns] = {}  # the last three: records of another form
        return self._read_before[columns]

    @cached_property
    def _read_before(self) -> dict[frozenset[str], _Ranges]:
        return {}

    def _read(self, columns: frozenset[str]) -> _Ranges:
        table = open_metadata_table(self.storage, self.timeline)
        by_key: dict[str, Mapping[str, Any]] = {}
        for key, told in told_ranges(table, _PARTITION, columns):
            if told is None:
                by_key.pop(key, None)
            else:
                by_key[key] = told
        return _by_file(by_key.values())


def told_ranges(
    table: MetadataTable, partition: str, columns: Collection[str]
) -> Iterator[tuple[str, Mapping[str, Any] | None]]:
    """What a partition of the metadata table tells of some columns, by key, older records first.

    Args:
        table: the metadata table.
        partition: its name; the keys of its records begin with the columns.
        columns: those of interest.

    Yields:
        Key and record; None where the record is deleted. Nothing where there is too much to read.

    Raises:
        InputError, RefusedError: see `MetadataTable.records`.
        LookupError, TypeError: a record of another form.
    """
    column_of: dict[str, str] = {}

    def is_asked(key: str) -> bool:
        column = column_of.get(key[:_COLUMN_CHARS])
        return column is None or column in columns

    for slice_ in table.slices_within(partition, _MOST_BYTES):
        for key, record in table.records(slice_, is_asked):
            told = None if record is None else record.get("ColumnStatsMetadata")
            if told is not None:
                column_of[key[:_COLUMN_CHARS]] = told["columnName"]
            yield key, None if told is None or told["isDeleted"] else told


def _by_file(records: Iterable[Mapping[str, Any]]) -> _Ranges:
    """Ranges by file and column, without those of which two records tell."""
    found: dict[str, dict[str, Range]] = defaultdict(dict)
    seen: Counter[tuple[str, str]] = Counter()
    for told in records:
        file, column = told["fileName"], told["columnName"]
        seen[file, column] += 1
        one = Range.of(told)
        if one is not None:
            found[file][column] = one
    for (file, column), records_of_it in seen.items():
        if records_of_it > 1:
            found[file].pop(column, None)
    return found


def known_bounds(
    statistics: ColumnStats, files: Sequence[str], columns: Collection[str]
) -> pc.Expression | None:
    """See `ColumnStats.bounds`; for `ReadUnit.guarantee`."""
    return statistics.bounds(files, columns)


def bound_of(value: Any, kind: pa.DataType) -> pa.Scalar | None:
    """A bound in the column's type; None where it is not known to be one.

    Of texts only ASCII: Java and Arrow order others differently, but all texts alike beside these.
    """
    if pa.types.is_string(kind):
        return pa.scalar(value, kind) if type(value) is str and value.isascii() else None
    if type(value) is not int:
        return None
    if pa.types.is_date32(kind):
        return pa.scalar(value, pa.int32()).cast(kind)
    return pa.scalar(value, kind) if pa.types.is_integer(kind) else None
