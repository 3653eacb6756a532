"""What Presto's and Velox's hashes are, in plain Python over plain values: a witness for tests."""

import math
import struct
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import xxhash

_MASK = (1 << 64) - 1


def _bits(value: float, width: int) -> int:
    """A float's bits, with one NaN and without -0."""
    if math.isnan(value):
        return 0x7FC00000 if width == 4 else 0x7FF8 << 48
    return int.from_bytes(struct.pack("<f" if width == 4 else "<d", value + 0.0 or 0.0), "little")


def _presto_long(value: int) -> int:
    product = value * 0xC2B2AE3D27D4EB4F & _MASK
    return (product << 31 | product >> 33) * 0x9E3779B185EBCA87 & _MASK


def _xxh64_of_long(value: int) -> int:
    return xxhash.xxh64_intdigest(value.to_bytes(8, "little"))


def presto_hash(values: Sequence[Any], types: Sequence[pa.DataType]) -> int:
    """Of a row of plain values: numbers for dates and timestamps, unscaled ones for decimals."""
    state = 0
    for value, type_ in zip(values, types, strict=True):
        state = 31 * state + _presto(value, type_)
    return state & _MASK


def _presto(value: Any, type_: pa.DataType) -> int:
    kinds = pa.types
    if value is None:
        return 0
    if kinds.is_boolean(type_):
        return 1231 if value else 1237
    if kinds.is_floating(type_):
        width = type_.bit_width // 8
        bits = _bits(value, width)
        return _presto_long(bits - (bits >> (width * 8 - 1) << (width * 8)))
    if kinds.is_string(type_) or kinds.is_binary(type_):
        return xxhash.xxh64_intdigest(value.encode() if isinstance(value, str) else value)
    if kinds.is_decimal(type_):
        if type_.precision <= 18:
            return int(value) & _MASK
        return _xxh64_of_long(abs(value) & _MASK) ^ _xxh64_of_long(abs(value) >> 64)
    if kinds.is_nested(type_):
        return _presto_nested(value, type_)
    return _presto_long(value)


def _presto_nested(value: Any, type_: pa.DataType) -> int:
    if pa.types.is_map(type_):
        pairs = [(_presto(k, type_.key_type), _presto(v, type_.item_type)) for k, v in value]
        return sum(key ^ item for key, item in pairs) & _MASK
    types = [field.type for field in type_] if pa.types.is_struct(type_) else None
    state = 0 if types is None else 1
    for item, of in zip(value, types or [type_.value_type] * len(value), strict=True):
        state = 31 * state + _presto(item, of)
    return state & _MASK


def _crc32c(state: int, content: bytes) -> int:
    for byte in content:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ (0x82F63B78 if state & 1 else 0)
    return state


_FACTOR = 0x9DDFEA08EB382D69


def _mixed(upper: int, lower: int) -> int:
    first = (lower ^ upper) * _FACTOR & _MASK
    first ^= first >> 47
    second = (upper ^ first) * _FACTOR & _MASK
    second ^= second >> 47
    return second * _FACTOR & _MASK


def _unordered(a: int, b: int) -> int:
    return 3860031 + (a + b) * 2779 + 2 * a * b & _MASK


def _wang(key: int) -> int:
    key = (~key & _MASK) + (key << 21) & _MASK
    key ^= key >> 24
    key = key + (key << 3) + (key << 8) & _MASK
    key ^= key >> 14
    key = key + (key << 2) + (key << 4) & _MASK
    key ^= key >> 28
    return key + (key << 31) & _MASK


def _jenkins(key: int) -> int:
    mask = (1 << 32) - 1
    key &= mask
    for shift, up in ((12, True), (22, False), (4, True), (9, False), (10, True), (2, False)):
        key = key + (key << shift) & mask if up else key ^ key >> shift
    key = key + (key << 7) & mask
    return key + (key << 12) & mask


def _velox_bytes(content: bytes) -> int:
    if len(content) < 8:
        word = content.ljust(8, b"\0")
        high = word[4:] + bytes(4)
        return _crc32c(1, word) | _crc32c(1, high) << 32
    chains = [1, 1 << 32, 0]
    for number, at in enumerate(range(0, len(content), 8)):
        word = content[at : at + 8].ljust(8, b"\0")
        chains[number % 3] = _crc32c(chains[number % 3] & 0xFFFFFFFF, word)
    return (chains[0] ^ chains[1] * _FACTOR ^ chains[2] * _FACTOR) & _MASK


def velox_hash(values: Sequence[Any], types: Sequence[pa.DataType]) -> int:
    """Of a row of plain values, as `presto_hash` takes them."""
    state = 0
    for number, (value, type_) in enumerate(zip(values, types, strict=True)):
        found = _velox(value, type_)
        state = found if number == 0 else _mixed(state, found)
    return state


_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def _velox(value: Any, type_: pa.DataType) -> int:
    kinds = pa.types
    if value is None:
        return 1
    if kinds.is_boolean(type_):
        return _MASK if value else 0
    if kinds.is_floating(type_):
        bits = _bits(value, type_.bit_width // 8)
        return _wang(bits) if bits else 0
    if kinds.is_string(type_) or kinds.is_binary(type_):
        return _velox_bytes(value.encode() if isinstance(value, str) else value)
    if kinds.is_decimal(type_) and type_.precision > 18:
        return _mixed(value >> 64 & _MASK, value & _MASK)
    if kinds.is_timestamp(type_):
        seconds, rest = divmod(value, _PER_SECOND[type_.unit])
        return _mixed(seconds & _MASK, rest * 10**9 // _PER_SECOND[type_.unit])
    if kinds.is_int64(type_) or kinds.is_decimal(type_) or kinds.is_time(type_):
        return _wang(value & _MASK)
    return _velox_nested(value, type_) if kinds.is_nested(type_) else _jenkins(value)


def _velox_nested(value: Any, type_: pa.DataType) -> int:
    state = 1
    if pa.types.is_map(type_):
        for key, _ in value:
            state = _unordered(state, _velox(key, type_.key_type))
        for _, item in value:
            state = _unordered(state, _velox(item, type_.item_type))
    elif pa.types.is_struct(type_):
        found = [_velox(item, field.type) for item, field in zip(value, type_, strict=True)]
        state = found[0]
        for other in found[1:]:
            state = _mixed(state, other)
    else:
        for item in value:
            state = _unordered(state, _velox(item, type_.value_type))
    return state
