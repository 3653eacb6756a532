"""The binary form of variants, as Parquet's specification of their encoding lays it out.

A variant is two texts of bytes: its metadata, a dictionary of the names of fields, and its value.
A value begins with a byte whose two lowest bits tell what it is: a primitive, a short string, an
object or an array. All functions raise `ValueError` for bytes that are none of this.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seambase.errors import RefusedError
from seamkit.core.border import numpy_of

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

    The type is one in which Parquet's specification lets variants be shredded.
    """
    valid = numpy_of(column.is_valid())
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
    valid = numpy_of(column.is_valid())
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


NULL = b"\0"
"""The value null of a variant, which is not a missing value."""

_PRIMITIVE, _SHORT_STRING, _OBJECT, _ARRAY = range(4)
_VERSION = 1
#: Bytes of primitives behind the first one, by their type; of texts and bytes that is their length.
_LENGTHS = (0, 0, 0, 1, 2, 4, 8, 8, 5, 9, 17, 4, 8, 8, 4, None, None, 8, 8, 8, 16)
_MOST_SMALL = 255


def _number(data: bytes, at: int, width: int) -> int:
    if at + width > len(data):
        raise ValueError("it ends before it is complete")
    return int.from_bytes(data[at : at + width], "little")


@functools.lru_cache(maxsize=1024)
def name_ids(metadata: bytes) -> Mapping[bytes, int]:
    """The names of fields in a dictionary, in UTF-8, with their numbers, in the order of these."""
    header = _number(metadata, 0, 1)
    if header & 15 != _VERSION:
        raise ValueError(f"its metadata are of version {header & 15}")
    width = (header >> 6) + 1
    count = _number(metadata, 1, width)
    begin = 1 + width * (count + 2)
    if begin > len(metadata):
        raise ValueError("its metadata end before they are complete")
    offsets = [_number(metadata, 1 + width * (n + 1), width) for n in range(count + 1)]
    if offsets[0] != 0 or begin + offsets[-1] != len(metadata) or sorted(offsets) != offsets:
        raise ValueError("the names in its metadata do not lie one behind the other")
    names = [metadata[begin + a : begin + b] for a, b in itertools.pairwise(offsets)]
    found: dict[bytes, int] = {}
    for number, name in enumerate(names):
        name.decode()  # a UnicodeDecodeError is a ValueError
        found.setdefault(name, number)
    return found


def value_bytes(data: bytes, at: int = 0) -> int:
    """How many bytes a value takes that begins at `at`; what it holds is not read."""
    first = _number(data, at, 1)
    kind, header = first & 3, first >> 2
    if kind == _SHORT_STRING:
        size = 1 + header
    elif kind == _PRIMITIVE:
        if header >= len(_LENGTHS):
            raise ValueError(f"it has a value of the unknown type {header}")
        length = _LENGTHS[header]
        size = 5 + _number(data, at + 1, 4) if length is None else 1 + length
    else:
        count, _, offsets, width = _layout(data, at)
        begin = offsets + (count + 1) * width
        size = begin - at + _number(data, begin - width, width)
    if at + size > len(data):
        raise ValueError("it ends before it is complete")
    return size


def _layout(data: bytes, at: int) -> tuple[int, int, int, int]:
    """Of an object or array the number of values, the width of ids, where offsets begin, theirs."""
    first = data[at]
    header = first >> 2
    is_object = first & 3 == _OBJECT
    counted = 4 if header >> (4 if is_object else 2) & 1 else 1
    count = _number(data, at + 1, counted)
    ids = (header >> 2 & 3) + 1 if is_object else 0
    return count, ids, at + 1 + counted + count * ids, (header & 3) + 1


def object_fields(value: bytes, ids: Mapping[bytes, int]) -> Mapping[bytes, bytes] | None:
    """The fields of an object by its metadata's names; None of a value that is none."""
    if value_bytes(value) != len(value):
        raise ValueError("there are bytes behind it")
    if value[0] & 3 != _OBJECT:
        return None
    count, width, offsets, step = _layout(value, 0)
    begin = offsets + (count + 1) * step
    names = {number: name for name, number in ids.items()}
    found = {}
    for n in range(count):
        number = _number(value, offsets - (count - n) * width, width)
        at = begin + _number(value, offsets + n * step, step)
        if number not in names:
            raise ValueError(f"it names a field by {number}, which its metadata do not have")
        if names[number] in found:
            raise ValueError(f"it has the field {names[number].decode()!r} twice")
        found[names[number]] = value[at : at + value_bytes(value, at)]
    return found


def make_object(fields: Mapping[bytes, bytes], ids: Mapping[bytes, int]) -> bytes:
    """An object of fields in the order of their names."""
    names = sorted(fields)
    for name in names:
        if name not in ids:
            raise ValueError(f"its metadata do not have the name {name.decode()!r}")
    numbers = [ids[name] for name in names]
    wide = _width(max(numbers, default=0))
    of_ids = b"".join(number.to_bytes(wide, "little") for number in numbers)
    return _container(_OBJECT, [fields[name] for name in names], of_ids, wide)


def make_array(values: Sequence[bytes]) -> bytes:
    """An array of values."""
    return _container(_ARRAY, values, b"", 0)


def _container(kind: int, values: Sequence[bytes], ids: bytes, id_width: int) -> bytes:
    offsets = [0]
    for value in values:
        offsets.append(offsets[-1] + len(value))
    width = _width(offsets[-1])
    is_large = len(values) > _MOST_SMALL
    header = width - 1
    header |= (id_width - 1) << 2 | is_large << 4 if kind == _OBJECT else is_large << 2
    count = len(values).to_bytes(4 if is_large else 1, "little")
    listed = b"".join(offset.to_bytes(width, "little") for offset in offsets)
    return b"".join((bytes([header << 2 | kind]), count, ids, listed, *values))


def _width(number: int) -> int:
    return max(1, (number.bit_length() + 7) // 8)
