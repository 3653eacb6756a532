"""What the footer of an ORC file says of the values of a column.

Statistics of a column count its values, nulls apart, and have a message for its kind of values with
the least and the greatest one (ORC specification v1, "Column Statistics"). Of whole numbers, days,
decimals and texts these are values of the column; floating-point numbers and moments, which writers
shift by their zone, are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

import pyarrow as pa

from seambase.errors import InputError
from seambase.wording import counted

_VALUES, _NUMBERS, _TEXTS, _DECIMALS, _DAYS = 1, 2, 4, 6, 7
Known = tuple[int | None, pa.Scalar | None, pa.Scalar | None]
"""How many nulls a column has, its least and its greatest value; None for what is not known."""


def varint(data: memoryview, at: int, where: str) -> tuple[int, int]:
    """The variable-length number at `at`, and where it ends."""
    value = 0
    for i, byte in enumerate(data[at : at + 10]):
        value |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            return value, at + i + 1
    raise InputError(f"{where}: a number at byte {at} does not end")


def fields(message: memoryview, where: str) -> Iterator[tuple[int, int | memoryview]]:
    """Numbers and values of a message's fields: whole numbers, or the bytes of anything longer."""
    at = 0
    while at < len(message):
        tag, at = varint(message, at, where)
        if tag & 7 == 0:
            number, at = varint(message, at, where)
            yield tag >> 3, number
        elif tag & 7 == 2:
            size, at = varint(message, at, where)
            if size > len(message) - at:
                raise InputError(f"{where}: a field claims {counted(size, 'byte')}")
            yield tag >> 3, message[at : at + size]
            at += size
        else:
            raise InputError(f"{where}: a field of wire type {tag & 7}")


def column_range(
    told: memoryview, kind: pa.DataType, rows: int, where: str, *, has_texts: bool = True
) -> Known:
    """How many nulls a column has that is not nested, and its least and greatest value.

    `has_texts`: ranges of texts can be relied on.
    """
    values: int | None = None
    ends: tuple[pa.Scalar | None, pa.Scalar | None] = None, None
    wanted = _message(kind) if has_texts or not pa.types.is_string(kind) else None
    for number, found in fields(told, where):
        if number == _VALUES and isinstance(found, int):
            values = found
        elif number == wanted and isinstance(found, memoryview):
            known = dict(fields(found, where))
            ends = _value(known.get(1), kind, where), _value(known.get(2), kind, where)
    if values is not None and values > rows:
        raise InputError(
            f"{where}: {counted(values, 'value')} in {counted(rows, 'row')}, as its statistics say"
        )
    nulls = None if values is None else rows - values
    return (nulls, *ends) if values else (nulls, None, None)


def _message(kind: pa.DataType) -> int | None:
    """The field that tells of values of a type; None where none is relied on."""
    tests = pa.types
    if tests.is_integer(kind):
        return _NUMBERS
    if tests.is_date32(kind):
        return _DAYS
    if tests.is_decimal128(kind):
        return _DECIMALS
    return _TEXTS if tests.is_string(kind) else None


def _value(found: int | memoryview | None, kind: pa.DataType, where: str) -> pa.Scalar | None:
    if found is None:
        return None
    try:
        if isinstance(found, int):
            value = found >> 1 ^ -(found & 1)
            wide = pa.int32() if pa.types.is_date32(kind) else pa.int64()
            return pa.scalar(value, wide).cast(kind)
        text = bytes(found).decode()
        return pa.scalar(Decimal(text) if pa.types.is_decimal128(kind) else text, kind)
    except (ValueError, OverflowError, InvalidOperation, pa.ArrowException) as error:
        raise InputError(f"{where}: its statistics are not readable ({error})") from error
