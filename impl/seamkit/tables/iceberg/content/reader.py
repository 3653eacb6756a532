"""One file of an Iceberg table under the table's names, types and defaults."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError
from seamkit.core.arrow_data import batch_of
from seamkit.files.positions import positions_of
from seamkit.files.reader import FileReader, OverReader
from seamkit.files.renamed import renamed
from seamkit.files.roaring import Positions
from seamkit.files.statistics import FileStatistics
from seamkit.tables.iceberg.content.columns import FileColumns, in_file
from seamkit.tables.iceberg.metadata.schema import Field
from seamkit.tables.iceberg.metadata.values import default_value

__all__ = ["LINEAGE", "Column", "FileRows", "IcebergReader"]

_ROW_ID = Field(2147483540, "_row_id", pa.int64(), required=False)
_LAST_UPDATED = Field(2147483539, "_last_updated_sequence_number", pa.int64(), required=False)
LINEAGE = (_ROW_ID, _LAST_UPDATED)
"""Columns of row lineage (version 3): a file has them, or they follow from its entry."""

Column = Sequence[Field]
"""A field, behind the structs that it lies in."""


@dataclass(frozen=True)
class FileRows:
    """What is known of a file's rows besides what stands in it.

    Attributes:
        values: of columns that have one value in all rows, by field id.
        first_row_id: of its first row; None where rows have no ids.
        sequence_number: of its data.
    """

    values: Mapping[int, pa.Scalar] = field(default_factory=dict)
    first_row_id: int | None = None
    sequence_number: int = 0


@dataclass(frozen=True)
class _Source:
    """Where a column comes from.

    Attributes:
        wanted: the column as it is asked for.
        column: the field, and what it lies in.
        found: the file's field that has it; None if there is none.
        read: that field as the file calls it, in the table's types.
        as_is: whether the file's values are the column's.
    """

    wanted: pa.Field
    column: Column
    found: FileColumns | None
    read: pa.Field
    as_is: bool


class IcebergReader(OverReader):
    """A `FileReader` that finds columns by their ids.

    Args:
        reader: the file.
        own: its columns.
        columns: all that may be asked, by name.
        rows: what else is known.
    """

    def __init__(
        self,
        reader: FileReader,
        own: FileColumns,
        columns: Mapping[str, Column],
        rows: FileRows,
    ) -> None:
        super().__init__(reader)
        self._own = own
        self._columns = columns
        self._rows = rows

    def batches(
        self,
        schema: pa.Schema,
        batch_rows: int,
        *,
        use_threads: bool,
        encoded: Collection[str] = (),
        row_groups: Sequence[int] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """See `FileReader.batches`; texts come as dictionaries only where all columns are as asked.

        Raises:
            InputError: the file is broken, lacks a required column, or a type does not promote.
            RefusedError: a default that is not supported.
        """
        sources = [self._source(wanted) for wanted in schema]
        if all(source.as_is for source in sources):
            yield from self._reader.batches(
                schema, batch_rows, use_threads=use_threads, encoded=encoded, row_groups=row_groups
            )
            return
        inside = {one.read.name: one for one in sources if one.found is not None}
        for one in sources:
            if one.found is not None and not inside[one.read.name].read.equals(one.read):
                raise RefusedError(
                    f"{self.name}: fields of {one.read.name!r} are asked for as several schemas "
                    "have them, which is not supported"
                )
        positions = positions_of(self, row_groups)
        for batch in self._reader.batches(
            pa.schema([one.read for one in inside.values()]),
            batch_rows,
            use_threads=use_threads,
            row_groups=row_groups,
        ):
            roots = [(str(i), one.column[0].type) for i, one in enumerate(inside.values())]
            columns = dict(zip(inside, renamed(batch, pa.schema(roots)).columns, strict=True))
            at = positions[: batch.num_rows]
            positions = positions[batch.num_rows :]
            made = [self._values(one, columns.get(one.read.name), at) for one in sources]
            yield batch_of(made, schema, batch.num_rows)

    def as_it_stands(self, schema: pa.Schema) -> FileReader:
        """The file's own reader where it has all of these columns as the table; see `Renaming`."""
        return self._reader if all(self._source(wanted).as_is for wanted in schema) else self

    def row_groups_that_may_match(
        self, condition: pc.Expression, schema: pa.Schema, counted: Collection[str] | None = None
    ) -> list[int]:
        """By the statistics of columns that the file has under their names; others do not count."""
        names = [
            wanted.name
            for wanted in schema
            if (counted is None or wanted.name in counted) and self._has_ranges(wanted)
        ]
        if not names:
            return list(range(self.num_row_groups))
        if counted is None and len(names) == len(schema):
            return self._reader.row_groups_that_may_match(condition, schema)
        return self._reader.row_groups_that_may_match(condition, schema, names)

    def greatest(self, name: str, kind: pa.DataType) -> int | None:
        """What the file's statistics tell; see `FileReader.greatest`."""
        told = self._has_ranges(pa.field(name, kind))
        return self._reader.greatest(name, kind) if told else None

    def statistics(self, schema: pa.Schema) -> FileStatistics:
        """What the file's statistics tell of columns that it has as the table does."""
        return self._reader.statistics(pa.schema(list(filter(self._has_ranges, schema))))

    def _has_ranges(self, wanted: pa.Field) -> bool:
        """Whether the file's statistics are those of a column as it is handed out."""
        source = self._source(wanted)
        return source.as_is and not source.column[0].stated

    def _source(self, wanted: pa.Field) -> _Source:
        column = self._columns.get(wanted.name)
        if not column:  # as a plan from elsewhere may have it
            raise InputError(f"{self.name}: the plan does not tell of the column {wanted.name!r}")
        root = column[0]
        found = None if root.id in self._rows.values else self._own.child(root)
        read = in_file(root, pa.field(root.name, root.type), found, self.name)
        as_is = found is not None and root not in LINEAGE and read.equals(wanted)
        if found is None:
            self._check_lacking(root)
        return _Source(wanted, column, found, read, as_is)

    def _check_lacking(self, root: Field) -> None:
        """Refuse a file that lacks a column that it must have, or that only lost its id.

        Writers give every field an id, or none: where the others have one, a column of the same
        name without one is damage, and null would stand for its values.
        """
        if root.id in self._rows.values:
            return
        lost = (one for one in self._own.children if one.id is None and one.name == root.name)
        if not self._own.mapped and any(lost):
            raise InputError(f"{self.name}: its column {root.name!r} has no field id, others have")
        self._require(root)

    def _require(self, lacking: Field) -> None:
        """Refuse a file that lacks what every row has."""
        if lacking.required and lacking.default is None and lacking.id not in self._rows.values:
            raise InputError(
                f"{self.name}: it lacks the column {lacking.name!r}, which is required"
            )

    def _values(self, source: _Source, column: pa.Array | None, positions: Positions) -> pa.Array:
        """Values of a column in a batch.

        Args:
            source: where they come from.
            column: what the file has, under the table's names; None if nothing.
            positions: of the rows in the file.
        """
        root, rows = source.column[0], len(positions)
        if root in LINEAGE:
            return self._lineage(root, column, positions)
        if column is None:
            known = self._rows.values.get(root.id) if len(source.column) == 1 else None
            return _repeated(known, root, source.wanted.type, rows, self.name)
        assert source.found is not None
        column = self._filled(column, root, source.found)
        for inner in source.column[1:]:
            column = pc.struct_field(column, column.type.get_field_index(inner.name))
        return column

    def _lineage(self, root: Field, column: pa.Array | None, positions: Positions) -> pa.Array:
        """What the file says of its rows, else what their places say."""
        if root.id == _LAST_UPDATED.id:  # a plan from another process has a Field of its own
            inherited = pa.repeat(pa.scalar(self._rows.sequence_number, pa.int64()), len(positions))
        elif self._rows.first_row_id is None:
            inherited = pa.nulls(len(positions), pa.int64())
        else:
            inherited = pa.array(positions + self._rows.first_row_id, pa.int64())
        return inherited if column is None else pc.coalesce(column, inherited)

    def _filled(self, column: pa.Array, own: Field, found: FileColumns) -> pa.Array:
        """A column with the defaults of fields that the file lacks within it, at every depth.

        Raises:
            InputError: such a field is required, and has none.
            RefusedError: a default of a nested type.
        """
        if not _lacks(own, found):
            return column
        if pa.types.is_map(own.type):
            [own_key, own_item] = own.children
            [key, item] = found.children
            entries = pa.StructArray.from_arrays(
                [
                    self._filled(column.keys, own_key, key),
                    self._filled(column.items, own_item, item),
                ],
                fields=[own.type.key_field, own.type.item_field],
            )
            return _with_child(column, entries)
        if pa.types.is_list(own.type):
            return _with_child(
                column, self._filled(column.values, own.children[0], found.children[0])
            )
        children = []
        for at, inner in enumerate(own.children):
            child = column.field(at)
            below = found.child(inner)
            if below is None:
                self._require(inner)
                child = _repeated(None, inner, inner.type, len(column), self.name)
            else:
                child = self._filled(child, inner, below)
            children.append(child)
        mask = column.is_null() if column.null_count else None
        return pa.StructArray.from_arrays(children, fields=list(own.type), mask=mask)


def _with_child(column: pa.Array, child: pa.Array) -> pa.Array:
    """A list or map of the same lengths over other values, which are as many as those it has."""
    return pa.Array.from_buffers(
        column.type, len(column), column.buffers()[:2], offset=column.offset, children=[child]
    )


def _lacks(own: Field, found: FileColumns) -> bool:
    """Whether a file lacks a field within one that it has, and null is not what stands for it."""
    if pa.types.is_struct(own.type):
        below = [(inner, found.child(inner)) for inner in own.children]
    else:
        below = list(zip(own.children, found.children, strict=False))
    return any(
        inner.default is not None or inner.required if other is None else _lacks(inner, other)
        for inner, other in below
    )


def _repeated(
    known: pa.Scalar | None, own: Field, kind: pa.DataType, rows: int, where: str
) -> pa.Array:
    """A column of one value: a known one, the field's default, or null."""
    if known is not None:
        return pa.repeat(known, rows)
    if own.default is None or kind != own.type:
        return pa.nulls(rows, kind)
    return pa.repeat(default_value(own.default, kind, f"{where}, field {own.name!r}"), rows)
