"""Values of columns in terms that compare by the order of their type, whatever they are stored as.

Whole numbers, booleans and days are numbers, times and moments nanoseconds, decimals units of their
last place, texts bytes. Floats are floats; NaN is left out, and -0.0 is below 0.0.
"""

from __future__ import annotations

import datetime as dt
import re
import struct
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Ends = tuple[Any, Any]
_NANOS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
_MOST = (1 << 63) - 1


def plain(values: Any) -> Any:
    """A column, or part of one, as numbers or bytes that compare; None: its type has no order."""
    kind = values.type
    if isinstance(kind, pa.BaseExtensionType):
        chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
        return plain(pa.chunked_array([one.storage for one in chunks], kind.storage_type))
    if pa.types.is_dictionary(kind):
        return plain(values.cast(kind.value_type))
    if pa.types.is_floating(kind):
        return values.cast(pa.float64())
    if pa.types.is_date32(kind):
        return values.cast(pa.int32())
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        return values.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    if any(is_(kind) for is_ in (pa.types.is_boolean, pa.types.is_integer, pa.types.is_decimal)):
        return values
    if pa.types.is_fixed_size_binary(kind):
        values = values.cast(pa.binary())
    try:
        return values.cast(pa.large_binary())
    except pa.ArrowException:
        return None


def fits(name: str, held: pa.DataType, known: Mapping[str, str]) -> bool:
    """Whether a file's column may be of a type, by patterns of names and of Arrow's types.

    Decimals of a file have no more digits than the type, on either side of the point.
    """
    ways = [way for names, way in known.items() if re.fullmatch(names, name)]
    if not all(re.fullmatch(way, str(held)) for way in ways):
        return False
    digits = re.search(r"\( *(\d+) *, *(\d+) *\)", name)
    if not digits or not pa.types.is_decimal(held):
        return True
    whole, scale = int(digits[1]), int(digits[2])
    return bool(held.scale <= scale and held.precision - held.scale <= whole - scale)


def is_day(text: str) -> bool:
    """Whether a text spells a day that there is."""
    try:
        return bool(dt.date.fromisoformat(text))
    except ValueError:
        return False


def ends(values: Any) -> Ends | None:
    """The least and the greatest value, both None where there is none; None: it has no order."""
    kind, known = values.type, plain(values)
    if known is None:
        return None
    if pa.types.is_floating(known.type):
        numbers = known.drop_null().to_numpy()
        numbers = numbers[~np.isnan(numbers)]
        if not len(numbers):
            return None, None
        bits = ordered(numbers)
        return float(numbers[bits.argmin()]), float(numbers[bits.argmax()])
    least_and_most = pc.min_max(known)
    low, high = (unscaled(least_and_most[end].as_py(), unit_of(kind)) for end in ("min", "max"))
    return low, high


def unit_of(kind: pa.DataType) -> int:
    """Nanoseconds of one, of times and moments; 1 for others."""
    timed = pa.types.is_timestamp(kind) or pa.types.is_time(kind)
    return _NANOS[kind.unit] if timed else 1


def unscaled(value: Any, unit: int = 1) -> Any:
    """A plain value as one that compares: digits of a decimal, so many units of a number."""
    if isinstance(value, Decimal):
        sign, digits, _ = value.as_tuple()
        return (-1) ** sign * int("".join(map(str, digits)))
    return value * unit if isinstance(value, int) and unit > 1 else value


def ordered(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Whole numbers with the order of floats, -0.0 below 0.0."""
    bits = numbers.view(np.int64)
    return bits ^ (bits >> 63 & _MOST)


def key(value: Any) -> Any:
    """A value of `ends` in an order that tells zeros apart."""
    if not isinstance(value, float):
        return value
    (bits,) = struct.unpack("<q", struct.pack("<d", value))
    return bits ^ (bits >> 63 & _MOST)
