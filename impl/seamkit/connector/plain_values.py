"""Plain Python rows of one file, turned into the table's types: the connector path's own evolution.

It shares nothing with `resolve`, which does the same for columns, so each is a witness for the
other (docs/hudi.md, "Schema").
"""

from __future__ import annotations

import datetime as dt
import math
import struct
import uuid
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import numpy as np
import pyarrow as pa

from seambase.errors import InputError
from seamkit.files.promotion import is_pairs

Convert = Callable[[Any], Any]


def row_converter(
    have: Mapping[str, pa.DataType], wanted: pa.Schema, source: str
) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """A function that turns a file's rows into the table's, None for a column that it lacks."""
    converters: list[tuple[str, Convert]] = []
    for field in wanted:
        kind = have.get(field.name)
        if kind is not None:
            convert = _converter(kind, field.type, field.name, source)
            converters.append((field.name, convert))
    names = wanted.names

    def turn(row: Mapping[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = dict.fromkeys(names)
        for name, convert in converters:
            value = row[name]
            result[name] = None if value is None else convert(value)
        return result

    return turn


def _same(value: Any) -> Any:
    return value


def _converter(have: pa.DataType, want: pa.DataType, name: str, source: str) -> Convert:
    """Turns values other than None."""
    if pa.types.is_struct(have) and pa.types.is_struct(want):
        return _struct(have, want, name, source)
    if pa.types.is_list(have) and pa.types.is_list(want):
        item = _or_none(_converter(have.value_type, want.value_type, f"{name}.element", source))
        return lambda value: [item(x) for x in value]
    if pa.types.is_map(have) and pa.types.is_map(want):
        inner = _or_none(_converter(have.item_type, want.item_type, f"{name}.value", source))
        return lambda value: {k: inner(v) for k, v in entries_of(value)}
    if is_pairs(have) and pa.types.is_map(want):
        entry = pa.struct([want.key_field.with_name("key"), want.item_field.with_name("value")])
        return _map(_struct(have.value_type, entry, name, source), name, source)
    vector = pa.types.is_fixed_size_binary(have) and pa.types.is_list(want)
    convert = _vector(have, want.value_type) if vector else _leaf(have, want)
    if convert is None:
        raise InputError(
            f"{source}: column '{name}' is {have}, which does not promote to the table's {want}"
        )
    parsed = pa.types.is_string(have) and (pa.types.is_decimal(want) or pa.types.is_date32(want))
    return (
        _checked(convert, f"{source}: column '{name}' does not fit {want}") if parsed else convert
    )


def _vector(have: pa.FixedSizeBinaryType, item: pa.DataType) -> Convert | None:
    """Numbers that lie one behind the other, as Hudi keeps its vectors."""
    letter = {"float": "f", "double": "d", "int8": "b"}.get(str(item))
    if letter is None or have.byte_width * 8 % item.bit_width:
        return None
    form = struct.Struct(f"<{have.byte_width * 8 // item.bit_width}{letter}")
    return lambda value: list(form.unpack(value))


def _map(convert: Convert, name: str, source: str) -> Convert:
    def turn(pairs: Sequence[Mapping[str, Any] | None]) -> Any:
        found = {}
        for pair in pairs:
            if pair is None or pair["key"] is None:
                raise InputError(f"{source}: column '{name}' has a null for a map's key")
            own = convert(pair)
            found[own["key"]] = own["value"]
        return found

    return turn


def _checked(convert: Convert, problem: str) -> Convert:
    def turn(value: str) -> Any:
        try:
            return convert(value)
        except (ValueError, ArithmeticError) as error:
            raise InputError(f"{problem} ({value!r})") from error

    return turn


def _or_none(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def entries_of(value: Mapping[str, Any] | Sequence[tuple[str, Any]]) -> Any:
    """Entries of a map: fastavro makes a dictionary, pyarrow a list of pairs."""
    return value.items() if isinstance(value, Mapping) else value


def _struct(have: pa.StructType, want: pa.StructType, name: str, source: str) -> Convert:
    fields: list[tuple[str, Convert | None]] = []
    for field in want:
        index = have.get_field_index(field.name)
        convert = None
        if index >= 0:
            kind = have.field(index).type
            convert = _or_none(_converter(kind, field.type, f"{name}.{field.name}", source))
        fields.append((field.name, convert))
    return lambda value: {n: None if turn is None else turn(value[n]) for n, turn in fields}


def _leaf(have: pa.DataType, want: pa.DataType) -> Convert | None:
    whole = pa.types.is_integer(have)
    if pa.types.is_string(want):
        return _to_text(have)
    if have.equals(want):
        return _same
    if pa.types.is_binary(want):
        return str.encode if pa.types.is_string(have) else _same if _is_bytes(have) else None
    if pa.types.is_float64(want) and pa.types.is_float32(have):
        return lambda value: float(str(np.float32(value)))  # by its decimal text: 0.3, as Hudi does
    if whole and pa.types.is_float32(want):
        return lambda value: float(np.float32(value))
    if whole and pa.types.is_float64(want):
        return float
    if pa.types.is_timestamp(want):
        return _timestamp(have, want)
    if pa.types.is_date32(want) and pa.types.is_string(have):
        return _to_date
    if pa.types.is_decimal(want) and not pa.types.is_decimal(have):
        return _to_decimal(have, want)
    wider = whole and pa.types.is_integer(want) and have.bit_width <= want.bit_width
    return _same if wider or _is_wider_decimal(have, want) else None


def _timestamp(have: pa.DataType, want: pa.TimestampType) -> Convert | None:
    """Coarser and finer units; numbers that older writers labelled wrongly, or not (Hudi 1.2.0)."""
    epoch = dt.datetime(1970, 1, 1, tzinfo=None if want.tz is None else dt.UTC)
    unit = dt.timedelta(milliseconds=1) if want.unit == "ms" else dt.timedelta(microseconds=1)
    if pa.types.is_int64(have) and want.tz is None:
        return lambda value: epoch + value * unit
    if have == pa.timestamp("us", want.tz) and want.unit == "ms":
        return lambda value: epoch + (value - epoch) // dt.timedelta(microseconds=1) * unit
    if pa.types.is_timestamp(have) and have.unit == "ns" and want == pa.timestamp("us"):
        return _microseconds if have.tz is None else None
    if have in (pa.timestamp("ns"), pa.timestamp("us")) and want == pa.timestamp("us", "UTC"):
        return _instant
    return _same if have == pa.timestamp("ms", want.tz) and want.unit == "us" else None


def _microseconds(value: Any) -> dt.datetime:
    """A time of the clock; pyarrow may have made it a pandas one, for its nanoseconds."""
    day = dt.datetime(value.year, value.month, value.day, value.hour, value.minute, value.second)
    return day.replace(microsecond=value.microsecond)


def _instant(value: Any) -> dt.datetime:
    """Spark's INT96 are instants in UTC, and come without a zone."""
    return _microseconds(value).replace(tzinfo=dt.UTC)


def _is_wider_decimal(have: pa.DataType, want: pa.DataType) -> bool:
    return bool(
        pa.types.is_decimal(have)
        and pa.types.is_decimal(want)
        and want.scale >= have.scale
        and want.precision - want.scale >= have.precision - have.scale
    )


def _to_date(value: str) -> dt.date:
    """Texts of dates may leave out zeros, the day, and the month."""
    parts = [int(part) for part in value.strip().split("-")]
    year, month, day = [*parts, 1, 1][:3]
    return dt.date(year, month, day)


def _to_decimal(have: pa.DataType, want: pa.Decimal128Type) -> Convert | None:
    """Rounded half up, by the text of the value; None where the digits do not suffice."""
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_string)
    if not any(test(have) for test in numbers):
        return None
    unit, limit = Decimal(1).scaleb(-want.scale), Decimal(10) ** (want.precision - want.scale)
    short = pa.types.is_float32(have)

    def turn(value: float | str) -> Decimal | None:
        if isinstance(value, float) and not math.isfinite(value):
            return None
        with localcontext(prec=400, rounding=ROUND_HALF_UP):
            exact = Decimal(str(np.float32(value) if short else value).strip())
            rounded = exact.quantize(unit) if abs(exact) < limit else limit
        return rounded if abs(rounded) < limit else None

    return turn


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind))


def _to_text(have: pa.DataType) -> Convert | None:
    if pa.types.is_string(have):
        return lambda value: str(value) if isinstance(value, uuid.UUID) else value
    if pa.types.is_binary(have):
        return lambda value: bytes(value).decode()
    if pa.types.is_integer(have):
        return str
    if pa.types.is_floating(have):
        return lambda value: floating_text(value, have)
    if pa.types.is_date32(have):
        return dt.date.isoformat
    return "{:f}".format if pa.types.is_decimal(have) else None


def floating_text(value: float, kind: pa.DataType) -> str:
    """What Java makes of a float or double: the shortest digits that read back as the same."""
    return _java_floating(str(np.float32(value)) if pa.types.is_float32(kind) else value)


def _java_floating(value: float | str) -> str:
    """`Double.toString`: plain from 1e-3 up to 1e7, otherwise with an exponent."""
    # It is given the number, or the shortest text that reads back as it.
    number = float(value)
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    sign, digits, exponent = Decimal(value if isinstance(value, str) else repr(value)).as_tuple()
    text = "".join(map(str, digits)).rstrip("0") or "0"
    point = len(digits) + int(exponent)  # digits before the point
    minus = "-" if sign else ""
    if number == 0:
        return f"{minus}0.0"
    if 1e-3 <= abs(number) < 1e7:
        padded = text.rjust(len(text) + 1 - min(point, 1), "0") if point < 1 else text
        before = padded[: max(point, 1)].ljust(max(point, 1), "0")
        return f"{minus}{before}.{padded[max(point, 1) :] or '0'}"
    return f"{minus}{text[0]}.{text[1:] or '0'}E{point - 1}"


def alike(value: Any) -> Any:
    """A value by which others are found that are the same: NaN is NaN, and zero has two signs."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else (value, math.copysign(1.0, value))
    if isinstance(value, Mapping):
        return tuple((name, alike(part)) for name, part in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(alike, value))
    return value
