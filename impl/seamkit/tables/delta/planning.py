"""Data files as read units: ids of rows, versions, and what else each holds besides its rows.

Data files of a Delta table, opened under the table's names and types.

Columns are found by name (the physical one where columns are mapped) or by the field ids that the
Parquet file carries, at every depth; a name never stands in for an id. Elements of arrays, keys and
values of maps are Parquet's own levels and have neither.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import repeat
from operator import itemgetter
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seambase.values import value_class
from seamkit.files.columns import (
    Finder,
    FoundReader,
    Make,
    OrValue,
    Place,
    Source,
    field_id,
    id_and_name,
    or_number,
    places,
)
from seamkit.files.parquet import ParquetReader
from seamkit.files.reader import FileReader, check_size
from seamkit.files.statistics import FileStatistics
from seamkit.files.variants.reader import with_whole_variants
from seamkit.scan.units import Mask, ReadUnit, UnitsInTime
from seamkit.tables.agreement import check_stated
from seamkit.tables.delta.log.actions import (
    VECTORS,
    WIDENING,
    AddFile,
    Protocol,
    TableFiles,
    has_feature,
)
from seamkit.tables.delta.log.adds import FIELDS, AddedFiles
from seamkit.tables.delta.log.folder import LOG
from seamkit.tables.delta.partition_values import partition_value
from seamkit.tables.delta.schema import DeltaTypes, Field, TableSchema
from seamkit.tables.delta.stats import file_statistics, stated_counts, stated_rows
from seamkit.tables.delta.vectors import read_vector, stored_vector, vector_identity

_Partition = tuple[Mapping[str, pa.Scalar], str]


@dataclass(frozen=True)
class Planner:
    """Makes read units of one version's files."""

    files: TableFiles
    protocol: Protocol
    schema: TableSchema
    tracking: RowTracking | None = None  # where ids of rows are found; None in tables without
    _partitions: dict[object, _Partition] = field(default_factory=dict)

    @cached_property
    def types(self) -> DeltaTypes:
        """Which types of files may stand for those of the table."""
        return DeltaTypes(has_feature(self.protocol, *WIDENING))

    @cached_property
    def _table(self) -> OpenTable:
        return OpenTable(self.files, self.schema, self.types, self.tracking)

    @cached_property
    def _partition_columns(self) -> Mapping[str, tuple[str, pa.DataType]]:
        """By what the log calls each, its name and type."""
        found = (self.schema.by_name[name] for name in self.schema.partition_columns)
        return {one.physical: (one.name, one.type) for one in found}

    @property
    def root(self) -> str:
        """The table, for messages."""
        return self.files.storage.root

    def units(self, files: AddedFiles) -> Sequence[ReadUnit]:
        """Those of all live files; what is wrong with one is raised at once."""
        firsts = dict(zip(map(id, files.partition_values), range(len(files)), strict=True))
        held = {
            which: self._partition(files.partition_values[at], files.paths[at])
            for which, at in firsts.items()
        }

        masked = {}
        for at in files.masked():
            masked[at] = self.unit(files[at], self.vector_mask(files[at]), "a deletion vector")

        def live(numbers: Sequence[int]) -> Iterable[ReadUnit]:
            some = files.take(numbers)
            own = [held[id(values)] for values in some.partition_values]
            # All files of a plan come by here: a call for each would take longer than all else.
            of_each = zip(some.each(LiveFile, repeat(self._table)))
            values, groups = map(itemgetter(0), own), map(itemgetter(1), own)
            made = map(ReadUnit, some.paths, of_each, values, groups)
            return map(masked.get, numbers, made) if masked else made

        def read_bytes() -> list[int]:
            sizes = list(files.sizes)
            for at, unit in masked.items():
                sizes[at] = unit.read_bytes
            return sizes

        return UnitsInTime(len(files), live, read_bytes)

    def unit(
        self,
        add: AddFile,
        changes: Mask | None,
        reason: str,
        *,
        known: Mapping[str, pa.Scalar] | None = None,
        own: Sequence[Field] = (),
    ) -> ReadUnit:
        """Some rows of a file: all but those that `changes` leaves out.

        `known` are columns with one value for all rows, beside those of its partition; `own` are
        columns that the file has beside the table's.
        """
        table = self._table
        if own:
            schema = replace(self.schema, fields=[*self.schema.fields, *own])
            table = replace(table, schema=schema)
        file = LiveFile(**{name: getattr(add, name) for name in FIELDS}, table=table)
        by = () if add.vector is None else (stored_vector(self.files, add.vector, add.path),)
        values, group = self._partition(add.partition_values, add.path)
        values = {**values, **known} if known else values
        return ReadUnit(add.path, (file,), values, group, changes, reason, changed_by=by)

    def vector_mask(self, add: AddFile) -> Mask | None:
        """The deleted rows of a file."""
        if add.vector is None:
            return None
        if not has_feature(self.protocol, VECTORS):
            raise InputError(
                f"{self.root}/{LOG}: {add.path} has a deletion vector, and the "
                f"table's protocol lacks the feature {VECTORS!r}"
            )
        return Mask(
            partial(read_vector, self.files, add.vector),
            add.vector.cardinality,
            partial(vector_identity, self.files, add.vector),
        )

    def _partition(self, texts: Mapping[str, str | None], path: str) -> _Partition:
        """The values of a file's partition, and its name: one object for all files of it."""
        key = tuple(texts.items())
        if key not in self._partitions:
            group = "/".join(f"{name}={value}" for name, value in key)
            self._partitions[key] = self._values(texts, path), group
        return self._partitions[key]

    def _values(self, texts: Mapping[str, str | None], path: str) -> Mapping[str, pa.Scalar]:
        where = f"{self.root}/{LOG}: {path}"
        columns = self._partition_columns
        if others := texts.keys() - columns.keys():
            for field in self.schema.fields:
                if field.physical in others:
                    raise InputError(
                        f"{where}: the log has a partition value of "
                        f"{field.name!r}, which is none of metaData's partitionColumns"
                    )
        values = {}
        for physical, (name, kind) in columns.items():
            own = f"{where}, column {name!r}"
            if others and physical not in texts:
                raise InputError(f"{own}: the log has no partition value")
            # Where delta-rs puts commits together it leaves nulls out.
            values[name] = partition_value(texts.get(physical), kind, own)
        return values


@dataclass(frozen=True)
class OpenTable:
    """What the data files of a version share; see `open_data_file`."""

    files: TableFiles
    schema: TableSchema
    types: DeltaTypes
    tracking: RowTracking | None


@value_class
class LiveFile(AddFile):
    """A data file, and what its unit asks of it; see `seamkit.scan.units.UnitFile`."""

    table: OpenTable
    has_footer = True

    @property
    def name(self) -> str:
        """Where it lies."""
        return self.table.files.place(self.path)

    @property
    def rows(self) -> int | None:
        """That it holds, as the log tells."""
        return stated_rows(self)

    def open(self) -> FileReader:
        """Open it."""
        table = self.table
        return open_data_file(table.files, self, table.schema, table.types, table.tracking)

    def statistics(self, names: Collection[str]) -> FileStatistics:
        """What the log says of some of its columns."""
        return file_statistics(self, self.table.schema, names)

    def identity(self) -> Hashable | None:
        """What tells it from any other."""
        storage, plain = self.table.files.locate(self.path)
        return storage.file_identity(plain)


def open_data_file(
    files: TableFiles,
    add: AddFile,
    schema: TableSchema,
    types: DeltaTypes,
    tracking: RowTracking | None,
) -> FileReader:
    """Open a data file; `tracking` tells how ids of rows are found, if they may be asked for."""
    storage, plain = files.locate(add.path)
    reader = ParquetReader(storage, plain, types, int96_unit="us")
    if reader.counts_back:
        reader.rules = types.of_int96()
    own = reader.schema
    if schema.mode == "id" and own.names and all(field_id(field) is None for field in own):
        raise InputError(f"{reader.name}: its columns are found by field ids, of which it has none")
    finder = Finder(schema.by_name, Place("", (), places(own, id_and_name)), reader.name)
    if schema.mode == "none":
        _check_letters(schema.stored, finder.file, reader.name)
    _check(reader, add, schema, finder.file)
    nested = [own for own in schema.fields if own.children]
    whole = with_whole_variants(reader, nested, finder.file) if nested else reader
    found = whole if schema.mode == "none" else FoundReader(whole, finder)
    of_all = add.vector is None

    def check() -> None:
        stated = file_statistics(add, schema, schema.by_name)
        check_stated(found, stated, "the log", of_all=of_all)

    reader.once(("as stated", add.stats, of_all), check)
    if tracking is None:
        return found
    return FoundReader(whole, find_with_row_ids(finder, add, tracking))


def _check(reader: ParquetReader, add: AddFile, schema: TableSchema, own: Place) -> None:
    """Hold a file to what the log says of it: its size, its rows, and columns that hold values."""
    rows, nulls, fewer = stated_counts(add)
    check_size(reader, add.size_bytes, rows, "the log")
    if rows is not None:
        counted = [one for one in schema.stored if one.physical not in schema.miscounted]
        _check_columns(counted, nulls, own, reader, fewer)


def _check_letters(fields: Sequence[Field], own: Place, where: str) -> None:
    """Refuse a file that has a column in other letters, as CONVERT TO DELTA may leave one."""
    # Spark finds it, and by the protocol it is another column: this reader would show nulls.
    missing = []
    for one in fields:
        place = own.child(one, where)
        if place is None:
            missing.append(one.physical)
        else:
            _check_letters(one.children, place, where)
    stored = {other.name.lower(): other.name for other in own.children} if missing else {}
    for name in missing:
        if other := stored.get(name.lower()):
            raise RefusedError(
                f"{where}: it has the column {name!r} in other letters, {other!r}, which is not "
                "supported"
            )


def _check_columns(
    fields: Sequence[Field], nulls: Mapping[str, Any], own: Place, reader: FileReader, fewer: int
) -> None:
    """Make sure that a file has the columns, and fields of structs, that have values."""
    # Those have them of which `fewer` nulls are counted.
    for one in fields:
        count, place = nulls.get(one.physical), own.child(one, reader.name)
        if place is not None and isinstance(count, dict):
            _check_columns(one.children, count, place, reader, fewer)
        elif place is None and _has_values(count, fewer):
            raise InputError(
                f"{reader.name}: it lacks the column {one.physical!r}, of which the log says "
                "that it has values"
            )


def _has_values(nulls: Any, fewer: int) -> bool:
    """Whether a column, or a field within, has fewer nulls than that."""
    if isinstance(nulls, dict):
        return any(_has_values(inner, fewer) for inner in nulls.values())
    return isinstance(nulls, int) and nulls < fewer


_ROW_ID = "_row_id"
_VERSION = "_row_commit_version"
#: By column, the property that names what files call it.
_PROPERTIES = {
    _ROW_ID: "delta.rowTracking.materializedRowIdColumnName",
    _VERSION: "delta.rowTracking.materializedRowCommitVersionColumnName",
}


@dataclass(frozen=True)
class RowTracking:
    """The columns of row tracking that a table shows where they are named.

    A row's id is that of its file's first row plus its place in the file; its version is that of
    the file. Where rows were written anew, the file has columns of its own for both, and what
    stands there counts (PROTOCOL.md, "Row Tracking").
    """

    fields: Sequence[Field]  # `_row_id` and `_row_commit_version`, as files call them


def row_tracking(
    protocol: Protocol, configuration: Mapping[str, str], schema: TableSchema
) -> RowTracking | None:
    """What a table says of the ids of its rows; None where it keeps none.

    Where only the property is set it keeps none. A column of its own under such a name counts, and
    one that files have under no name is not shown.
    """
    is_on = configuration.get("delta.enableRowTracking", "false").lower() == "true"
    if not is_on or "rowTracking" not in protocol.writer_features:
        return None
    named = {name: configuration.get(key) for name, key in _PROPERTIES.items()}
    return RowTracking(
        [
            Field(name, physical, None, pa.int64())
            for name, physical in named.items()
            if physical and name not in schema.arrow.names
        ]
    )


def find_with_row_ids(
    finder: Finder, add: AddFile, tracking: RowTracking
) -> Callable[[pa.Field], Source]:
    """Says where columns of a data file come from, those of row tracking among them."""
    tracked = {field.name: field for field in tracking.fields}

    def find(wanted: pa.Field) -> Source:
        if wanted.name not in tracked:
            return finder(wanted)
        place = finder.file.child(tracked[wanted.name], finder.where)
        read = None if place is None else wanted.with_name(place.name)
        return Source(wanted, read, wanted.type, _of_log(wanted.name, add, finder.where))

    return find


def _of_log(name: str, add: AddFile, where: str) -> Make:
    """What the log says of a file's rows."""
    is_id = name == _ROW_ID
    stated = add.base_row_id if is_id else add.row_commit_version
    if stated is None:
        what = "baseRowId" if is_id else "defaultRowCommitVersion"
        raise InputError(f"{where}: rows have ids, and the log tells no {what} of this file")
    return partial(or_number, stated) if is_id else OrValue(pa.scalar(stated, pa.int64()))
