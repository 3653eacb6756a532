"""A table's columns in a file that calls them otherwise.

A table knows each field by a key: a field id, a physical name, a name in lower case. What a file
says of its fields becomes a tree of places, each with the keys that it answers to, so one finder
serves all rules. For a table whose column `total` has the field id 3, a file with
`Place("sum", (3, "sum"))` has it as `sum`. Elements of lists, keys and values of maps have a fixed
place in their type and need no key.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError
from seamkit.core._seam import ffi
from seamkit.core.border import address, batch_of, repeated
from seamkit.files.reader import FileReader, OverReader, RowsWanted, positions_of
from seamkit.files.roaring import Positions
from seamkit.files.statistics import FileStatistics

ABSENT = "\0"
"""In front of a name: no file and no table has such a column."""
VARIANT = pa.struct([pa.field("metadata", pa.binary()), pa.field("value", pa.binary())])
"""A value of any shape by its two binary parts, as Parquet's variants are encoded."""

Key = int | str

_IDS = (b"PARQUET:field_id", b"iceberg.id", b"field-id")  # of Parquet, ORC, Avro


class TableField(Protocol):
    """A field of a table, as a finder needs it."""

    @property
    def name(self) -> str:
        """As the table calls it."""

    @property
    def keys(self) -> Sequence[Key]:
        """The one key by which files know it."""

    @property
    def children(self) -> Sequence[TableField]:
        """Fields of a struct; the element of a list; key and value of a map."""


@dataclass(frozen=True)
class Place:
    """A field of a file, or all of them as the fields of one without a name."""

    name: str  # as the file calls it
    keys: Sequence[Key] = ()  # those that it answers to
    # fields of a struct; the element of a list; key and value of a map
    children: Sequence[Place] = ()

    def child(self, own: TableField, where: str) -> Place | None:
        """What a field of the table is directly within this one; `where` names the file."""
        [key] = own.keys
        same = self._by_key.get(key, ())
        if isinstance(key, int) and self._doubled is not None:  # whichever of them is another's
            key, same = self._doubled, (self, self)
        if len(same) > 1:
            what = "the name" if isinstance(key, str) else "the field id"
            raise InputError(f"{where}: two columns have {what} {key!r}")
        return same[0] if same else None

    @cached_property
    def _doubled(self) -> int | None:
        """A field id that two fields have."""
        numbers = (key for key, same in self._by_key.items() if len(same) > 1)
        return next((key for key in numbers if isinstance(key, int)), None)

    @cached_property
    def _by_key(self) -> Mapping[Key, Sequence[Place]]:
        found: dict[Key, list[Place]] = {}
        for child in self.children:
            for key in child.keys:
                found.setdefault(key, []).append(child)
        return found


def places(fields: Iterable[pa.Field], keys: Callable[[pa.Field], Sequence[Key]]) -> list[Place]:
    """The places of Arrow's fields, at every depth; `keys` are those that a field answers to."""
    found = []
    for one in fields:  # of which most are not nested
        inner = places(inner_fields(one.type), keys) if one.type.num_fields else ()
        found.append(Place(one.name, keys(one), inner))
    return found


def field_id(field: pa.Field) -> int | None:
    """The field id that a file has for a field; None if there is none."""
    metadata = field.metadata or {}
    for key in _IDS:
        if key in metadata:
            return int(metadata[key]) if metadata[key].isdigit() else None
    return None


def id_and_name(field: pa.Field) -> Sequence[Key]:
    """The keys of a field whose file may have field ids."""
    id_ = field_id(field)
    return (field.name,) if id_ is None else (id_, field.name)


def inner_fields(kind: pa.DataType) -> list[pa.Field]:
    """The fields within a type."""
    if pa.types.is_struct(kind):
        return list(kind)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [kind.value_field]
    if pa.types.is_map(kind):
        return [kind.key_field, kind.item_field]
    return []


def field_in_file(wanted: pa.Field, own: TableField, place: Place | None, where: str) -> pa.Field:
    """A field of the table as a file calls it, and the fields within it.

    The wanted type may hold fewer fields than the table's own. What is not found has a name that no
    file has.
    """
    name = ABSENT + wanted.name if place is None else place.name
    return wanted.with_name(name).with_type(_type_in_file(wanted.type, own, place, where))


def _type_in_file(
    kind: pa.DataType, own: TableField, place: Place | None, where: str
) -> pa.DataType:
    def part(at: int, inner: pa.Field) -> pa.Field:
        if at >= len(own.children):
            raise InputError(f"{where}: the field {own.name!r} of type {kind} lacks part {at}")
        below = None if place is None or at >= len(place.children) else place.children[at]
        return inner.with_type(_type_in_file(inner.type, own.children[at], below, where))

    if pa.types.is_struct(kind):
        known = {one.name: one for one in own.children}
        if missing := [one.name for one in kind if one.name not in known]:
            raise InputError(
                f"{where}: the field {own.name!r} of type {kind} lacks its field {missing[0]!r}"
            )
        inner = [(one, known[one.name]) for one in kind]
        return pa.struct(
            [
                field_in_file(one, child, place and place.child(child, where), where)
                for one, child in inner
            ]
        )
    if pa.types.is_list(kind):
        return pa.list_(part(0, kind.value_field))
    if pa.types.is_map(kind):
        return pa.map_(part(0, kind.key_field).type, part(1, kind.item_field))
    return kind


Make = Callable[[pa.Array | None, Positions], pa.Array]
"""Gives a column's values in a batch, from what the file has of it under the table's names (None if
nothing) and the positions of the rows in the file."""


@dataclass(frozen=True)
class OrValue:
    """One value in all rows of which the file itself says nothing: a `Make`."""

    value: pa.Scalar

    def __call__(self, column: pa.Array | None, positions: Positions) -> pa.Array:
        """See `Make`."""
        values = repeated(self.value, len(positions))
        return values if column is None else pc.coalesce(column, values)


def or_number(first: int, column: pa.Array | None, positions: Positions) -> pa.Array:
    """Numbers of rows, counted from that of the file's first one, likewise; see `Make`."""
    counted = pa.array(positions + first, pa.int64())
    return counted if column is None else pc.coalesce(column, counted)


@dataclass(frozen=True)
class Source:
    """Where a column comes from."""

    wanted: pa.Field  # the column
    # the file's column that has it, as the file calls it at every depth, in the table's types; None
    # where there is none
    read: pa.Field | None
    shown: pa.DataType  # the type of that column under the table's names
    # makes the column's values; None where they are the file's, or null without it
    make: Make | None = None
    # whether the file's statistics are those of the values, if none are made
    has_ranges: bool = True

    @property
    def is_plain(self) -> bool:
        """Whether the file has the column as the table does."""
        return self.make is None and self.read is not None and self.read.equals(self.wanted)

    @property
    def stored(self) -> pa.Field | pa.Scalar | None:
        """The file's column in the table's type, or the value of all rows; None if neither is."""
        if self.read is None:
            if self.make is None:
                return pa.nulls(1, self.wanted.type)[0]
            return self.make.value if isinstance(self.make, OrValue) else None
        alike = self.make is None and self.read.type.equals(self.wanted.type)
        return self.read if alike else None


@dataclass(frozen=True)
class Finder:
    """Finds columns of a table in a file."""

    # of the table, by name; None where a table's names are the keys themselves
    fields: Mapping[str, TableField] | None
    file: Place
    where: str
    # whether there are columns that the table does not list, which the file has under their names;
    # without them an unknown name is refused
    has_others: bool = False

    def __call__(self, wanted: pa.Field) -> Source:
        """Where a column comes from."""
        own: TableField
        if self.fields is None:
            [own] = places([wanted], lambda field: (field.name,))
        elif wanted.name in self.fields:
            own = self.fields[wanted.name]
        elif self.has_others:
            return Source(wanted, wanted, wanted.type)
        else:
            raise InputError(f"{self.where}: the table's schema has no field {wanted.name!r}")
        place = self.file.child(own, self.where)
        read = place and field_in_file(wanted, own, place, self.where)
        return Source(wanted, read, wanted.type)

    def file_schema(self, schema: pa.Schema) -> pa.Schema:
        """Columns as the file calls them; one that it lacks has a name that no file has."""
        return pa.schema([self(one).read or one.with_name(f"{ABSENT}{one.name}") for one in schema])


def renamed(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The same columns under the names of a schema that differs in names alone, not copied."""
    if not batch.num_columns:
        return batch
    array = ffi.new("struct ArrowArray *")
    batch._export_to_c(address(array))
    return pa.RecordBatch._import_from_c(address(array), schema)


class FoundReader(OverReader):
    """A `FileReader` whose columns are found, and made where the file lacks them."""

    def __init__(self, reader: FileReader, find: Callable[[pa.Field], Source]) -> None:
        super().__init__(reader)
        self._find = find
        self._sources: dict[pa.Field, Source] = {}

    def read(self, wanted: RowsWanted) -> Iterator[pa.RecordBatch]:
        """See `FileReader.read`; texts come as dictionaries only where all columns are plain."""
        schema = wanted.schema
        sources = [self._source(one) for one in schema]
        if all(one.is_plain for one in sources):
            yield from self._reader.read(wanted)
            return
        inside = self._inside(sources)
        own = pa.schema([read for read, _ in inside.values()])
        shown = pa.schema([(str(at), kind) for at, (_, kind) in enumerate(inside.values())])
        is_made = any(one.make for one in sources)
        positions = positions_of(self, wanted.row_groups) if is_made else None
        for batch in self._reader.read(replace(wanted, schema=own, encoded=())):
            rows = batch.num_rows
            columns = dict(zip(inside, renamed(batch, shown).columns, strict=True))
            at = None
            if positions is not None:
                at, positions = positions[:rows], positions[rows:]
            yield batch_of([_values(one, columns, at, rows) for one in sources], schema, rows)

    def _inside(self, sources: Sequence[Source]) -> dict[str, tuple[pa.Field, pa.DataType]]:
        """The file's columns that are read, and their types under the table's names."""
        found: dict[str, tuple[pa.Field, pa.DataType]] = {}
        for one in sources:
            if one.read is None:
                continue
            both = found.setdefault(one.read.name, (one.read, one.shown))
            if not both[0].equals(one.read):
                raise RefusedError(
                    f"{self.name}: fields of {one.read.name!r} are asked for as several schemas "
                    "have them, which is not supported"
                )
        return found

    def _source(self, wanted: pa.Field) -> Source:
        if wanted not in self._sources:
            self._sources[wanted] = self._find(wanted)
        return self._sources[wanted]

    def stored(self, schema: pa.Schema) -> tuple[FileReader, Sequence[pa.Field | pa.Scalar]] | None:
        """See `FileReader.stored`; nothing where values are made row by row, or names within."""
        sources = [self._source(wanted).stored for wanted in schema]
        own = pa.schema([one for one in sources if isinstance(one, pa.Field)])
        below = None if any(one is None for one in sources) else self._reader.stored(own)
        if below is None:
            return None
        reader, columns = below
        left = iter(columns)
        return reader, [next(left) if isinstance(one, pa.Field) else one for one in sources]

    def row_groups_that_may_match(
        self, condition: pc.Expression, schema: pa.Schema, counted: Collection[str] | None = None
    ) -> list[int]:
        """By the statistics of columns that the file has as the table; others do not count."""
        names = [
            wanted.name
            for wanted in schema
            if (counted is None or wanted.name in counted)
            and self._source(wanted).is_plain
            and self._source(wanted).has_ranges
        ]
        if not names:
            return list(range(self.num_row_groups))
        if counted is None and len(names) == len(schema):
            return self._reader.row_groups_that_may_match(condition, schema)
        return self._reader.row_groups_that_may_match(condition, schema, names)

    def greatest(self, name: str, kind: pa.DataType) -> int | None:
        """What the file's statistics tell; see `FileReader.greatest`."""
        own = self._with_ranges(pa.field(name, kind))
        return None if own is None else self._reader.greatest(own.name, kind)

    def leasts(self, name: str, kind: pa.DataType) -> Sequence[pa.Scalar]:
        """What the file's statistics tell; see `FileReader.leasts`."""
        own = self._with_ranges(pa.field(name, kind))
        return () if own is None else self._reader.leasts(own.name, kind)

    def statistics(
        self, schema: pa.Schema, row_groups: Sequence[int] | None = None
    ) -> FileStatistics:
        """What the file's statistics tell of columns whose values are its own."""
        own = {one.name: field for one in schema if (field := self._with_ranges(one)) is not None}
        # Two columns may be the same one of the file.
        own_schema = pa.schema(list({field.name: field for field in own.values()}.values()))
        known = self._reader.statistics(own_schema, row_groups)
        held = known.columns
        return replace(
            known, columns={name: held[one.name] for name, one in own.items() if one.name in held}
        )

    def _with_ranges(self, wanted: pa.Field) -> pa.Field | None:
        """The file's column whose statistics are those of a column as it is handed out."""
        source = self._source(wanted)
        return source.read if source.make is None and source.has_ranges else None


def _values(
    source: Source, columns: Mapping[str, pa.Array], positions: Positions | None, rows: int
) -> pa.Array:
    column = None if source.read is None else columns[source.read.name]
    if source.make is not None and positions is not None:
        return source.make(column, positions)
    return pa.nulls(rows, source.wanted.type) if column is None else column
