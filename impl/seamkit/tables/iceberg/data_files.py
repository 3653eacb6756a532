"""Files of an Iceberg table, under its names, types and defaults, held to what manifests say.

Columns are known by field ids, at every depth. Files without a single id are matched by the table's
name mapping; a name never stands in for an id in files that have some. Types may have been narrower
when a file was written: Iceberg widens int to long, float to double, and decimals to more digits
before the point; version 3 adds dates that become timestamps.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError
from seambase.wording import counted
from seamkit.avro.data_file import AvroReader
from seamkit.core.border import repeated
from seamkit.files.columns import (
    FoundReader,
    Make,
    OrValue,
    Place,
    Source,
    field_id,
    field_in_file,
    id_and_name,
    inner_fields,
    or_number,
    places,
)
from seamkit.files.orc import OrcReader, least_without_blanks
from seamkit.files.parquet import ParquetReader
from seamkit.files.promotion import LosslessTypes, TimesAsNumbers, is_text_or_bytes, with_inner
from seamkit.files.reader import FileReader, check_size
from seamkit.files.roaring import Positions
from seamkit.files.statistics import ColumnRange, FileStatistics
from seamkit.files.variants.reader import with_whole_variants
from seamkit.tables.agreement import check_partition, check_stated
from seamkit.tables.iceberg.metadata.document import PartitionSpec, TableFiles
from seamkit.tables.iceberg.metadata.entries import Entry
from seamkit.tables.iceberg.metadata.schema import (
    LAST_UPDATED,
    ROW_ID,
    Field,
    bounds_in_file,
    default_value,
)
from seamkit.tables.iceberg.pruning import parts_of


class _IcebergTypes(LosslessTypes):
    """Type rules of an Iceberg table's files."""

    def promotes(self, have: pa.DataType, want: pa.DataType) -> bool:
        """Whether values of a file's type are read as the table's."""
        kinds = pa.types
        if _is_bytes(have) and _is_bytes(want):
            return True  # writers differ in whether they mark texts as such
        if kinds.is_timestamp(have) and kinds.is_timestamp(want) and have.unit == "ms":
            return True  # instants or none: Parquet's old word for them, and Avro's, does not tell
        if kinds.is_decimal(have) and kinds.is_decimal(want):
            return bool(have.scale == want.scale and have.precision <= want.precision)
        if kinds.is_integer(have):
            return bool(kinds.is_integer(want) and super().promotes(have, want))
        if kinds.is_time32(have):  # milliseconds, as the specification has none, and readers take
            return bool(kinds.is_time(want))
        return super().promotes(have, want)

    def promote(self, column: pa.Array, want: pa.DataType) -> pa.Array:
        """The values in the wider type."""
        if isinstance(column, pa.ExtensionArray):
            column = column.storage
        if pa.types.is_timestamp(want) and pa.types.is_timestamp(column.type):
            return pc.cast(column, want)
        return super().promote(column, want)

    def relabels(self, have: pa.DataType, want: pa.DataType) -> bool:
        """INT96 comes as microseconds without a zone, and is an instant.

        ClickHouse, whose tables have none, says of times that they are instants.
        """
        return {have, want} == {pa.timestamp("us"), pa.timestamp("us", "UTC")}


def _is_bytes(kind: pa.DataType) -> bool:
    is_fixed = isinstance(kind, pa.UuidType) or pa.types.is_fixed_size_binary(kind)
    return is_fixed or is_text_or_bytes(kind)


class _AvroTypes(_IcebergTypes):
    """Type rules of files in Avro, whose reader takes every point in time for one of UTC."""

    def relabels(self, have: pa.DataType, want: pa.DataType) -> bool:
        """Points in time are the same numbers, with a zone or without; nanoseconds are plain."""
        if not pa.types.is_timestamp(want):
            return False
        return bool(have == pa.int64() if want.unit == "ns" else have == pa.timestamp("us", "UTC"))


class _OrcTypes(TimesAsNumbers, _IcebergTypes):
    """Type rules of files in ORC: times of day are their microseconds.

    It has two types of times: one is of instants, the other is none.
    """

    def promotes(self, have: pa.DataType, want: pa.DataType) -> bool:
        """Whether values of a file's type are read as the table's."""
        both = pa.types.is_timestamp(have) and pa.types.is_timestamp(want)
        return super().promotes(have, want) and not (both and have.tz != want.tz)


ICEBERG_TYPES = _IcebergTypes()
ORC_TYPES = _OrcTypes()
AVRO_TYPES = _AvroTypes()


NameMapping = Sequence[Mapping[str, Any]]
"""`schema.name-mapping.default`, parsed: names of fields by their ids."""


def name_mapping(text: str, where: str) -> NameMapping:
    """Parse a name mapping."""
    try:
        parsed = json.loads(text)
        _check_mapping(parsed)
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(f"{where}: the name mapping is not readable: {error}") from error
    found: NameMapping = parsed
    return found


def _check_mapping(parsed: Any) -> None:
    if not isinstance(parsed, list):
        raise TypeError("fields that are no list")
    for one in parsed:
        if not isinstance(one, dict) or not isinstance(one.get("names"), list):
            raise TypeError("a field without a list of names")
        if not all(isinstance(name, str) for name in one["names"]):
            raise TypeError("a name that is no text")
        if one.get("field-id") is not None and not isinstance(one["field-id"], int):
            raise TypeError("an id that is no number")
        _check_mapping(one.get("fields") or [])


def file_columns(
    schema: pa.Schema, has_ids: bool, mapping: NameMapping | None, where: str
) -> Place:
    """The columns of a file, as children of a place that stands for its rows."""
    if not schema.names or has_ids:
        return Place("", (), places(schema, id_and_name))
    if mapping is None:
        raise RefusedError(
            f"{where}: its columns have no field ids and the table no name mapping, so what "
            "they are is not known"
        )
    known = [_mapped(field, mapping) for field in schema]
    return Place("", (), [one for one in known if len(one.keys) > 1])  # others are not the table's


def avro_columns(schema: bytes, where: str) -> Place | None:
    """The columns of an Avro file, as a place's children; None where no field has an id."""
    try:
        columns = _of_avro(None, "", json.loads(schema), where)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{where}: its schema is not readable ({error!r})") from error
    return columns if any(len(one.keys) > 1 for one in columns.children) else None


def _of_avro(id_: Any, name: str, kind: Any, where: str) -> Place:
    if isinstance(kind, list):  # of null and another type
        kind = next((one for one in kind if one != "null"), "null")
    children: list[Place] = []
    if isinstance(kind, dict) and isinstance(kind["type"], dict | list):
        return _of_avro(id_, name, kind["type"], where)
    if isinstance(kind, dict) and kind["type"] == "record":
        children = [
            _of_avro(one.get("field-id"), one["name"], one["type"], where) for one in kind["fields"]
        ]
    elif isinstance(kind, dict) and kind["type"] == "array":
        item = _of_avro(None, "element", kind["items"], where)
        # Avro has maps of texts alone, so others are lists of their pairs.
        children = [*item.children] if kind.get("logicalType") == "map" else [item]
    elif isinstance(kind, dict) and kind["type"] == "map":
        children = [Place("key"), _of_avro(None, "value", kind["values"], where)]
    return Place(name, (id_, name) if isinstance(id_, int) else (name,), children)


def _has_ids(fields: Sequence[pa.Field]) -> bool:
    return any(field_id(one) is not None or _has_ids(inner_fields(one.type)) for one in fields)


def _mapped(field: pa.Field, mapping: NameMapping, name: str | None = None) -> Place:
    """A field whose id the mapping gives; `name` is what it calls parts of lists and maps."""
    name = field.name if name is None else name
    entry = next((one for one in mapping if name in one["names"]), None) or {}
    below: NameMapping = entry.get("fields") or ()
    inner = inner_fields(field.type)
    names: Sequence[str | None] = [None] * len(inner)
    if inner and not pa.types.is_struct(field.type):
        names = ["element"] if len(inner) == 1 else ["key", "value"]
    children = [_mapped(one, below, own) for one, own in zip(inner, names, strict=True)]
    id_ = entry.get("field-id")
    return Place(field.name, (field.name,) if id_ is None else (id_, field.name), children)


Column = Sequence[Field]
"""A field, behind the structs that it lies in."""


@dataclass(frozen=True)
class FileRows:
    """What is known of a file's rows besides what stands in it."""

    # of columns that have one value in all rows, by field id
    values: Mapping[int, pa.Scalar] = field(default_factory=dict)
    first_row_id: int | None = None  # of its first row; None where rows have no lineage
    sequence_number: int = 0  # of its data
    # how it is partitioned; None where its partition says nothing of it
    spec: PartitionSpec | None = None


@dataclass(frozen=True)
class IcebergFinder:
    """Finds columns by their ids, and says what stands for those that a file lacks."""

    file: Place
    columns: Mapping[str, Column]  # all that a scan may read, by name
    rows: FileRows  # what else is known
    where: str

    def __call__(self, wanted: pa.Field) -> Source:
        """Where a column comes from."""
        column = self.columns.get(wanted.name)
        if not column:  # as a plan from elsewhere may have it
            raise InputError(f"{self.where}: the plan does not tell of the column {wanted.name!r}")
        root = column[0]
        if root.id in (ROW_ID.id, LAST_UPDATED.id) and self.rows.first_row_id is None:
            return Source(wanted, None, root.type)  # whatever the file has, by the specification
        place = None if root.id in self.rows.values else self.file.child(root, self.where)
        if place is None:
            self._check_lacking(root)
            known = self._of_all_rows(column, wanted)
            make = self._lineage(root) or (None if known is None else OrValue(known))
            return Source(wanted, None, root.type, make)
        whole = pa.field(root.name, root.type)
        read = field_in_file(whole, root, place, self.where)
        make = self._lineage(root)
        if make is None and (len(column) > 1 or _lacks(root, place, self.where)):
            make = partial(self._within, column, place)
        return Source(wanted, read, root.type, make, has_ranges=not root.stated)

    def _check_lacking(self, root: Field) -> None:
        """Refuse a file that lacks a column that it must have, or that only lost its id."""
        # Writers give every field an id, or none: where the others have one, a column of the same
        # name without one is damage, and null would stand for its values.
        if root.id in self.rows.values:
            return
        if any(one.keys == (root.name,) for one in self.file.children):
            raise InputError(f"{self.where}: its column {root.name!r} has no field id, others have")
        self._require(root)

    def _require(self, lacking: Field) -> None:
        """Refuse a file that lacks what every row has."""
        if lacking.required and lacking.default is None and lacking.id not in self.rows.values:
            raise InputError(
                f"{self.where}: it lacks the column {lacking.name!r}, which is required"
            )

    def _lineage(self, root: Field) -> Make | None:
        """What the entry says of rows where the file does not; None for other columns."""
        # By id: a plan from another process has a Field of its own.
        if root.id == LAST_UPDATED.id:
            return OrValue(pa.scalar(self.rows.sequence_number, pa.int64()))
        if root.id == ROW_ID.id and self.rows.first_row_id is not None:
            return partial(or_number, self.rows.first_row_id)
        return None

    def _of_all_rows(self, column: Column, wanted: pa.Field) -> pa.Scalar | None:
        """The one value of a column that the file lacks; None for null."""
        root = column[0]
        if len(column) == 1:
            if root.id in self.rows.values:
                return self.rows.values[root.id]
            return self._default(root, wanted.type)
        value = self._default(root, root.type)
        for inner in column[1:]:
            value = None if value is None else value[inner.name]
        return value

    def _default(self, own: Field, kind: pa.DataType) -> pa.Scalar | None:
        """What rows have that are older than a field; of a struct the fields that are asked for."""
        # The default of a struct is null or an empty one, whose fields have their own defaults.
        if own.default is None:
            return None
        if own.default != {} or not pa.types.is_struct(kind) or own.is_variant:
            return default_value(own.default, kind, f"{self.where}, field {own.name!r}")
        known = {inner.name: inner for inner in own.children}
        parts = {one.name: self._default(known[one.name], one.type) for one in kind}
        return _struct({name: one for name, one in parts.items() if one is not None}, kind)

    def _within(
        self, column: Column, place: Place, values: pa.Array | None, positions: Positions
    ) -> pa.Array:
        """Values of a field out of those of the column that it lies in."""
        del positions
        assert values is not None
        values = self._filled(values, column[0], place)
        for inner in column[1:]:
            values = pc.struct_field(values, values.type.get_field_index(inner.name))
        return values

    def _filled(self, column: pa.Array, own: Field, place: Place) -> pa.Array:
        """A column with the defaults of fields that the file lacks within it, at every depth."""
        if not _lacks(own, place, self.where):
            return column
        if pa.types.is_map(own.type):
            parts = zip((column.keys, column.items), own.children, place.children, strict=True)
            return with_inner(column, column.type, [self._filled(*part) for part in parts])
        if pa.types.is_list(own.type):
            items = self._filled(column.values, own.children[0], place.children[0])
            return with_inner(column, column.type, [items])
        children = []
        for at, inner in enumerate(own.children):
            child = column.field(at)
            below = place.child(inner, self.where)
            if below is None:
                self._require(inner)
                known = self._default(inner, inner.type)
                child = child if known is None else repeated(known, len(column))
            else:
                child = self._filled(child, inner, below)
            children.append(child)
        return with_inner(column, own.type, children)


def _struct(values: Mapping[str, pa.Scalar], kind: pa.StructType) -> pa.Scalar:
    """A struct of some values; its other fields are null."""
    if not kind.num_fields:
        return pa.scalar({}, kind)
    parts = [
        repeated(values[one.name], 1) if one.name in values else pa.nulls(1, one.type)
        for one in kind
    ]
    return pa.StructArray.from_arrays(parts, fields=list(kind))[0]


def _lacks(own: Field, place: Place, where: str) -> bool:
    """Whether a file lacks a field within one that it has, and null is not what stands for it."""
    if pa.types.is_struct(own.type):
        below = [(inner, place.child(inner, where)) for inner in own.children]
    else:
        below = list(zip(own.children, place.children, strict=False))
    return any(
        inner.default is not None or inner.required
        if other is None
        else _lacks(inner, other, where)
        for inner, other in below
    )


def _check_stated(
    reader: FileReader, entry: Entry, columns: Mapping[str, Column], rows: FileRows
) -> None:
    """Hold a file to what its manifest says of columns that are its own."""
    named = [replace(column[0], name=name) for name, column in columns.items()]
    stated = [one for one in named if not one.children and one.id not in rows.values]
    known = file_statistics(entry, stated)
    check_stated(reader, known, "its manifest", by_java=True)


def _check_columns(fields: Sequence[Field], own: Place, entry: Entry, where: str) -> None:
    """Make sure that a file has the fields that have values, at every depth."""
    for one in fields:
        place = own.child(one, where)
        if place is None and (values := _values(one, entry)):
            raise InputError(
                f"{where}: it lacks the column {one.name!r} of the field id {one.id}, of which its "
                f"manifest says that it has {counted(values, 'value')}"
            )
        if place is not None and not one.is_variant:
            _check_columns(one.children, place, entry, where)


def _values(field: Field, entry: Entry) -> int:
    """How many values a field has, or the fields within, as far as the manifest counts them."""
    if pa.types.is_null(field.type):
        return 0  # what a file may have of it is no value
    values, nulls = entry.stated.value_counts, entry.stated.null_counts
    own = values.get(field.id, 0) - nulls.get(field.id, 0)
    is_counted = field.id in values and field.id in nulls
    return max([own if is_counted else 0, *(_values(inner, entry) for inner in field.children)])


@dataclass(frozen=True)
class FileOpener:
    """Opens files of one table."""

    files: TableFiles
    mapping: NameMapping | None  # names of columns in files without ids; None if the table has none
    has_decimals: bool = True  # whether what manifests say of decimals counts

    def counts(self, field: Field) -> bool:
        """Whether what manifests say of the values of a column counts."""
        return self.has_decimals or not pa.types.is_decimal(field.type)

    def open(self, entry: Entry, columns: Mapping[str, Column], rows: FileRows) -> FoundReader:
        """Open a file; `columns` are those that a scan may read, by name."""
        reader = self.checked(entry)
        own = None
        if isinstance(reader, AvroReader):
            own = avro_columns(reader.writer_schema, reader.name)
        has_ids = own is not None or _has_ids(list(reader.schema))
        if own is None:
            own = file_columns(reader.schema, has_ids, self.mapping, reader.name)
        roots = [root for column in columns.values() for root in column[:1]]
        nested = [root for root in roots if root.children]
        whole = with_whole_variants(reader, nested, own) if nested else reader
        found = FoundReader(whole, IcebergFinder(own, columns, rows, reader.name))

        def check() -> None:
            counted = {k: v for k, v in columns.items() if v and self.counts(v[0])}
            _check_stated(found, entry, counted, rows)
            if any(field_id(one) is not None for one in reader.schema):
                # What the partition gives needs no column.
                needed = [root for root in roots if root.id not in rows.values]
                _check_columns(needed, own, entry, reader.name)
            if has_ids and rows.spec is not None:  # others were imported with their folders' values
                itself = FoundReader(whole, IcebergFinder(own, columns, FileRows(), reader.name))
                held = [one for one in roots if own.child(one, reader.name) is not None]
                parts = parts_of(entry, rows.spec, held)
                check_partition(itself, parts)

        stated = entry.stated
        maps = (stated.lower, stated.upper, stated.null_counts, stated.value_counts)
        key = (*(tuple(one.items()) for one in maps), rows.spec and entry.partition.key)
        reader.once(("as stated", *key, *columns), check)
        return found

    def checked(self, entry: Entry) -> OrcReader | AvroReader | ParquetReader:
        """A file that is as long, and has as many rows, as its manifest says."""
        reader = self._reader(entry)
        check_size(reader, entry.size_bytes, entry.records, "its manifest")
        return reader

    def _reader(self, entry: Entry) -> OrcReader | AvroReader | ParquetReader:
        storage, plain = self.files.locate(entry.path)
        if entry.format == "ORC":
            return OrcReader(storage, plain, ORC_TYPES)
        if entry.format == "AVRO":
            return AvroReader(storage, plain, AVRO_TYPES)
        return ParquetReader(storage, plain, ICEBERG_TYPES, int96_unit="us")


def file_statistics(entry: Entry, fields: Sequence[Field]) -> FileStatistics:
    """What the manifest says of a file and of some columns that are not nested."""
    return FileStatistics(entry.records, {field.name: range_of(entry, field) for field in fields})


def range_of(entry: Entry, field: Field) -> ColumnRange:
    """What the manifest says of a column of a file.

    Bounds are never said to be values: the format does not promise that they are.
    """
    stated = entry.stated
    nulls = stated.null_counts.get(field.id)
    if stated.value_counts.get(field.id) != entry.records or pa.types.is_null(field.type):
        nulls = None
    if field.stated:
        return ColumnRange(nulls, None, None)
    least, greatest = bounds_in_file(
        stated.lower.get(field.id), stated.upper.get(field.id), field.type
    )
    if least is not None and entry.format == "ORC" and pa.types.is_string(least.type):
        least = least_without_blanks(least)  # of a file of Hive's it may be
    return ColumnRange(nulls, least, greatest)
