"""One file of an Iceberg table under the table's names, types and defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError
from seamkit.files.columns import Make, Place, Source, field_in_file, or_number, or_value
from seamkit.files.roaring import Positions
from seamkit.tables.iceberg.metadata.schema import Field
from seamkit.tables.iceberg.metadata.values import default_value

__all__ = ["LINEAGE", "Column", "FileRows", "IcebergFinder"]

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
class IcebergFinder:
    """Finds columns by their ids, and says what stands for those that a file lacks.

    Attributes:
        file: the file's columns.
        columns: all that may be asked, by name.
        rows: what else is known.
        where: the file, for messages.
    """

    file: Place
    columns: Mapping[str, Column]
    rows: FileRows
    where: str

    def __call__(self, wanted: pa.Field) -> Source:
        """Where a column comes from.

        Raises:
            InputError: the file lacks a required column, or what a plan says of it makes no sense.
            RefusedError: a default that is not supported.
        """
        column = self.columns.get(wanted.name)
        if not column:  # as a plan from elsewhere may have it
            raise InputError(f"{self.where}: the plan does not tell of the column {wanted.name!r}")
        root = column[0]
        found = None if root.id in self.rows.values else self.file.child(root, self.where)
        if found is None:
            self._check_lacking(root)
            known = self._of_all_rows(column, wanted)
            make = self._lineage(root) or (known and partial(or_value, known))
            return Source(wanted, None, root.type, make)
        whole = pa.field(root.name, root.type)
        read = field_in_file(whole, root, found, self.where)
        make = self._lineage(root)
        if make is None and (len(column) > 1 or _lacks(root, found, self.where)):
            make = partial(self._within, column, found)
        return Source(wanted, read, root.type, make, has_ranges=not root.stated)

    def _check_lacking(self, root: Field) -> None:
        """Refuse a file that lacks a column that it must have, or that only lost its id.

        Writers give every field an id, or none: where the others have one, a column of the same
        name without one is damage, and null would stand for its values.
        """
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
        if root.id == _LAST_UPDATED.id:
            return partial(or_value, pa.scalar(self.rows.sequence_number, pa.int64()))
        if root.id == _ROW_ID.id and self.rows.first_row_id is not None:
            return partial(or_number, self.rows.first_row_id)
        return None

    def _of_all_rows(self, column: Column, wanted: pa.Field) -> pa.Scalar | None:
        """The one value of a column that the file lacks; None for null."""
        root = column[0]
        if len(column) == 1 and root.id in self.rows.values:
            return self.rows.values[root.id]
        return self._default(root) if wanted.type == root.type else None

    def _default(self, own: Field) -> pa.Scalar | None:
        if own.default is None:
            return None
        return default_value(own.default, own.type, f"{self.where}, field {own.name!r}")

    def _within(
        self, column: Column, found: Place, values: pa.Array | None, positions: Positions
    ) -> pa.Array:
        """Values of a field out of those of the column that it lies in."""
        del positions
        assert values is not None
        values = self._filled(values, column[0], found)
        for inner in column[1:]:
            values = pc.struct_field(values, values.type.get_field_index(inner.name))
        return values

    def _filled(self, column: pa.Array, own: Field, found: Place) -> pa.Array:
        """A column with the defaults of fields that the file lacks within it, at every depth."""
        if not _lacks(own, found, self.where):
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
            below = found.child(inner, self.where)
            if below is None:
                self._require(inner)
                known = self._default(inner)
                child = child if known is None else pa.repeat(known, len(column))
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


def _lacks(own: Field, found: Place, where: str) -> bool:
    """Whether a file lacks a field within one that it has, and null is not what stands for it."""
    if pa.types.is_struct(own.type):
        below = [(inner, found.child(inner, where)) for inner in own.children]
    else:
        below = list(zip(own.children, found.children, strict=False))
    return any(
        inner.default is not None or inner.required
        if other is None
        else _lacks(inner, other, where)
        for inner, other in below
    )
