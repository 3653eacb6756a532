"""From a file's columns to the table's: by name, at any depth, by the type rules of a table format.

A file carries the schema of its writer; the table's schema decides what readers see.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError
from seamkit.files.reader import check_texts

# Types that files may have, and tables of no format: the file is none that its writer should mend.
_FOREIGN = (
    pa.types.is_unsigned_integer,
    pa.types.is_float16,
    pa.types.is_time,
    pa.types.is_fixed_size_binary,
    pa.types.is_decimal256,
)

Leaf = Callable[[pa.Array, pa.DataType], pa.Array]


class TypeRules(Protocol):
    """What a table format lets a file's type become. All types here are those of single values.

    Attributes:
        floats_by_text: a float widens to the double that its decimal text names (0.3f becomes 0.3),
            not to the double that equals it. It tells the Avro decoder, which widens by itself.
    """

    floats_by_text: bool

    def promotes(self, have: pa.DataType, want: pa.DataType) -> bool:
        """Whether values of one type are read as values of another."""
        ...

    def promote(self, column: pa.Array, want: pa.DataType) -> pa.Array:
        """The column in the other type; called where `promotes` says so."""
        ...

    def relabels(self, have: pa.DataType, want: pa.DataType) -> bool:
        """Whether a file's numbers are the table's as they stand, under another type's name."""
        ...


class LosslessTypes:
    """Type rules under which every value stays what it is: a `TypeRules`.

    Integers become wider ones, decimals get more digits before and after the point, floats become
    the doubles that equal them, and integers become doubles or decimals that hold all of them.
    Times get a finer unit, and a date is its midnight. Nanoseconds without a zone, as which pyarrow
    reads INT96, are an instant.
    """

    floats_by_text = False

    def promotes(self, have: pa.DataType, want: pa.DataType) -> bool:
        """Whether no value of the one type is lost in the other."""
        kinds = pa.types
        if kinds.is_integer(have):
            return _holds_integers(have, want)
        if kinds.is_floating(have):
            return bool(kinds.is_floating(want) and want.bit_width >= have.bit_width)
        if kinds.is_decimal(have) and kinds.is_decimal(want):
            whole = want.precision - want.scale >= have.precision - have.scale
            return bool(whole and want.scale >= have.scale)
        if kinds.is_timestamp(have) and kinds.is_timestamp(want):
            if have.unit == "ns" and have.tz is None:
                return True
            return bool(have.tz == want.tz and _UNITS[want.unit] >= _UNITS[have.unit])
        if kinds.is_date32(have):
            return bool(kinds.is_timestamp(want) and want.tz is None)
        return _is_text(have) and _is_text(want)

    def promote(self, column: pa.Array, want: pa.DataType) -> pa.Array:
        """The values in the wider type; digits below an INT96's unit are cut off."""
        have = column.type
        if pa.types.is_timestamp(have) and pa.types.is_timestamp(want):
            return pc.cast(pc.cast(column, pa.timestamp(want.unit, have.tz), safe=False), want)
        return pc.cast(column, want)

    def relabels(self, have: pa.DataType, want: pa.DataType) -> bool:
        """Never: a file's types are believed."""
        del have, want
        return False


LOSSLESS = LosslessTypes()
_UNITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_DECIMAL_DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}  # of the integers of so many bits
_WHOLE_BITS = {16: 11, 32: 24, 64: 53}  # of a floating-point number of so many bits


def _holds_integers(have: pa.DataType, want: pa.DataType) -> bool:
    signed = pa.types.is_signed_integer(have)
    if pa.types.is_integer(want):
        wider = want.bit_width > have.bit_width
        return bool(wider and (not signed or pa.types.is_signed_integer(want)))
    if pa.types.is_floating(want):
        return bool(have.bit_width - signed <= _WHOLE_BITS[want.bit_width])
    if pa.types.is_decimal(want):
        return bool(want.precision - want.scale >= _DECIMAL_DIGITS[have.bit_width])
    return False


def resolve_batch(
    batch: pa.RecordBatch,
    schema: pa.Schema,
    rules: TypeRules,
    source: str,
    leaf: Leaf | None = None,
) -> pa.RecordBatch:
    """The columns of `schema` in its order and types; a column the file lacks is null.

    `leaf` gives values, not nested ones, the type that the file's format has no word for.
    """
    check_texts(batch, source)
    if batch.schema.equals(schema):
        return batch
    columns = []
    for field in schema:
        index = batch.schema.get_field_index(field.name)
        if index < 0:
            columns.append(pa.nulls(batch.num_rows, field.type))
        else:
            columns.append(resolve_column(batch.column(index), field, rules, source, leaf))
    if not columns:
        return batch.select([])
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def resolve_column(
    column: pa.Array, field: pa.Field, rules: TypeRules, source: str, leaf: Leaf | None = None
) -> pa.Array:
    """One column in the table's type. Fields of structs are found by name; a missing one is null.

    Args:
        column: as the file has it.
        field: as the table has it.
        rules: which types become which.
        source: the file, for messages.
        leaf: as `resolve_batch` takes it.
    """
    return _Resolver(rules, source, leaf).resolve(column, field.type, field.name)


class _Resolver:
    """Follows a file's type and the table's side by side."""

    def __init__(self, rules: TypeRules, source: str, leaf: Leaf | None) -> None:
        self._rules = rules
        self._source = source
        self._leaf = leaf

    def resolve(self, column: pa.Array, want: pa.DataType, name: str) -> pa.Array:
        have = column.type
        if have.equals(want):
            return column
        if pa.types.is_struct(have) and pa.types.is_struct(want):
            return self._struct(column, want, name)
        if pa.types.is_list(have) and pa.types.is_list(want):
            items = self.resolve(column.values, want.value_type, f"{name}.element")
            return with_children(column, want, items)
        if pa.types.is_map(have) and pa.types.is_map(want):
            keys = self.resolve(column.keys, want.key_type, f"{name}.key")
            items = self.resolve(column.items, want.item_type, f"{name}.value")
            entries = pa.StructArray.from_arrays(
                [keys, items], fields=[want.key_field, want.item_field]
            )
            return with_children(column, want, entries)
        return self._value(column if self._leaf is None else self._leaf(column, want), want, name)

    def _value(self, column: pa.Array, want: pa.DataType, name: str) -> pa.Array:
        have = column.type
        if have.equals(want):
            return column
        if _only_more_digits(have, want):
            return pa.Array.from_buffers(
                want, len(column), column.buffers(), column.null_count, column.offset
            )
        if pa.types.is_null(have):  # Parquet's type of a column that has no value
            return pa.nulls(len(column), want)
        if pa.types.is_fixed_size_binary(have) and pa.types.is_binary(want):
            return pc.cast(column, want)
        if self._rules.relabels(have, want):
            numbers = pa.int32() if want.bit_width == 32 else pa.int64()
            return pc.cast(pc.cast(column, numbers), want)
        if not self._rules.promotes(have, want):
            known = not any(test(have) for test in _FOREIGN)
            raise (InputError if known else RefusedError)(
                f"{self._source}: column '{name}' is {have}, which does not promote to the table's "
                f"{want}"
            )
        try:
            return self._rules.promote(column, want)
        except ValueError as error:  # pyarrow's own are among them
            raise InputError(
                f"{self._source}: column '{name}' does not fit {want} ({error})"
            ) from error

    def _struct(self, column: pa.StructArray, want: pa.StructType, name: str) -> pa.StructArray:
        children, count = [], column.type.num_fields
        # What stands below a null struct is not a value: it need be no number, nor date.
        fields = column.flatten() if column.null_count else [column.field(i) for i in range(count)]
        for field in want:
            index = column.type.get_field_index(field.name)
            if index < 0:
                children.append(pa.nulls(len(column), field.type))
            else:
                inner = f"{name}.{field.name}"
                children.append(self.resolve(fields[index], field.type, inner))
        mask = column.is_null() if column.null_count else None
        return pa.StructArray.from_arrays(children, fields=list(want), mask=mask)


def with_children(column: pa.Array, want: pa.DataType, child: pa.Array) -> pa.Array:
    """The same lists or maps over other items."""
    return pa.Array.from_buffers(
        want,
        len(column),
        column.buffers()[:2],
        column.null_count,
        column.offset,
        children=[child],
    )


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
