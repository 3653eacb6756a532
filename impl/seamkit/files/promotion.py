"""From a file's columns to the table's: by name, at any depth, by the type rules of a table format.

A file carries the schema of its writer; the table's schema decides what readers see.

Decimals that Parquet files hold as bytes of one length are turned by the core: pyarrow makes a
decimal of such bytes value by value, which takes longer than all that it does to find them. Where
the footer does not say that a column is one of decimals, it hands out the bytes: so columns are
read by a footer that leaves it out; see `private_forms.py`. Writers of such bytes are those that go
by Avro schemas, Hudi's among them, and Hive.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from seambase.errors import InputError, RefusedError
from seamkit.core._seam import ffi, lib
from seamkit.core.border import numpy_of
from seamkit.files.footers.rewriting import Field, rewritten
from seamkit.files.private_forms import PrivateForm
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

    def promote(self, column: pa.Array, want: pa.DataType) -> pa.Array:
        """The column in the other type; called where `promotes` says so.

        Raises:
            NotImplementedError: the format does so, but what it makes of a value is not known here.
        """

    def relabels(self, have: pa.DataType, want: pa.DataType) -> bool:
        """Whether a file's numbers are the table's as they stand, under another type's name."""


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
        return is_text_or_bytes(have) and is_text_or_bytes(want)

    def promote(self, column: pa.Array, want: pa.DataType) -> pa.Array:
        """The values in the wider type.

        Digits below an INT96's unit are cut off towards 1970, as Spark does where Arrow, up to
        its release 22, counted times of day back from midnight.
        """
        have = column.type
        if pa.types.is_timestamp(have) and pa.types.is_timestamp(want):
            return pc.cast(in_unit(column, want.unit), want)
        return pc.cast(column, want)

    def relabels(self, have: pa.DataType, want: pa.DataType) -> bool:
        """Never: a file's types are believed."""
        del have, want
        return False


class TimesAsNumbers(LosslessTypes):
    """For files whose format has no word for a time of day, as ORC: beside the rules of a table."""

    def relabels(self, have: pa.DataType, want: pa.DataType) -> bool:
        """Integers of its width are a time of day."""
        if not pa.types.is_time(want):
            return super().relabels(have, want)
        return bool(pa.types.is_integer(have) and have.bit_width == want.bit_width)


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


@dataclass
class _Resolver:
    """Follows a file's type and the table's side by side."""

    rules: TypeRules
    source: str
    leaf: Leaf | None

    def resolve(self, column: pa.Array, want: pa.DataType, name: str) -> pa.Array:
        have = column.type
        if have.equals(want):
            return column
        if pa.types.is_struct(have) and pa.types.is_struct(want):
            return self._struct(column, want, name)
        if pa.types.is_list(have) and pa.types.is_list(want):
            items = self.resolve(column.values, want.value_type, f"{name}.element")
            return with_inner(column, want, [items])
        if pa.types.is_map(want) and (pa.types.is_map(have) or is_pairs(have)):
            if pa.types.is_map(have):
                keys, items = column.keys, column.items
            else:
                keys, items = column.values.flatten()
                if keys.null_count or column.values.null_count:
                    raise InputError(f"{self.source}: column '{name}' has a null for a map's key")
            keys = self.resolve(keys, want.key_type, f"{name}.key")
            items = self.resolve(items, want.item_type, f"{name}.value")
            return with_inner(column, want, [keys, items])
        return self._value(column if self.leaf is None else self.leaf(column, want), want, name)

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
        relabels = self.rules.relabels(have, want)
        if not relabels and not self.rules.promotes(have, want):
            known = not any(test(have) for test in _FOREIGN)
            raise (InputError if known else RefusedError)(
                f"{self.source}: column '{name}' is {have}, which does not promote to the table's "
                f"{want}"
            )
        try:
            if relabels:
                numbers = pa.int32() if want.bit_width == 32 else pa.int64()
                return pc.cast(pc.cast(column, numbers), want)
            return self.rules.promote(column, want)
        except NotImplementedError as error:
            raise RefusedError(
                f"{self.source}: column '{name}' is {have}, and the table's is {want}: {error}"
            ) from error
        except ValueError as error:  # pyarrow's own are among them
            raise InputError(
                f"{self.source}: column '{name}' does not fit {want} ({error})"
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
        return with_inner(column, want, children)


def is_pairs(kind: pa.DataType) -> bool:
    """Whether a type is what Avro has for maps whose keys are no texts: lists of pairs."""
    if not pa.types.is_list(kind) or not pa.types.is_struct(kind.value_type):
        return False
    return [one.name for one in kind.value_type] == ["key", "value"]


def of_length(length: int, is_filled: bool, texts: pa.Array) -> pa.Array:
    """Texts cut to a length in characters, and filled up to it with blanks if that is asked."""
    cut = pc.utf8_slice_codeunits(texts, 0, length)
    return pc.utf8_rpad(cut, length) if is_filled else cut


def inner_of(column: pa.Array) -> Sequence[pa.Array]:
    """The fields of structs, null where these are; the keys and items of maps, items of lists."""
    if pa.types.is_struct(column.type):
        return list(column.flatten())
    return [column.keys, column.items] if pa.types.is_map(column.type) else [column.values]


def with_inner(column: pa.Array, want: pa.DataType, inner: Sequence[pa.Array]) -> pa.Array:
    """The same structs, lists or maps of other values: of fields, of items, of keys and items."""
    if not inner:  # structs without fields have a length all the same
        validity = column.buffers()[:1]
        return pa.Array.from_buffers(want, len(column), validity, column.null_count, column.offset)
    if pa.types.is_struct(want):
        mask = column.is_null() if column.null_count else None
        return pa.StructArray.from_arrays(inner, fields=list(want), mask=mask)
    child = inner[0]
    if pa.types.is_map(want):
        child = pa.StructArray.from_arrays(inner, fields=[want.key_field, want.item_field])
    validity_and_ends = column.buffers()[:2]
    return pa.Array.from_buffers(
        want, len(column), validity_and_ends, column.null_count, column.offset, children=[child]
    )


def _only_more_digits(have: pa.DataType, want: pa.DataType) -> bool:
    """The same bits serve: a decimal that may have more digits before the point."""
    return bool(
        pa.types.is_decimal128(have)
        and pa.types.is_decimal128(want)
        and have.scale == want.scale
        and have.precision <= want.precision
    )


def in_unit(times: pa.Array, unit: str) -> pa.Array:
    """Times in a unit, digits below it cut off towards 1970; ValueError beyond its 64 bits."""
    kind = pa.timestamp(unit, times.type.tz)
    return pc.cast(times, options=pc.CastOptions(kind, allow_time_truncate=True))


def cut_times(times: pa.Array, unit: str) -> pa.Array:
    """Times in a unit, without their zone; digits below it are cut off.

    Before 1970, too, that makes a time an earlier one, as for Java's readers.
    """
    plain = pc.cast(times, pa.timestamp(times.type.unit))
    cut = in_unit(plain, unit)
    if _UNITS[unit] >= _UNITS[plain.type.unit]:
        return cut
    least = pc.min(plain)
    if least.is_valid and least.value < 0:
        is_later = pc.greater(pc.cast(cut, plain.type), plain)
        cut = pc.subtract(pc.cast(cut, pa.int64()), pc.cast(is_later, pa.int64())).view(cut.type)
    return cut


def is_text_or_bytes(kind: pa.DataType) -> bool:
    """Whether values are texts or bytes, of any length: writers differ in what they call texts."""
    tests = (pa.types.is_string, pa.types.is_binary, pa.types.is_large_string)
    return any(test(kind) for test in tests)


def has_within(test: Callable[[pa.DataType], bool], kind: pa.DataType) -> bool:
    """Whether a type is of some kind, or has one within it."""
    if pa.types.is_nested(kind):
        return any(has_within(test, kind.field(i).type) for i in range(kind.num_fields))
    return bool(test(kind))


def java_text(column: pa.Array) -> pa.Array:
    """The column's values as text, as `String.valueOf` gives it.

    Integers, dates and decimals have one plain form. Floating point follows `Double.toString`: the
    shortest digits that read back as the same number, with a point, and with an exponent below
    1e-3 and from 1e7 on.
    """
    if not pa.types.is_floating(column.type):
        return pc.cast(column, pa.string())
    present = column.is_valid().to_pylist()
    texts = [
        _floating(value) if valid else None
        for value, valid in zip(numpy_of(column), present, strict=True)
    ]
    return pa.array(texts, pa.string())


def _floating(value: np.floating) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    size = abs(value)
    if size == 0 or 1e-3 <= size < 1e7:
        return str(np.format_float_positional(value, unique=True, trim="0"))
    text = np.format_float_scientific(value, unique=True, trim="0", exp_digits=1)
    return str(text).replace("e+", "E").replace("e", "E")


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


_MOST_BYTES = 16  # of a decimal of 128 bits
# A footer is read once more. Below so many rows for its size that costs more than is gained.
_BYTES_A_ROW = 8

# Fields of a column in a footer: converted type, scale, precision and logical type.
_OF_DECIMALS = frozenset((6, 7, 8, 10))


def byte_decimals(footer: pq.FileMetaData) -> dict[str, pa.DataType]:
    """Columns of decimals that are stored as bytes and worth to be read so, with their types."""
    if footer.serialized_size > _BYTES_A_ROW * footer.num_rows:
        return {}
    found = _byte_decimals(footer)
    return found if found and DECIMALS.is_open else {}


def _byte_decimals(footer: pq.FileMetaData) -> dict[str, pa.DataType]:
    columns = (footer.schema.column(i) for i in range(footer.num_columns))
    stored = {
        column.path
        for column in columns
        if column.physical_type == "FIXED_LEN_BYTE_ARRAY" and 0 < column.length <= _MOST_BYTES
    }
    # A name with a dot in it may be the path of a column within another.
    return {
        field.name: field.type
        for field in footer.schema.to_arrow_schema()
        if pa.types.is_decimal128(field.type) and field.name in stored and "." not in field.name
    }


def footer_of_bytes(footer: pq.FileMetaData, names: Collection[str]) -> pq.FileMetaData | None:
    """The footer of a file without a word of some columns being decimals.

    They are top-level columns of bytes of one length. None where pyarrow writes footers, or reads
    this one, otherwise than is known here.
    """

    def change(name: str, depth: int, fields: Sequence[Field]) -> Sequence[Field]:
        drop = depth == 1 and name in names
        return [one for one in fields if not (drop and one[0] in _OF_DECIMALS)]

    changed = rewritten(footer, change)
    if changed is None:
        return None
    kinds = changed.schema.to_arrow_schema()
    are_bytes = all(pa.types.is_fixed_size_binary(kinds.field(name).type) for name in names)
    return changed if are_bytes else None


def decimals_of(batch: pa.RecordBatch, kinds: Mapping[str, pa.DataType]) -> pa.RecordBatch:
    """A batch read by a footer of bytes, with decimals of these types by column."""
    for number, name in enumerate(batch.schema.names):
        if name in kinds and pa.types.is_fixed_size_binary(batch.schema.field(name).type):
            column = _decimals(batch.column(number), kinds[name])
            batch = batch.set_column(number, pa.field(name, column.type), column)
    return batch


def _decimals(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """The same numbers in a writable buffer of their own."""
    n, begin, width = len(column), column.offset, column.type.byte_width
    validity, stored = column.buffers()
    values = pa.allocate_buffer(16 * (begin + n))
    if n:
        lib.seam_decimals_of_bytes(
            ffi.cast("uint8_t *", stored.address) + begin * width,
            width,
            n,
            ffi.cast("uint8_t *", values.address) + 16 * begin,
        )
    return pa.Array.from_buffers(kind, begin + n, [validity, values]).slice(begin)


def _trial() -> bool:
    """Whether a file of decimals is read as bytes by another footer, and turned into the same."""
    kind = pa.decimal128(20, 2)
    table = pa.table({"d": pa.array([Decimal("-1.25"), None, Decimal("3e17")], kind)})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    file = pq.ParquetFile(pa.BufferReader(sink.getvalue()))
    footer = footer_of_bytes(file.metadata, _byte_decimals(file.metadata))
    if footer is None:
        return False
    read = pq.ParquetFile(pa.BufferReader(sink.getvalue()), metadata=footer).read()
    [batch] = read.to_batches()
    is_bytes = pa.types.is_fixed_size_binary(batch.column(0).type)
    return is_bytes and bool(decimals_of(batch, {"d": kind}).column(0).equals(table["d"].chunk(0)))


DECIMALS = PrivateForm("decimals", "decimals that are stored as bytes are read more slowly", _trial)
