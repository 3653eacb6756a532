"""Data files of a Hive table, opened under the table's names and types.

Columns of Parquet, ORC and Avro files are found by name, in any case of letters, at every depth:
Hive's names are in lower case. They are found by position where the table's properties say so, or
where an ORC file has names of positions alone (`_col0`, `_col1`, ...), as Hive's first versions
wrote them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import RefusedError
from seamkit.avro.data_file import AvroReader
from seamkit.core.border import numpy_of
from seamkit.files.columns import Finder, FoundReader, Place, Source, places, renamed
from seamkit.files.footers.calendars import (
    UNMARKED,
    check_days,
    check_unmarked,
    first_of_unmarked_avro,
    first_of_unmarked_int96,
)
from seamkit.files.orc import OrcReader
from seamkit.files.parquet import ParquetReader
from seamkit.files.promotion import (
    LosslessTypes,
    cut_times,
    has_within,
    inner_of,
    of_length,
    resolve_batch,
    with_inner,
)
from seamkit.files.reader import FileReader, RowsWanted
from seamkit.files.roaring import Positions
from seamkit.files.storage import Storage
from seamkit.tables.hive.json_reader import JsonReader
from seamkit.tables.hive.line_reader import LineReader
from seamkit.tables.hive.reader_schema import by_reader_schema
from seamkit.tables.hive.row_format import JSON_OF_HIVE, Description, RowFormat
from seamkit.tables.hive.sequence_reader import SequenceReader
from seamkit.tables.hive.types import HiveType
from seamkit.tables.hive.zones import WriterZone, zone_of, zone_of_int96

_PLACES = re.compile(r"_col\d+")
_BY_POSITION = {"parquet": "parquet.column.index.access", "orc": "orc.force.positional.evolution"}
_POSITION_DEPTH = "orc.force.positional.evolution.level"


def open_data_file(
    storage: Storage, path: str, description: Description, rows: RowFormat
) -> FileReader:
    """Open a data file; `rows` says how rows are written, where they are text."""
    kind, columns = description.format, description.in_rows or description.columns
    reader: FileReader
    if kind in ("text", "csv"):
        reader = LineReader(storage, path, columns, rows)
    elif kind in ("json", JSON_OF_HIVE):
        own = kind == JSON_OF_HIVE
        reader = JsonReader(storage, path, columns, rows, of_hive=own)
    elif kind == "sequence":
        reader = SequenceReader(storage, path, columns, rows)
    else:
        return open_column_file(storage, path, description)
    if description.in_rows is None:
        return reader
    return _PlacedReader(reader, dict(zip(description.columns, columns, strict=False)))


class HiveTypes(LosslessTypes):
    """Type rules: a file's types widen to the table's.

    An instant becomes what a clock in UTC shows; the smaller integers of Hive are ints in Avro, and
    must fit. Whole numbers become the nearest ones with a floating point, as Java casts them.
    """

    def promotes(self, have: pa.DataType, want: pa.DataType) -> bool:
        """Whether values of a file's type are read as the table's."""
        kinds = pa.types
        if kinds.is_timestamp(have) and kinds.is_timestamp(want):
            return True
        if kinds.is_int32(have) and kinds.is_integer(want):
            return True
        return bool(kinds.is_integer(have) and kinds.is_floating(want)) or super().promotes(
            have, want
        )

    def promote(self, column: pa.Array, want: pa.DataType) -> pa.Array:
        """The values in the table's type; digits below its unit are cut off."""
        if pa.types.is_timestamp(column.type) and pa.types.is_timestamp(want):
            return cut_times(column, want.unit)
        if pa.types.is_integer(column.type) and pa.types.is_floating(want):
            return pc.cast(column, want, safe=False)
        return super().promote(column, want)


class _AvroTypes(HiveTypes):
    """Type rules of Avro: Hive takes a number for one, whatever its schema says that it counts."""

    def relabels(self, have: pa.DataType, want: pa.DataType) -> bool:
        """Times and days are the numbers of a column of these."""
        is_time = pa.types.is_temporal(have) and pa.types.is_integer(want)
        return bool(is_time and have.bit_width == want.bit_width)


_TYPES = HiveTypes()


class _PlacedReader(FileReader):
    """Rows whose columns are the table's by their places, each with the name that `names` gives.

    Columns that the rows lack are null.
    """

    def __init__(self, reader: FileReader, names: Mapping[str, str]) -> None:
        self._reader, self._names = reader, names
        self.name, self.num_row_groups = reader.name, reader.num_row_groups
        self.schema = reader.schema

    def rows_in(self, row_groups: Sequence[int] | None) -> int:
        """See `FileReader.rows_in`."""
        return self._reader.rows_in(row_groups)

    def read(self, wanted: RowsWanted) -> Iterator[pa.RecordBatch]:
        """See `FileReader.read`."""
        there = [name for name in wanted.schema.names if name in self._names]
        own = pa.schema([self.schema.field(self._names[name]) for name in there])
        placed = pa.schema([(name, field.type) for name, field in zip(there, own, strict=True)])
        for batch in self._reader.read(replace(wanted, schema=own)):
            yield resolve_batch(renamed(batch, placed), wanted.schema, _TYPES, self.name)


#: Columns of a transactional table's files: what happened to a row, and the row.
_EVENT = ("operation", "originaltransaction", "bucket", "rowid", "currenttransaction", "row")
_READERS: Mapping[str, Callable[..., FileReader]] = {
    "parquet": partial(ParquetReader, int96_unit="us", first_of_int96=first_of_unmarked_int96),
    "orc": partial(OrcReader, by_calendar=True),
    "avro": partial(AvroReader, first_days=first_of_unmarked_avro),
}


def open_column_file(storage: Storage, path: str, description: Description) -> FileReader:
    """Open a data file of a table whose format is `parquet`, `orc` or `avro`."""
    rules = _AvroTypes() if description.format == "avro" else _TYPES
    reader = _READERS[description.format](storage, path, rules)
    holds_days = isinstance(reader, ParquetReader) and reader.of_footer(check_unmarked)
    own, by_name = list(reader.schema), places(reader.schema, lambda field: (field.name.lower(),))
    if description.format == "orc":
        _check_no_events(reader, description)
    if _is_by_position(description, own, reader.name):
        pairs = zip(description.columns, by_name, strict=False)
        by_name = [replace(place, keys=(name,)) for name, place in pairs]
    file = Place("", (), by_name)
    finder = Finder(None, file, reader.name)
    zone = partial(_zone_of, reader)
    find = partial(_find_column, finder, description.columns, holds_days, zone)
    if description.format != "avro":
        return FoundReader(reader, find)
    return FoundReader(reader, by_reader_schema(find, description, file, reader.name))


def _is_by_position(description: Description, own: Sequence[pa.Field], where: str) -> bool:
    """Whether columns are found by position: a property of the format says so, or ORC's names."""
    format_, stated = description.format, description.properties
    if stated.get(_BY_POSITION.get(format_, ""), "").lower() == "true":
        if format_ == "orc" and stated.get(_POSITION_DEPTH, "1") != "1":
            raise RefusedError(
                f"{where}: {_POSITION_DEPTH} is {stated[_POSITION_DEPTH]}; fields of structs by "
                "position are not supported"
            )
        return True
    return format_ == "orc" and bool(own) and all(_PLACES.fullmatch(one.name) for one in own)


def _zone_of(reader: FileReader, own: pa.Field) -> WriterZone | None:
    """The zone by whose clock a file has a column's times; None for UTC, or where it has none."""
    if not has_within(pa.types.is_timestamp, own.type):
        return None
    if isinstance(reader, ParquetReader) and reader.int96_columns([own.name]):
        return reader.of_footer(zone_of_int96)
    if isinstance(reader, AvroReader):
        return zone_of({name.encode(): value for name, value in reader.properties.items()})
    return None


def _check_no_events(reader: FileReader, description: Description) -> None:
    names = tuple(name.lower() for name in reader.schema.names)
    if names == _EVENT and not {*_EVENT} <= {*description.columns}:
        raise RefusedError(
            f"{reader.name}: events of a transactional table, which is not supported"
        )


def _find_column(
    finder: Finder,
    columns: Mapping[str, HiveType],
    holds_days: bool,
    zone_of_column: Callable[[pa.Field], WriterZone | None],
    wanted: pa.Field,
) -> Source:
    """Where a column comes from; texts of a length are as the table has them, not the file."""
    # `holds_days`: no range of the file tells that its days mean the same to all.
    source, kind = finder(wanted), columns.get(wanted.name)
    if source.read is None or kind is None:
        return source
    zone = zone_of_column(source.read)
    if not (holds_days or zone or _has_lengths(kind)):
        return source
    return replace(source, make=_Made(kind, wanted.name, finder.where, holds_days, zone))


@dataclass(frozen=True)
class _Made:
    """A column of the table out of the file's: a `Make`; see `_find_column`."""

    kind: HiveType
    name: str
    where: str
    holds_days: bool
    zone: WriterZone | None

    def __call__(self, column: pa.Array | None, positions: Positions) -> pa.Array:
        """See `Make`."""
        del positions
        assert column is not None
        if self.holds_days:
            check_days(column, UNMARKED, self.name, self.where, "parquet")
        if self.zone is not None:
            column = self.zone.walls(column, self.name, self.where)
        return _fitted(self.kind, column, f"{self.where}: column {self.name!r}")


def _keys(maps: pa.MapArray, keys: pa.Array) -> int:
    """How many keys there are, equal ones of one map counted once."""
    ends = numpy_of(maps.offsets)
    rows = pa.array(np.repeat(np.arange(len(maps)), np.diff(ends)))
    own = pa.table({"row": rows, "key": keys.slice(ends[0], len(rows))})
    return int(own.group_by(["row", "key"]).aggregate([]).num_rows)


def _has_lengths(kind: HiveType) -> bool:
    return kind.length > 0 or any(map(_has_lengths, kind.children))


def _fitted(kind: HiveType, column: pa.Array, where: str) -> pa.Array:
    """A column whose texts are cut to their length, those of `char` filled up."""
    if kind.length:
        return of_length(kind.length, kind.word == "char", column)
    if not _has_lengths(kind):
        return column
    children: Sequence[HiveType] = kind.children
    if kind.word == "struct":  # in the order that the column has
        own = dict(zip(kind.names, children, strict=True))
        children = [own[field.name] for field in column.type]
    pairs = zip(children, inner_of(column), strict=True)
    inner = [_fitted(child, part, where) for child, part in pairs]
    key = children[0]
    if kind.word == "map" and key.length and _keys(column, column.keys) > _keys(column, inner[0]):
        raise RefusedError(
            f"{where}: two keys of a map are one as {key.word}({key.length}): Hive keeps one of "
            "them, or both, by the format of the file"
        )
    return with_inner(column, column.type, inner)
