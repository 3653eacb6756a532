"""Whole numbers in groups of seven bits, the lowest first; the eighth bit says that more follow.

Avro, protobuf, Thrift's compact form and Snappy have them.
"""

from __future__ import annotations

from seambase.errors import InputError

_MOST_BYTES = 10  # of 64 bits


def varint(data: bytes | memoryview, at: int, where: str) -> tuple[int, int]:
    """The number at `at`, and where it ends; `where` begins the sentence of an `InputError`."""
    value = 0
    for i, byte in enumerate(data[at : at + _MOST_BYTES]):
        value |= (byte & 0x7F) << 7 * i
        if byte < 0x80 and value < 1 << 64:
            return value, at + i + 1
    raise InputError(f"{where}: a number at byte {at} does not end in 64 bits")


def varint_bytes(value: int) -> bytes:
    """A number from 0 on."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def signed(value: int) -> int:
    """The number whose sign is the lowest bit of `value`."""
    return value >> 1 ^ -(value & 1)
