"""Columns of single values as values of variants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seambase.errors import RefusedError

_TRUE, _FALSE = 1, 2
_DECIMALS = ((9, 4, 8), (18, 8, 9), (38, 16, 10))  # most digits, bytes, and the type's number
_DATE, _BINARY, _STRING, _TIME, _UUID = 11, 15, 16, 17, 20
_TIMESTAMPS = {("us", True): 12, ("us", False): 13, ("ns", True): 18, ("ns", False): 19}
_NUMBERS: Mapping[pa.DataType, int] = {
    pa.int8(): 3,
    pa.int16(): 4,
    pa.int32(): 5,
    pa.int64(): 6,
    pa.float64(): 7,
    pa.float32(): 14,
}
_UUID_BYTES = 16
_MOST_SHORT = 63


def primitives(column: pa.Array) -> Sequence[bytes | None]:
    """Each value of a column as a value of a variant; None where there is none.

    Args:
        column: of a type in which Parquet's specification lets variants be shredded.
    """
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    return [
        own if is_there else None
        for own, is_there in zip(_values(column), valid.tolist(), strict=True)
    ]


def _values(column: pa.Array) -> Sequence[bytes | None]:
    """The values, with anything where there is none."""
    kind, types = column.type, pa.types
    if types.is_boolean(kind):
        words = {True: bytes([_TRUE << 2]), False: bytes([_FALSE << 2]), None: None}
        return [words[value] for value in column.to_pylist()]
    if kind in _NUMBERS:
        return _fixed(_NUMBERS[kind], _octets(column, kind.bit_width // 8))
    if types.is_decimal128(kind):
        return _decimals(column)
    if types.is_date32(kind):
        return _fixed(_DATE, _octets(column, 4))
    if kind == pa.time64("us"):
        return _fixed(_TIME, _octets(column, 8))
    if types.is_timestamp(kind) and (kind.unit, kind.tz is not None) in _TIMESTAMPS:
        return _fixed(_TIMESTAMPS[kind.unit, kind.tz is not None], _octets(column, 8))
    if types.is_string(kind):
        return [_string(value) for value in column.cast(pa.binary()).to_pylist()]
    if types.is_binary(kind):
        return [_sized(_BINARY, value) for value in column.to_pylist()]
    if types.is_fixed_size_binary(kind) and kind.byte_width == _UUID_BYTES:
        return _fixed(_UUID, _octets(column, _UUID_BYTES))
    raise RefusedError(f"variants are shredded as {kind}, which the specification does not have")


def _octets(column: pa.Array, width: int) -> npt.NDArray[np.uint8]:
    """The bytes of values of one width, a row each."""
    buffer = column.buffers()[1]
    if buffer is None or not len(column):
        return np.zeros((len(column), width), np.uint8)
    whole = np.frombuffer(buffer, np.uint8, (column.offset + len(column)) * width)
    return whole[column.offset * width :].reshape(len(column), width)


def _fixed(number: int, octets: npt.NDArray[np.uint8]) -> Sequence[bytes]:
    """Values of one width behind the byte that tells their type."""
    rows = np.empty((len(octets), octets.shape[1] + 1), np.uint8)
    rows[:, 0] = number << 2
    rows[:, 1:] = octets
    text, step = rows.tobytes(), rows.shape[1]
    return [text[at : at + step] for at in range(0, len(text), step)]


def _decimals(column: pa.Array) -> Sequence[bytes]:
    kind = column.type
    _, width, number = next(one for one in _DECIMALS if kind.precision <= one[0])
    octets = _octets(column, 16)
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    sign = np.where(octets[:, width - 1] & 0x80, 0xFF, 0).astype(np.uint8)
    if (octets[:, width:] != sign[:, None])[valid].any():
        raise ValueError(f"a value of {kind} has more digits than that")
    scale = np.full((len(octets), 1), kind.scale, np.uint8)
    return _fixed(number, np.hstack([scale, octets[:, :width]]))


def _string(value: bytes | None) -> bytes | None:
    if value is not None and len(value) <= _MOST_SHORT:
        return bytes([len(value) << 2 | 1]) + value
    return _sized(_STRING, value)


def _sized(number: int, value: bytes | None) -> bytes | None:
    if value is None:
        return None
    return bytes([number << 2]) + len(value).to_bytes(4, "little") + value
