"""Indexes in the metadata table: ranges of columns and Bloom filters of record keys.

Each is a partition of the metadata table. Its records replace one another by key, the newest ones
count, and of two records that tell of the same thing neither does. A filter can do without an
index, so one that is broken, behind the table, of another form or too large to be worth its bytes
says nothing; see `MetadataIndex`.

`column_stats` tells of one column of one file, a log or a base file: its least and greatest value,
how many values there are, nulls among them, and how many nulls (Hudi 1.2.0,
HoodieMetadataColumnStats). They rule out slices whose files all have some: a row's values come
from one of them. From table version 8 on a log is written once, so that what was said of it holds.
A row group whose footer has no range, as it is with texts of more than 2 KiB, counts as nulls alone
there (ParquetUtils.readColumnStatsFromMetadata): ranges of texts with nulls are not believed.

`partition_stats`, ranges of whole partitions, is not asked: they are those of the files that column
statistics tell of, and a file that was written before a column was indexed is none of them.

`bloom_filters` has the filter that stands in a base file's footer, too (`key_filters.py`), so that
a file without any of the keys that a filter names need not be opened. Its key ends in the base64 of
the MD5 of the file's name; before that comes one of the partition's path (HoodieMetadataPayload,
HashID). File names hold a UUID and tell files apart by themselves.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError
from seambase.scan import ScanWarning
from seamkit.files.statistics import ColumnRange, FileStatistics, guarantee_of
from seamkit.files.storage import Storage
from seamkit.tables.hudi.indexes.key_filters import (
    MOST_KEYS,
    KeyFilter,
    named_record_keys,
    read_key_filter,
)
from seamkit.tables.hudi.listing.metadata_table import (
    METADATA_FOLDER,
    has_partition,
    open_metadata_table,
)
from seamkit.tables.hudi.timeline.timeline import Timeline

# Of a key: the base64 of eight bytes, a hash of the column's name; and of sixteen, the file's.
_COLUMN_CHARS, _FILE_CHARS = 12, 24

_Named = tuple[Hashable, Any]
"""What a record tells of, and what it says of it; None for nothing."""


@dataclass(frozen=True)
class MetadataIndex:
    """A partition of the metadata table that filters ask, read when it is first needed."""

    #: Its name, the field of its records, and the bytes that are worth to be read.
    partition: ClassVar[str]
    payload: ClassVar[str]
    most_bytes: ClassVar[int]

    storage: Storage
    timeline: Timeline
    # refuse one that is broken, of which a scan is warned otherwise
    strict: bool = field(default=False, kw_only=True)
    _doubts: list[ScanWarning] = field(default_factory=list, kw_only=True, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """Without what was read."""
        return {own.name: getattr(self, own.name) for own in fields(self)}

    @classmethod
    def is_there(cls, timeline: Timeline) -> bool:
        """Whether the table has the index, and it is understood."""
        return has_partition(timeline, cls.partition)

    def _read(
        self,
        read: Callable[[str, Mapping[str, Any]], _Named],
        wanted: Callable[[str], bool] = lambda _: True,
    ) -> Mapping[Any, Any]:
        """What the newest records say, by what they tell of."""
        # `read` makes it of a key and its record; `wanted` is asked of each key when its turn
        # comes. Nothing where the index is broken, too large or not known in its form.
        by_key: dict[str, _Named] = {}
        try:
            table = open_metadata_table(self.storage, self.timeline)
            for slice_ in table.slices_within(self.partition, self.most_bytes):
                for key, record in table.records(slice_, wanted):
                    own = None if record is None else record.get(self.payload)
                    if own is None or own["isDeleted"]:
                        by_key.pop(key, None)
                    else:
                        by_key[key] = read(key, own)
        except InputError as error:
            where = self.storage.full(f"{METADATA_FOLDER}/{self.partition}")
            doubt = ScanWarning(where, -1, f"no file is left out by it ({error})")
            if self.strict:
                raise InputError(str(doubt)) from error
            self._doubts.append(doubt)
            return {}
        except (RefusedError, LookupError, TypeError, AttributeError):
            return {}  # the last three: records of another form
        records: dict[Hashable, Any] = {}
        twice: set[Hashable] = set()
        for name, known in by_key.values():
            if name in records:
                twice.add(name)
            records[name] = known
        return {name: one for name, one in records.items() if name not in twice}


@dataclass(frozen=True)
class _Range:
    """What a record tells; `least` and `greatest` are None where there is no value but nulls."""

    least: Any
    greatest: Any
    rows: int
    nulls: int

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> _Range | None:
        """What a record tells; None where it contradicts itself, or does not tell."""
        rows, nulls = record["valueCount"], record["nullCount"]
        if rows is None or nulls is None or not 0 <= nulls <= rows:
            return None
        least, greatest = ((record[name] or {}).get("value") for name in ("minValue", "maxValue"))
        return cls(least, greatest, rows, nulls)


@dataclass(frozen=True)
class ColumnStats(MetadataIndex):
    """Column statistics of a table's files; `schema` has the table's columns."""

    partition: ClassVar[str] = "column_stats"
    payload: ClassVar[str] = "ColumnStatsMetadata"
    most_bytes: ClassVar[int] = 8 << 20

    schema: pa.Schema

    @classmethod
    def is_there(cls, timeline: Timeline) -> bool:
        """See `MetadataIndex.is_there`."""
        known = timeline.config.version >= 8 and timeline.schema_history is None
        return known and super().is_there(timeline)

    def ranges(self, columns: Collection[str]) -> Mapping[tuple[str, str], _Range | None]:
        """Those of some columns, by name of a file or partition, and column."""
        names = frozenset(columns)
        if names not in self._known:
            self._known[names] = self._ranges(names)
        return self._known[names]

    def within(self, files: Sequence[str], columns: Collection[str]) -> Mapping[str, ColumnRange]:
        """Ranges of all values that come from some files, named without folders."""
        ranges, found = self.ranges(columns), dict[str, ColumnRange]()
        for column in columns:
            known = [one for name in files if (one := ranges.get((name, column))) is not None]
            if len(known) == len(files) and (whole := self._of_column(column, known)):
                found[column] = whole
        return found

    def bounds(self, files: Sequence[str], columns: Collection[str]) -> pc.Expression | None:
        """What holds for all rows whose values come from some files, named without folders."""
        return guarantee_of(FileStatistics(None, self.within(files, columns)))

    @cached_property
    def _known(self) -> dict[frozenset[str], Mapping[tuple[str, str], _Range | None]]:
        return {}

    def _ranges(self, columns: Collection[str]) -> Mapping[tuple[str, str], _Range | None]:
        column_of: dict[str, str] = {}  # keys begin with a hash of it

        def is_wanted(key: str) -> bool:
            column = column_of.get(key[:_COLUMN_CHARS])
            return column is None or column in columns

        def read(key: str, record: Mapping[str, Any]) -> _Named:
            column_of[key[:_COLUMN_CHARS]] = record["columnName"]
            return (record["fileName"], record["columnName"]), _Range.of(record)

        return self._read(read, is_wanted)

    def _of_column(self, column: str, known: Sequence[_Range]) -> ColumnRange | None:
        kind = self.schema.field(column).type
        valued = [one for one in known if one.rows > one.nulls]
        # Of long texts a footer tells nothing, and Hudi counts them as nulls.
        if not valued or (pa.types.is_string(kind) and any(one.nulls for one in known)):
            return None
        try:
            least = _bound(min(one.least for one in valued), kind)
            greatest = _bound(max(one.greatest for one in valued), kind)
        except (TypeError, pa.ArrowException, OverflowError):
            return None  # a value is missing, or files have values of different types
        # How nulls of logs are counted, Hudi does not say.
        has_none = len(known) == 1 and not known[0].nulls
        return ColumnRange(0 if has_none else None, least, greatest)


@dataclass(frozen=True)
class BloomIndex(MetadataIndex):
    """Bloom filters of the record keys in a table's base files."""

    partition: ClassVar[str] = "bloom_filters"
    payload: ClassVar[str] = "BloomFilterMetadata"
    # More would take longer to read than the footers that it could spare.
    most_bytes: ClassVar[int] = 32 << 20

    def filter_of(self, file: str) -> KeyFilter | None:
        """The filter of a base file, by its name; None where none is known, or it is broken."""
        digest = hashlib.md5(file.encode(), usedforsecurity=False).digest()
        filters = self._filters
        try:
            kind, text = filters[base64.b64encode(digest).decode()]
            return read_key_filter(text, kind.encode(), file)
        except (KeyError, InputError):
            return None

    @cached_property
    def _filters(self) -> Mapping[str, tuple[str, bytes]]:
        """Kind and bytes by hash of a file's name."""

        def read(key: str, record: Mapping[str, Any]) -> _Named:
            return key[-_FILE_CHARS:], (record["type"], bytes(record["bloomFilter"]))

        return self._read(read)


def _bound(value: Any, kind: pa.DataType) -> pa.Scalar | None:
    """A bound in the column's type; None where it is not known to be one."""
    # Of texts only ASCII: Java and Arrow order others differently, but all texts alike beside
    # these.
    if pa.types.is_string(kind):
        return pa.scalar(value, kind) if type(value) is str and value.isascii() else None
    if type(value) is not int:
        return None
    if pa.types.is_date32(kind):
        return pa.scalar(value, pa.int32()).cast(kind)
    return pa.scalar(value, kind) if pa.types.is_integer(kind) else None


def known_ranges(
    statistics: ColumnStats, files: Sequence[str], columns: Collection[str]
) -> Mapping[str, ColumnRange]:
    """See `ColumnStats.within`; for `ReadUnit.ranges`."""
    return statistics.within(files, columns)


def known_bounds(
    statistics: ColumnStats, files: Sequence[str], columns: Collection[str]
) -> pc.Expression | None:
    """See `ColumnStats.bounds`; for `ReadUnit.guarantee`."""
    return statistics.bounds(files, columns)


def may_hold_keys(
    index: BloomIndex,
    file: str,
    keys: Collection[str],
    condition: pc.Expression,
    schema: pa.Schema,
    counted: Collection[str],
) -> bool:
    """Whether a base file may have keys that a condition names; for `ReadUnit.file_test`."""
    named = named_record_keys(condition, list(keys), schema, counted, MOST_KEYS)
    if named is None:
        return True
    found = index.filter_of(file)
    return found is None or any(found.may_hold(text) for forms in named for text in forms)
