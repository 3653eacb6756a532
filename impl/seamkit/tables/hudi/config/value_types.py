"""Hudi's type rules: what a column of a file may become in the table (docs/hudi.md, "Schema").

`ALTER TABLE ... ALTER COLUMN ... TYPE` with `hoodie.schema.on.read.enable` lets columns of numbers
or texts become decimals and dates. Hudi 1.2.0 goes by the text of a value as Java writes it (0.3f
is 0.3), rounds half up what a decimal has no digits for, and gives null where its digits do not
suffice; in base files under merge-on-read it goes by the double that a float equals, which rounds
some halves down. A text that is no number or date is null in its base files and an error in its
logs; here it is an error.

A VECTOR (1.2.0) is an array of numbers to whoever reads it, and in files bytes of one length: the
numbers, the lowest byte first. Base files in Lance have lists of one length instead.
"""

from __future__ import annotations

import datetime as dt
import re
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError
from seambase.wording import counted
from seamkit.avro.schema import AvroType, arrow_schema
from seamkit.files.promotion import in_unit, is_text_or_bytes, java_text

_DIGITS = Context(prec=400)
_INT64_DIGITS = 19
_MOST_DIGITS = 38
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")


def becomes(have: pa.DataType, want: pa.DataType) -> bool:
    """Whether a column of one type may have turned into one of the other in this way."""
    if pa.types.is_decimal128(want):
        numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_string)
        return any(test(have) for test in numbers)
    return bool(pa.types.is_date32(want) and pa.types.is_string(have))


def cast_as_java(column: pa.Array, want: pa.DataType) -> pa.Array:
    """Integers, floats, doubles or texts as the decimal, or texts as the date, that they became."""
    if pa.types.is_date32(want):
        days = [None if text is None else _date(text) for text in column.to_pylist()]
        return pa.array(days, want)
    digits = _INT64_DIGITS + want.scale
    if pa.types.is_integer(column.type) and digits <= _MOST_DIGITS:
        return _narrowed(pc.cast(column, pa.decimal128(digits, want.scale)), want)
    texts = java_text(column).to_pylist()
    found = [None if text is None else _decimal(text, want) for text in texts]
    return pa.array(found, want)


def _narrowed(column: pa.Array, want: pa.Decimal128Type) -> pa.Array:
    """Decimals of the same scale; null where the digits do not suffice."""
    if want.precision < column.type.precision:
        limit = pa.scalar(Decimal(10) ** (want.precision - want.scale), column.type)
        fits = pc.less(pc.abs(column), limit)
        column = pc.if_else(fits, column, pa.scalar(None, column.type))
    return pa.Array.from_buffers(
        want, len(column), column.buffers(), column.null_count, column.offset
    )


def _decimal(text: str, want: pa.Decimal128Type) -> Decimal | None:
    try:
        exact = Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text!r} is no number") from None
    if not exact.is_finite():
        return None
    if exact.adjusted() >= want.precision - want.scale and exact:
        return None
    rounded = exact.quantize(Decimal(1).scaleb(-want.scale), ROUND_HALF_UP, _DIGITS)
    return None if rounded.adjusted() >= want.precision - want.scale and rounded else rounded


def _date(text: str) -> dt.date:
    match = _DATE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no date")
    year, month, day = (int(part or 1) for part in match.groups())
    return dt.date(year, month, day)


_ELEMENTS = {"FLOAT": pa.float32(), "DOUBLE": pa.float64(), "INT8": pa.int8()}


def shown_schema(avro: AvroType, where: str) -> pa.Schema:
    """The Arrow schema of an Avro one, whose vectors, if it has any, are lists."""
    schema = arrow_schema(avro)
    for number, (name, child) in enumerate(zip(avro.names, avro.children, strict=True)):
        kind = child.value_type()
        if kind.attributes.get("logicalType") == "vector":
            field = schema.field(number).with_type(_vector(kind, f"{where}: column '{name}'"))
            schema = schema.set(number, field)
    return schema


def _vector(avro: AvroType, what: str) -> pa.DataType:
    words = ("dimension", "elementType", "storageBacking")
    count, kind, backing = (avro.attributes.get(word) for word in words)
    element = _ELEMENTS.get(str(kind).upper())
    if element is None or str(backing).upper() != "FIXED_BYTES":
        raise RefusedError(
            f"{what} is a vector of {kind!r} in {backing!r}; FLOAT, DOUBLE and INT8 in FIXED_BYTES "
            "are known"
        )
    if not isinstance(count, int) or count * element.bit_width != avro.size * 8:
        raise InputError(
            f"{what} is a vector of {count!r} {kind}, which do not fill "
            f"{counted(avro.size, 'byte')}"
        )
    return pa.list_(pa.field("element", element, nullable=False))


def _is_vector(have: pa.DataType, want: pa.DataType) -> bool:
    """Whether bytes of one length, or a list of one length, may be a vector of these numbers."""
    if not pa.types.is_list(want) or want.value_type not in _ELEMENTS.values():
        return False
    if pa.types.is_fixed_size_list(have):
        return bool(have.value_type == want.value_type)
    return bool(
        pa.types.is_fixed_size_binary(have) and have.byte_width * 8 % want.value_type.bit_width == 0
    )


def _numbers(column: pa.Array, want: pa.ListType) -> pa.Array:
    """Vectors as the lists that they are; a null's bytes are no numbers."""
    if pa.types.is_fixed_size_list(column.type):
        return pc.cast(column, want)
    present = column.drop_null()
    of_one = column.type.byte_width * 8 // want.value_type.bit_width
    first = present.offset * of_one
    buffers = [None, present.buffers()[1]]
    items = pa.Array.from_buffers(want.value_type, first + len(present) * of_one, buffers)
    ends = np.concatenate(([0], np.cumsum(column.is_valid(), dtype=np.int64))) * of_one
    gone = np.append(column.is_null(), False) if column.null_count else None
    offsets = pa.array(ends, pa.int32(), mask=gone)
    return pa.ListArray.from_arrays(offsets, items.slice(first), type=want)


class HudiTypes:
    """The promotions of Hudi 1.2.0: a `seamkit.files.promotion.TypeRules`."""

    floats_by_text = True

    def promotes(self, have: pa.DataType, want: pa.DataType) -> bool:
        """Whether Hudi reads values of one type, not a nested one, as values of another."""
        if becomes(have, want) or _is_vector(have, want):
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
        return is_text_or_bytes(have) and is_text_or_bytes(want)

    def promote(self, column: pa.Array, want: pa.DataType) -> pa.Array:
        """The column in the table's type."""
        have = column.type
        if pa.types.is_string(want) and not is_text_or_bytes(have):
            return java_text(column)
        if pa.types.is_list(want):
            return _numbers(column, want)
        if becomes(have, want):
            return cast_as_java(column, want)
        if pa.types.is_float32(have) and pa.types.is_float64(want):
            # Hudi widens a float by its decimal text: 0.3f becomes 0.3.
            return pc.cast(pc.cast(column, pa.string()), want)
        if pa.types.is_integer(have) and pa.types.is_floating(want):
            return pc.cast(column, want, safe=False)  # as Java rounds, beyond 2**53 (2**24) too
        if pa.types.is_timestamp(have):
            return pc.cast(in_unit(column, want.unit), want)
        return pc.cast(column, want)

    def relabels(self, have: pa.DataType, want: pa.DataType) -> bool:
        """Whether a file's numbers are the table's, under a label that older writers put wrongly.

        Hudi before 1.1 wrote milliseconds as microseconds, and local timestamps as plain longs;
        Hudi 1.2.0 believes the table's schema in just these cases (`HoodieSchemaRepair`). INT96
        comes as microseconds without a zone, and is an instant.
        """
        if not pa.types.is_timestamp(want):
            return False
        if pa.types.is_timestamp(have):
            if have.tz == want.tz:
                return bool((have.unit, want.unit) == ("us", "ms"))
            return bool(have == pa.timestamp("us") and want == pa.timestamp("us", "UTC"))
        return bool(pa.types.is_int64(have) and want.tz is None)


class HudiOrcTypes(HudiTypes):
    """Those of base files in ORC, which has no words for some of Avro's types.

    Hudi 1.2.0 writes the numbers of times and local timestamps (`AvroOrcUtils`). It loses the
    milliseconds of timestamps when it writes them (2000-07-01 12:00:00.123456 becomes
    12:00:00.000456), and what is gone stays gone.
    """

    def relabels(self, have: pa.DataType, want: pa.DataType) -> bool:
        """Also integers that stand for times of the same width."""
        of_time = pa.types.is_time(want) or pa.types.is_timestamp(want)
        if of_time and pa.types.is_integer(have) and have.bit_width == want.bit_width:
            return True
        return super().relabels(have, want)


HUDI_TYPES = HudiTypes()
HUDI_ORC_TYPES = HudiOrcTypes()
