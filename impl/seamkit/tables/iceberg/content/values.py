"""Single values outside of files: bounds in manifests, defaults in schemas, partition values."""

from __future__ import annotations

import datetime as dt
import struct
import uuid
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError

__all__ = ["bound_value", "default_value", "partition_value"]

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_WHOLE_BYTES = {4: "<i", 8: "<q"}


def bound_value(data: bytes, kind: pa.DataType) -> pa.Scalar | None:
    """A lower or upper bound (the specification's "Binary single-value serialization").

    Bounds of a column that was widened since have the narrow form.

    Args:
        data: its bytes.
        kind: of the column.

    Returns:
        None where it is none that could be relied on: numbers with a floating point among them,
        whose bounds say nothing of what is not a number.
    """
    tests = pa.types
    if tests.is_integer(kind) or tests.is_date32(kind) or tests.is_timestamp(kind):
        layout = _WHOLE_BYTES.get(len(data))
        if layout is None:
            return None
        [number] = struct.unpack(layout, data)
        if len(data) == 4 and tests.is_timestamp(kind):
            return None  # of a date that became a timestamp
        storage = pa.int32() if kind.bit_width == 32 else pa.int64()
        try:
            return pa.scalar(number, storage).cast(kind)
        except pa.ArrowException:
            return None
    if tests.is_decimal(kind) and 0 < len(data) <= 16:
        number = Decimal(int.from_bytes(data, "big", signed=True)).scaleb(-kind.scale)
        try:
            return pa.scalar(number, kind)
        except pa.ArrowException:
            return None
    if tests.is_string(kind):
        try:
            return pa.scalar(data.decode(), kind)
        except UnicodeDecodeError:
            return None
    return pa.scalar(data, kind) if kind == pa.binary() else None


def default_value(value: Any, kind: pa.DataType, where: str) -> pa.Scalar:
    """A default out of a schema (the specification's "JSON single-value serialization").

    Raises:
        InputError: it is no value of the type.
        RefusedError: a default of a nested type.
    """
    if pa.types.is_nested(kind):
        raise RefusedError(f"{where}: defaults of nested types are not supported")
    try:
        return _default(value, kind)
    except (ValueError, TypeError, InvalidOperation, OverflowError, pa.ArrowException) as error:
        raise InputError(f"{where}: the default {value!r} is no {kind}") from error


def _default(value: Any, kind: pa.DataType) -> pa.Scalar:
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        if isinstance(value, str) or isinstance(value, bool) != pa.types.is_boolean(kind):
            raise TypeError
        return pa.scalar(value, kind)
    if not isinstance(value, str):
        raise TypeError
    return _of_text(value, kind)


def _of_text(text: str, kind: pa.DataType) -> pa.Scalar:
    """A value whose JSON is a text."""
    tests = pa.types
    if tests.is_decimal(kind):
        return pc.cast(pa.scalar(Decimal(text)), kind)
    if tests.is_date32(kind):
        return pa.scalar(dt.date.fromisoformat(text), kind)
    if tests.is_time64(kind):
        return pa.scalar(dt.time.fromisoformat(text), kind)
    if tests.is_timestamp(kind):
        return _moment(text, kind)
    if tests.is_string(kind):
        return pa.scalar(text, kind)
    if tests.is_fixed_size_binary(kind) and "-" in text:
        return pa.scalar(uuid.UUID(text).bytes, kind)
    return pa.scalar(bytes.fromhex(text), kind)


def _moment(text: str, kind: pa.DataType) -> pa.Scalar:
    """A time with at most six digits below the second; Python knows no more."""
    moment = dt.datetime.fromisoformat(text)
    if (moment.tzinfo is None) != (kind.tz is None):
        raise ValueError
    moment = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    micros = (moment - _EPOCH) // dt.timedelta(microseconds=1)
    return pa.scalar(micros, pa.int64()).cast(pa.timestamp("us", kind.tz)).cast(kind)


def partition_value(value: Any, kind: pa.DataType, where: str) -> pa.Scalar:
    """A value of an identity partition field in the type of its column.

    Args:
        value: as a manifest's Avro gives it.
        kind: the column's type, which may be wider.
        where: file and column, for messages.

    Raises:
        InputError: it is no value of the type.
    """
    if isinstance(value, uuid.UUID):
        value = value.bytes
    try:
        if pa.types.is_timestamp(kind) and isinstance(value, int):  # nanoseconds
            return pa.scalar(value, pa.int64()).cast(kind)
        return pa.scalar(value, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{where}: the partition value {value!r} is no {kind}") from error
