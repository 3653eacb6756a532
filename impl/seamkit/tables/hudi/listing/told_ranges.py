"""Ranges of columns as the metadata table tells them: of single files, or of whole partitions.

Both have records of one form (Hudi 1.2.0, HoodieMetadataColumnStats): of what, of which column, its
least and greatest value, how many values there are, nulls among them, and how many nulls.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seamkit.files.storage import Storage
from seamkit.tables.hudi.listing.metadata_table import (
    MetadataTable,
    has_partition,
    open_metadata_table,
)
from seamkit.tables.hudi.timeline.timeline import Timeline

__all__ = ["Range", "Ranges", "ToldRange", "ToldRanges", "bound_of"]

# More would take longer to read than most reads that they could spare.
_MOST_BYTES = 8 << 20
# Of a key: the base64 of eight bytes, a hash of the column's name.
_COLUMN_CHARS = 12


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


Ranges = Mapping[str, Mapping[str, Range]]
"""By name, of a file or a partition, and column."""

ToldRange = tuple[str, str, Range | None]
"""Name and column of a record, and its range; None where it is not known."""


@dataclass(frozen=True)
class ToldRanges:
    """Ranges that one partition of the metadata table tells, read when they are first asked for.

    Attributes:
        storage: the table's folder.
        timeline: its instants.
        schema: its columns.
    """

    #: The partition of the metadata table.
    index: ClassVar[str]

    storage: Storage
    timeline: Timeline
    schema: pa.Schema

    def __getstate__(self) -> dict[str, Any]:
        """Without what was read."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def are_there(cls, timeline: Timeline) -> bool:
        """Whether the table has such ranges, and they are understood."""
        known = timeline.config.version >= 8 and timeline.schema_history is None
        return known and has_partition(timeline, cls.index)

    def ranges(self, columns: Collection[str]) -> Ranges:
        """Those of some columns; nothing where the index is broken, stale or too large."""
        asked = frozenset(columns)
        if asked not in self._read_before:
            try:
                table = open_metadata_table(self.storage, self.timeline)
                self._read_before[asked] = _by_name(self._newest(table, asked))
            except (InputError, RefusedError, LookupError, TypeError, AttributeError):
                self._read_before[asked] = {}  # the last three: records of another form
        return self._read_before[asked]

    @cached_property
    def _read_before(self) -> dict[frozenset[str], Ranges]:
        return {}

    def _newest(self, table: MetadataTable, columns: Collection[str]) -> Iterable[ToldRange]:
        """What holds by all records of some columns, which may replace or widen one another."""
        raise NotImplementedError

    def _told(
        self, table: MetadataTable, columns: Collection[str]
    ) -> Iterator[tuple[str, Mapping[str, Any] | None]]:
        """What records tell of some columns, by key, older ones first; None: it was deleted.

        Nothing where there is too much to read. Keys begin with the columns.
        """
        column_of: dict[str, str] = {}

        def is_asked(key: str) -> bool:
            column = column_of.get(key[:_COLUMN_CHARS])
            return column is None or column in columns

        for slice_ in table.slices_within(self.index, _MOST_BYTES):
            for key, record in table.records(slice_, is_asked):
                told = None if record is None else record.get("ColumnStatsMetadata")
                if told is not None:
                    column_of[key[:_COLUMN_CHARS]] = told["columnName"]
                yield key, None if told is None or told["isDeleted"] else told


def _by_name(told: Iterable[ToldRange]) -> Ranges:
    """Ranges by name and column, without those of which two records tell."""
    found: dict[str, dict[str, Range]] = {}
    seen: set[tuple[str, str]] = set()
    for name, column, known in told:
        ranges = found.setdefault(name, {})
        if (name, column) in seen:
            ranges.pop(column, None)
        elif known is not None:
            ranges[column] = known
        seen.add((name, column))
    return found


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
