"""The parts of a chunk's columns, one after the other: sizes, values, flags, offsets, bytes.

A part is its size in bytes (32 bits, or 64), then its bytes. From 256 bytes on a column's encode
level may say that another size follows and the bytes are encoded: integers by Stream VByte, over
32-bit words whatever their width, offsets of 32 bits by their differences; strings as one LZ4
block, unless they are too many for one. Source: StarRocks (June 2025), `column_array_serde.cpp`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from seambench.errors import InputError, RefusedError
from seambench_impl._seam import ffi, lib
from seambench_impl.errors import check, new_error
from seambench_impl.exchange.encode_levels import INTEGERS, STRINGS
from seambench_impl.memory import Block, TrackedAllocator
from seambench_impl.serde.compression import compress, decompress

__all__ = ["LZ4_MOST_BYTES", "LZ4_RATIO", "PartReader", "PartWriter"]

#: What one LZ4 block may hold (`LZ4_MAX_INPUT_SIZE`).
LZ4_MOST_BYTES = 0x7E000000
#: A block cannot hold more than this many times its size.
LZ4_RATIO = 255
_ENCODED_FROM_BYTES = 256
_NUMBERS = {4: struct.Struct("<I"), 8: struct.Struct("<Q")}


def _encodes_strings(level: int, size: int) -> bool:
    return bool(level & STRINGS) and _ENCODED_FROM_BYTES <= size <= LZ4_MOST_BYTES


def _encodes_integers(level: int, size: int) -> bool:
    return bool(level & INTEGERS) and size >= _ENCODED_FROM_BYTES


@dataclass
class PartWriter:
    """Collects the parts of one column.

    Attributes:
        level: of the column.
        allocator: owner of what is encoded.
        pieces: the column so far; what was not encoded is borrowed.
        raw_bytes: of the parts before they were encoded, sizes not counted.
    """

    level: int
    allocator: TrackedAllocator
    pieces: list[Any] = field(default_factory=list)
    raw_bytes: int = 0

    @property
    def bytes(self) -> int:
        """Of all pieces."""
        return sum(map(len, self.pieces))

    def number(self, value: int, width: int) -> None:
        """A number without a sign, of 4 or 8 bytes."""
        self.pieces.append(_NUMBERS[width].pack(value))

    def _size(self, part: Any, width: int) -> None:
        if len(part) > 2 ** (8 * width) - 1:
            raise InputError(f"a part of {len(part)} bytes does not fit its 32-bit size")
        self.raw_bytes += len(part)
        self.number(len(part), width)

    def integers(self, part: Any, *, rising: bool = False, width: int = 4) -> None:
        """Values of fixed width, flags or offsets.

        Args:
            part: a buffer, borrowed until the pieces are used.
            rising: 32-bit offsets.
            width: of the size.
        """
        self._size(part, width)
        if not _encodes_integers(self.level, len(part)):
            self.pieces.append(part)
            return
        block = Block(self.allocator, lib.seam_streamvbyte_most(len(part)))
        words = ffi.from_buffer("uint8_t[]", part)
        size = lib.seam_streamvbyte_encode(words, len(part), rising, block.pointer)
        self.number(size, 8)
        self.pieces.append(block.view[:size])

    def text(self, part: Any, *, width: int = 4) -> None:
        """Bytes of strings or binaries; arguments as above."""
        self._size(part, width)
        if not _encodes_strings(self.level, len(part)):
            self.pieces.append(part)
            return
        block = compress("lz4", part, self.allocator)
        self.number(len(block), 8)
        self.pieces.append(block)


@dataclass
class PartReader:
    """Takes the parts of a chunk, column after column; believes nothing.

    Attributes:
        data: the chunk, not compressed.
        allocator: owner of what is decoded.
        size_limit: most bytes of all parts that are decoded.
        at: the next byte.
        level: of the column that is read.
        path: name of the column that is read.
    """

    data: memoryview
    allocator: TrackedAllocator
    size_limit: int
    at: int = 0
    level: int = 0
    path: str = ""
    _decoded_bytes: int = 0

    def wrong(self, what: str, at: int | None = None) -> InputError:
        """The error for a byte, by default the next one."""
        place = f"column '{self.path}'" if self.path else "chunk"
        return InputError(f"{place}: {what} (at byte {self.at if at is None else at})")

    def number(self, width: int, what: str) -> int:
        """A number without a sign, of 4 or 8 bytes."""
        return int(_NUMBERS[width].unpack(self._take(width, what))[0])

    def _take(self, size: int, what: str) -> memoryview:
        left = len(self.data) - self.at
        if size > left:
            raise self.wrong(f"{what} takes {size} bytes where {left} are left")
        self.at += size
        return self.data[self.at - size : self.at]

    def _spend(self, size: int, at: int) -> None:
        self._decoded_bytes += size
        if self._decoded_bytes > self.size_limit:
            raise RefusedError(
                f"column '{self.path}': its chunk holds more than size_limit, "
                f"{self.size_limit} bytes (at byte {at})"
            )

    def integers(
        self, wanted: int, what: str, *, rising: bool = False, width: int = 4
    ) -> memoryview:
        """Values of fixed width, flags or offsets: a view on the chunk, or on what was decoded.

        Args:
            wanted: bytes that the rows need.
            what: they are, for messages.
            rising: 32-bit offsets.
            width: of the size.

        Raises:
            InputError: another size, or bytes that break their encoding.
            RefusedError: the size limit.
        """
        start = self.at
        size = self.number(width, f"size of {what}")
        if size != wanted:
            raise self.wrong(f"{what}: {size} bytes where the rows need {wanted}", start)
        if not _encodes_integers(self.level, size):
            return self._take(size, what)
        encoded = self.number(8, f"encoded size of {what}")
        stream_at = self.at
        stream = self._take(encoded, what)
        if encoded < lib.seam_streamvbyte_least(size):
            raise self.wrong(f"{what}: {encoded} bytes cannot hold {size}", stream_at)
        self._spend(size, start)
        block, error = Block(self.allocator, size), new_error()
        bytes_ = ffi.from_buffer("uint8_t[]", stream)
        code = lib.seam_streamvbyte_decode(
            bytes_, encoded, stream_at, rising, block.pointer, size, error
        )
        check(code, error, source=f"column '{self.path}': {what}")
        return block.view

    def text(self, *, width: int = 4) -> memoryview:
        """Bytes of strings or binaries; all else as above."""
        start = self.at
        size = self.number(width, "size of the bytes")
        if not _encodes_strings(self.level, size):
            return self._take(size, "bytes")
        encoded = self.number(8, "encoded size of the bytes")
        block_at = self.at
        block = self._take(encoded, "bytes")
        if size > LZ4_RATIO * encoded:
            raise self.wrong(f"an LZ4 block of {encoded} bytes cannot hold {size}", block_at)
        self._spend(size, start)
        try:
            return decompress("lz4", block, size, self.allocator, offset=block_at)
        except InputError as error:
            raise InputError(f"column '{self.path}': {error}") from error

    def flags(self, rows: int) -> memoryview:
        """Null flags: one byte a row, 0 or 1."""
        start = self.at
        flags = self.integers(rows, "null flags")
        if rows and int(np.frombuffer(flags, np.uint8).max()) > 1:
            raise self.wrong("a null flag is neither 0 nor 1", start)
        return flags

    def offsets(self, rows: int, *, large: bool = False) -> tuple[memoryview, int]:
        """Offsets as int32, and the last of them."""
        start, width = self.at, 8 if large else 4
        part = self.integers((rows + 1) * width, "offsets", rising=not large, width=width)
        offsets = np.frombuffer(part, f"<u{width}")
        if offsets[0] != 0:
            raise self.wrong(f"the first offset is {offsets[0]}, not 0", start)
        falls = offsets[1:] < offsets[:-1]
        if falls.any():
            raise self.wrong(f"offset {int(falls.argmax()) + 1} is less than that before", start)
        last = int(offsets[-1])
        if last > lib.SEAM_VECTOR_LIMIT:
            raise self.wrong(f"the last offset is {last}, the most are 2^31 - 16", start)
        return (offsets.astype("<i4").data.cast("B") if large else part), last
