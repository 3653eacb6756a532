"""Rows of a log as merge events: which of them are deletes, and what orders them.

Source of the rules: Hudi 1.2.0, RecordContext and OrderingValues.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import RefusedError
from seamkit.core._seam import lib
from seamkit.core.arrow_data import numbers
from seamkit.tables.hudi.config.merge_rules import DeleteMarker

__all__ = [
    "IS_DELETED",
    "OPERATION",
    "default_deletes",
    "deleted_rows",
    "is_java_integer",
    "leaf_column",
    "leaf_field",
    "ordering_columns",
    "root_of",
]

IS_DELETED = "_hoodie_is_deleted"
OPERATION = "_hoodie_operation"

Flags = npt.NDArray[np.uint8]


def deleted_rows(
    batch: pa.RecordBatch, marker: DeleteMarker | None, source: str
) -> npt.NDArray[np.bool_] | None:
    """Rows of a log that stand for deletes; None if none can.

    They are those with `_hoodie_is_deleted`, with the operation D or -U, or with the table's own
    marker.

    Raises:
        RefusedError: `_hoodie_is_deleted` is no boolean, or the marker's column has a type whose
            values have no plain text.
    """
    found: list[pa.Array] = []
    if batch.schema.get_field_index(IS_DELETED) >= 0:
        flags = batch.column(IS_DELETED)
        if not pa.types.is_boolean(flags.type):
            raise RefusedError(
                f"{source}: deletes are marked by the column '{IS_DELETED}', and its type "
                f"{flags.type} is not supported for that; a boolean is"
            )
        found.append(flags)
    if batch.schema.get_field_index(OPERATION) >= 0:
        found.append(pc.is_in(batch.column(OPERATION), value_set=pa.array(["D", "-U"])))
    if marker is not None:
        found.append(pc.equal(_texts(batch.column(marker.column), marker, source), marker.text))
    deleted: npt.NDArray[np.bool_] | None = None
    for flags in found:
        words = numbers(pc.and_kleene(flags, flags.is_valid()))  # a null is false
        deleted = words if deleted is None else deleted | words
    return deleted


def _texts(column: pa.Array, marker: DeleteMarker, source: str) -> pa.Array:
    """What Java's `toString` makes of Spark's own values: of a date its number of days."""
    kind = column.type
    if pa.types.is_date32(kind):
        column = column.cast(pa.int32())
    elif not any(
        test(kind) for test in (pa.types.is_string, pa.types.is_integer, pa.types.is_boolean)
    ):
        raise RefusedError(
            f"{source}: deletes are marked by the column '{marker.column}', and its type {kind} is "
            "not supported for that"
        )
    return column.cast(pa.string())


def is_java_integer(kind: pa.DataType) -> bool:
    """Whether Hudi's Spark reader holds values of a column as `Integer`: dates count their days."""
    return bool(pa.types.is_int32(kind) or pa.types.is_date32(kind))


def root_of(name: str, columns: Collection[str]) -> str:
    """The column that holds a key or ordering field, which may lie inside structs: `a.b`."""
    return name if name in columns else name.split(".")[0]


def leaf_field(schema: pa.Schema, name: str) -> pa.Field | None:
    """A key or ordering field under its full name; None if the schema has no such field."""
    root = root_of(name, schema.names)
    if schema.get_field_index(root) < 0:
        return None
    kind = schema.field(root).type
    for part in name.removeprefix(root).split(".")[1:]:
        if not pa.types.is_struct(kind) or kind.get_field_index(part) < 0:
            return None
        kind = kind.field(part).type
    return pa.field(name, kind)


def leaf_column(batch: pa.RecordBatch, name: str) -> pa.Array:
    """The values of a key or ordering field, null where a struct that holds it is null."""
    root = root_of(name, batch.schema.names)
    column = batch.column(root)
    return column if root == name else pc.struct_field(column, name.split(".")[1:])


def ordering_columns(batch: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
    """The ordering columns. Hudi takes a null for the integer 0.

    So nulls are zeros where a column holds integers. Elsewhere they stay: they equal each other,
    and the core refuses to compare one with a value.
    """
    columns = []
    for name in names:
        column = leaf_column(batch, name)
        if column.null_count and is_java_integer(column.type):
            column = pc.fill_null(column.cast(pa.int32()), 0).cast(column.type)
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, names=list(names))


def default_deletes(ordering: pa.RecordBatch, rows: npt.NDArray[np.int32]) -> Flags:
    """Flags of events: deletes (rows below 0) whose single ordering value is the integer 0.

    Hudi takes that for "none". A null is a 0 whatever the column's type.
    """
    flags = np.zeros(len(rows), dtype=np.uint8)
    if ordering.num_columns == 1:
        column = ordering.column(0)
        if is_java_integer(column.type):
            zero = numbers(column.cast(pa.int32())) == 0
        else:
            zero = numbers(column.is_null())
        flags[(rows < 0) & zero] = lib.SEAM_EVENT_UNORDERED
    return flags
