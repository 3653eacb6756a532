"""Leaf columns of rows, as metadata count their nulls and bound their values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class Leaf:
    """One column of a table, or one field of a struct at any depth; lists and maps are leaves.

    Attributes:
        path: names from the top.
        field: as the file's schema has it; its metadata may hold the field's id.
        values: null where the field is, or a struct around it.
    """

    path: tuple[str, ...]
    field: pa.Field
    values: pa.ChunkedArray

    @property
    def field_id(self) -> int | None:
        """The id by which the writer of a Parquet file tells the field from others."""
        said = (self.field.metadata or {}).get(b"PARQUET:field_id")
        return None if said is None else int(said)


def leaves(table: pa.Table) -> Iterator[Leaf]:
    """Leaves of the columns of a table, those of a struct in its place."""
    for field, column in zip(table.schema, table.columns, strict=True):
        yield from _below((), field, column)


def _below(above: tuple[str, ...], field: pa.Field, values: pa.ChunkedArray) -> Iterator[Leaf]:
    path = (*above, field.name)
    if not pa.types.is_struct(field.type):
        yield Leaf(path, field, values)
        return
    # `flatten` hands a struct's nulls on to its fields.
    for at, inner in enumerate(values.flatten()):
        yield from _below(path, field.type.field(at), inner)
