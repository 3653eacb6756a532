"""What files' footers need of protobuf: messages of numbers, texts and other messages."""

from __future__ import annotations

from collections.abc import Iterator

from seambase.errors import InputError


def varint(data: memoryview, at: int, where: str) -> tuple[int, int]:
    """The variable-length number at `at`, and where it ends."""
    value = 0
    for i, byte in enumerate(data[at : at + 10]):
        value |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            return value, at + i + 1
    raise InputError(f"{where}: a number at byte {at} does not end")


def fields(message: memoryview, where: str) -> Iterator[tuple[int, int | memoryview]]:
    """Numbers and values of a message's fields: whole numbers, or the bytes of anything longer.

    Raises:
        InputError: the message breaks its format, or has a field of fixed width.
    """
    at = 0
    while at < len(message):
        tag, at = varint(message, at, where)
        if tag & 7 == 0:
            number, at = varint(message, at, where)
            yield tag >> 3, number
        elif tag & 7 == 2:
            size, at = varint(message, at, where)
            if size > len(message) - at:
                raise InputError(f"{where}: a field claims {size} bytes")
            yield tag >> 3, message[at : at + size]
            at += size
        else:
            raise InputError(f"{where}: a field of wire type {tag & 7}")
