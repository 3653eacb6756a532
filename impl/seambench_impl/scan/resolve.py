"""From a file's columns to the table's: by name, with Avro's type promotions.

Base files and log blocks carry the schema of their writer; the latest table schema decides what
readers see (docs/hudi.md, "Schema").
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from seambench.errors import InputError

__all__ = ["resolve_batch", "resolve_column"]


def resolve_batch(batch: pa.RecordBatch, schema: pa.Schema, source: str) -> pa.RecordBatch:
    """The columns of `schema` in its order and types; a column the file lacks is null.

    Args:
        batch: rows as the file has them.
        schema: what the table says.
        source: the file, for messages.

    Raises:
        InputError: a column cannot be promoted to the table's type.
    """
    if batch.schema.equals(schema):
        return batch
    columns = []
    for field in schema:
        index = batch.schema.get_field_index(field.name)
        if index < 0:
            columns.append(pa.nulls(batch.num_rows, field.type))
        else:
            columns.append(resolve_column(batch.column(index), field, source))
    if not columns:
        return batch.select([])
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def resolve_column(column: pa.Array, field: pa.Field, source: str) -> pa.Array:
    """One column in the table's type.

    Raises:
        InputError: it cannot be promoted.
    """
    have, want = column.type, field.type
    if have.equals(want):
        return column
    if _only_more_digits(have, want):
        return pa.Array.from_buffers(
            want, len(column), column.buffers(), column.null_count, column.offset
        )
    if not _promotes(have, want):
        raise InputError(
            f"{source}: column '{field.name}' is {have}, which does not promote to the table's "
            f"{want}"
        )
    if pa.types.is_float32(have) and pa.types.is_float64(want):
        # Hudi widens a float by its decimal text: 0.3f becomes 0.3.
        return pc.cast(pc.cast(column, pa.string()), want)
    return pc.cast(column, want)


def _only_more_digits(have: pa.DataType, want: pa.DataType) -> bool:
    """The same bits serve: a decimal that may have more digits before the point."""
    return bool(
        pa.types.is_decimal128(have)
        and pa.types.is_decimal128(want)
        and have.scale == want.scale
        and have.precision <= want.precision
    )


def _promotes(have: pa.DataType, want: pa.DataType) -> bool:
    if pa.types.is_integer(have):
        wider = pa.types.is_integer(want) and want.bit_width >= have.bit_width
        return bool(wider or pa.types.is_floating(want) or pa.types.is_string(want))
    if pa.types.is_float32(have):
        return bool(pa.types.is_float64(want) or pa.types.is_string(want))
    if pa.types.is_float64(have):
        return bool(pa.types.is_string(want))
    if pa.types.is_decimal(have) and pa.types.is_decimal(want):
        whole = want.precision - want.scale >= have.precision - have.scale
        return bool(whole and want.scale >= have.scale)
    if pa.types.is_timestamp(have) and pa.types.is_timestamp(want):
        return bool(have.tz == want.tz and (have.unit, want.unit) == ("ms", "us"))
    textual = (pa.types.is_string, pa.types.is_binary, pa.types.is_large_string)
    if any(t(have) for t in textual) and any(t(want) for t in textual):
        return True
    return bool(pa.types.is_nested(have) and pa.types.is_nested(want))
