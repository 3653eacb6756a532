"""Values as keys that compare as the specification has them, whatever spells them.

A key is a number of days, microseconds or nanoseconds, of units of a decimal's last place, the
bytes of a text; of a float the number whose order is IEEE 754's `totalOrder`. NaN has none.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seambench.formats.iceberg.lint.types import TIMES, decimal_of, width_of
from seambench.formats.lint.values import ends, key, plain, unit_of, unscaled
from seambench.formats.murmur import of_bytes

Key = Any
NAN = "NaN"
_SIZES = {
    "boolean": (1,),
    "int": (4,),
    "date": (4,),
    "long": (4, 8),
    "float": (4,),
    "double": (4, 8),
}
_A_DAY = {"date": 1, "timestamp": 86400 * 10**6, "timestamp_ns": 86400 * 10**9}


def bound_key(kind: str, data: bytes) -> Key:
    """The key of a bound by Appendix D, also of a type that was promoted since.

    Raises:
        ValueError: it has not the type's length, or is NaN.
    """
    allowed = _SIZES.get(kind, (4, 8) if kind in ("timestamp", "timestamp_ns") else (8,))
    if kind in ("string", "binary"):
        return data
    if decimal_of(kind):
        allowed = tuple(range(1, 17))
    elif width_of(kind):
        allowed = (width_of(kind) or 0,)
    if len(data) not in allowed:
        raise ValueError(f"{len(data)} bytes are no {kind}")
    if width_of(kind):
        return data
    if kind in ("float", "double"):
        (value,) = struct.unpack("<f" if len(data) == 4 else "<d", data)
        if value != value:
            raise ValueError("it is NaN")
        return key(value)
    number = int.from_bytes(data, "big" if decimal_of(kind) else "little", signed=True)
    if kind == "boolean":
        return int(number != 0)
    return number * _A_DAY[kind] if len(data) == 4 and kind in TIMES else number


def stored_key(kind: str, value: Any) -> Key:
    """The key of a partition's value, as Avro stores it."""
    if isinstance(value, float):
        return NAN if value != value else key(value)
    if isinstance(value, bytes) and decimal_of(kind):
        return int.from_bytes(value, "big", signed=True)
    return value.encode() if isinstance(value, str) else value


@dataclass(frozen=True)
class Measured:
    """What a column's values come to; `low` and `high` are None where there is no value."""

    rows: int
    nulls: int
    nans: int
    low: Key
    high: Key
    distinct: Callable[[], set[Key]]


def measure(kind: str, values: pa.ChunkedArray) -> Measured:
    """Count and bound a column whose type is one of those that may become the kind."""
    numbers, nans = plain(values), 0
    if pa.types.is_floating(numbers.type):
        nans = pc.sum(pc.is_nan(numbers)).as_py() or 0
    into = partial(_key, kind, values.type)
    low, high = map(into, ends(values) or (None, None))
    several = partial(_distinct, into, values, numbers)
    return Measured(len(values), values.null_count, nans, low, high, several)


def _distinct(into: Callable[[Any], Key], values: pa.ChunkedArray, numbers: Any) -> set[Key]:
    """Keys of all values but nulls and NaN."""
    found = (unscaled(one, unit_of(values.type)) for one in numbers.unique().to_pylist())
    return {into(one) for one in found if one is not None and one == one}


def _key(kind: str, type_: pa.DataType, value: Any) -> Key:
    """A value in nanoseconds or days as one of the kind, which may be another than the file's."""
    if value is None:
        return None
    if kind in TIMES and pa.types.is_date(type_):
        return value * _A_DAY[kind.replace("tz", "")]
    if isinstance(value, bytes) and decimal_of(kind):  # as Avro has it
        return int.from_bytes(value, "big", signed=True)
    timed = unit_of(type_) > 1 or pa.types.is_timestamp(type_)
    micros = timed and kind in ("time", "timestamp", "timestamptz")
    return value // 1000 if micros else key(value)


_LEAST = {"int": -1 << 31, "long": -1 << 63}


def transformed(transform: str, kind: str, key: Key) -> Key:
    """The partition's key of a value's key, by a known transform."""
    name, _, given = transform.rstrip("]").partition("[")
    if name in ("identity", "void"):
        return key if name == "identity" else None
    if name == "truncate":
        if isinstance(key, int):  # an overflow wraps round, as in the writer's own arithmetic
            least, below = _LEAST.get(kind, -math.inf), key - key % int(given)
            return below if below >= least else below - 2 * int(least)
        return key.decode()[: int(given)].encode() if kind == "string" else key[: int(given)]
    if name == "bucket":
        return (of_bytes(_hashed(kind, key)) & 0x7FFFFFFF) % int(given)
    whole = _A_DAY[kind.replace("tz", "")]
    if name == "hour":
        return key // (whole // 24)
    day = key // whole
    unit = {"day": "D", "month": "M", "year": "Y"}[name]
    return int(np.datetime64(day, "D").astype(f"M8[{unit}]").astype(np.int64))


def _hashed(kind: str, key: Key) -> bytes:
    if isinstance(key, bytes):
        return key
    if decimal_of(kind):
        return int(key).to_bytes(
            (key if key >= 0 else ~key).bit_length() // 8 + 1, "big", signed=True
        )
    micros = key // 1000 if kind.endswith("_ns") else key
    return int(micros).to_bytes(8, "little", signed=True)
