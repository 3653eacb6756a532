"""From a file's columns to the table's: by name, with Hudi's type promotions, at any depth.

Base files and log blocks carry the schema of their writer; the latest table schema decides what
readers see (docs/hudi.md, "Schema").
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError
from seamkit.files.java_casts import becomes, cast_as_java
from seamkit.files.java_text import java_text

__all__ = ["is_mislabelled", "nullable_throughout", "promotes", "resolve_batch", "resolve_column"]


Leaf = Callable[[pa.Array, pa.DataType], pa.Array]


def resolve_batch(
    batch: pa.RecordBatch, schema: pa.Schema, source: str, leaf: Leaf | None = None
) -> pa.RecordBatch:
    """The columns of `schema` in its order and types; a column the file lacks is null.

    Args:
        batch: rows as the file has them.
        schema: what the table says.
        source: the file, for messages.
        leaf: gives values, not nested ones, the type that the file's format has no word for.

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
            columns.append(resolve_column(batch.column(index), field, source, leaf))
    if not columns:
        return batch.select([])
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def resolve_column(
    column: pa.Array, field: pa.Field, source: str, leaf: Leaf | None = None
) -> pa.Array:
    """One column in the table's type. Fields of structs are found by name; a missing one is null.

    Args:
        column: as the file has it.
        field: as the table has it.
        source: the file, for messages.
        leaf: as `resolve_batch` takes it.

    Raises:
        InputError: it cannot be promoted.
    """
    return _resolve(column, field.type, field.name, source, leaf)


def _resolve(
    column: pa.Array, want: pa.DataType, name: str, source: str, leaf: Leaf | None
) -> pa.Array:
    have = column.type
    if have.equals(want):
        return column
    if pa.types.is_struct(have) and pa.types.is_struct(want):
        return _resolve_struct(column, want, name, source, leaf)
    if pa.types.is_list(have) and pa.types.is_list(want):
        items = _resolve(column.values, want.value_type, f"{name}.element", source, leaf)
        return _with_children(column, want, items)
    if pa.types.is_map(have) and pa.types.is_map(want):
        keys = _resolve(column.keys, want.key_type, f"{name}.key", source, leaf)
        items = _resolve(column.items, want.item_type, f"{name}.value", source, leaf)
        entries = pa.StructArray.from_arrays(
            [keys, items], fields=[want.key_field, want.item_field]
        )
        return _with_children(column, want, entries)
    return _resolve_leaf(column if leaf is None else leaf(column, want), want, name, source)


def _resolve_leaf(column: pa.Array, want: pa.DataType, name: str, source: str) -> pa.Array:
    have = column.type
    if have.equals(want):
        return column
    if _only_more_digits(have, want):
        return pa.Array.from_buffers(
            want, len(column), column.buffers(), column.null_count, column.offset
        )
    if is_mislabelled(have, want):
        return pc.cast(pc.cast(column, pa.int64()), want)
    if not promotes(have, want):
        raise InputError(
            f"{source}: column '{name}' is {have}, which does not promote to the table's {want}"
        )
    try:
        return _promote(column, want)
    except ValueError as error:  # pyarrow's own are among them
        raise InputError(f"{source}: column '{name}' does not fit {want} ({error})") from error


def _with_children(column: pa.Array, want: pa.DataType, child: pa.Array) -> pa.Array:
    """The same lists or maps over other items."""
    return pa.Array.from_buffers(
        want,
        len(column),
        column.buffers()[:2],
        column.null_count,
        column.offset,
        children=[child],
    )


def _resolve_struct(
    column: pa.StructArray, want: pa.StructType, name: str, source: str, leaf: Leaf | None
) -> pa.StructArray:
    children, count = [], column.type.num_fields
    # What stands below a null struct is not a value: it need be no number, nor date.
    fields = column.flatten() if column.null_count else [column.field(i) for i in range(count)]
    for field in want:
        index = column.type.get_field_index(field.name)
        if index < 0:
            children.append(pa.nulls(len(column), field.type))
        else:
            inner = f"{name}.{field.name}"
            children.append(_resolve(fields[index], field.type, inner, source, leaf))
    mask = column.is_null() if column.null_count else None
    return pa.StructArray.from_arrays(children, fields=list(want), mask=mask)


def _promote(column: pa.Array, want: pa.DataType) -> pa.Array:
    have = column.type
    if pa.types.is_string(want) and not _is_text(have):
        return java_text(column)
    if becomes(have, want):
        return cast_as_java(column, want)
    if pa.types.is_float32(have) and pa.types.is_float64(want):
        # Hudi widens a float by its decimal text: 0.3f becomes 0.3.
        return pc.cast(pc.cast(column, pa.string()), want)
    if pa.types.is_integer(have) and pa.types.is_floating(want):
        return pc.cast(column, want, safe=False)  # as Java rounds, beyond 2**53 (2**24) too
    if pa.types.is_timestamp(have):
        return pc.cast(pc.cast(column, pa.timestamp(want.unit, have.tz), safe=False), want)
    return pc.cast(column, want)


def _only_more_digits(have: pa.DataType, want: pa.DataType) -> bool:
    """The same bits serve: a decimal that may have more digits before the point."""
    return bool(
        pa.types.is_decimal128(have)
        and pa.types.is_decimal128(want)
        and have.scale == want.scale
        and have.precision <= want.precision
    )


def _is_text(kind: pa.DataType) -> bool:
    tests = (pa.types.is_string, pa.types.is_binary, pa.types.is_large_string)
    return any(test(kind) for test in tests)


def is_mislabelled(have: pa.DataType, want: pa.DataType) -> bool:
    """Whether a file's numbers are the table's, under a label that older writers put wrongly.

    Hudi before 1.1 wrote milliseconds as microseconds, and local timestamps as plain longs; Hudi
    1.2.0 believes the table's schema in just these cases (`HoodieSchemaRepair`).
    """
    if not pa.types.is_timestamp(want):
        return False
    if pa.types.is_timestamp(have):
        return bool(have.tz == want.tz and (have.unit, want.unit) == ("us", "ms"))
    return bool(pa.types.is_int64(have) and want.tz is None)


def promotes(have: pa.DataType, want: pa.DataType) -> bool:
    """Whether Hudi reads values of one type, not a nested one, as values of another."""
    if becomes(have, want):
        return True
    if pa.types.is_integer(have):
        wider = pa.types.is_integer(want) and want.bit_width >= have.bit_width
        return bool(wider or pa.types.is_floating(want) or pa.types.is_string(want))
    if pa.types.is_float32(have):
        return bool(pa.types.is_float64(want) or pa.types.is_string(want))
    if pa.types.is_float64(have) or pa.types.is_date32(have):
        return bool(pa.types.is_string(want))
    if pa.types.is_decimal(have) and pa.types.is_string(want):
        return True
    if pa.types.is_decimal(have) and pa.types.is_decimal(want):
        whole = want.precision - want.scale >= have.precision - have.scale
        return bool(whole and want.scale >= have.scale)
    if pa.types.is_timestamp(have) and pa.types.is_timestamp(want):
        # What pyarrow gives nanoseconds without a zone is INT96: an instant, as Spark wrote it.
        zone = want.tz if have.tz is None and have.unit == "ns" else have.tz
        return bool(zone == want.tz and have.unit in ("ms", "ns") and want.unit == "us")
    return _is_text(have) and _is_text(want)


def nullable_throughout(field: pa.Field) -> pa.Field:
    """The field with nulls allowed at every depth (keys of maps aside).

    A file that lacks a column, or a field of a struct, leaves nulls, whatever the schema says.
    """
    kind = field.type
    if pa.types.is_struct(kind):
        kind = pa.struct([nullable_throughout(child) for child in kind])
    elif pa.types.is_list(kind):
        kind = pa.list_(nullable_throughout(kind.value_field))
    elif pa.types.is_map(kind):
        kind = pa.map_(kind.key_type, nullable_throughout(kind.item_field))
    return field.with_type(kind).with_nullable(True)
