"""The parts of a chunk's columns, one after the other: sizes, values, flags, offsets, bytes.

A part is its size in bytes (32 bits, or 64), then its bytes. From 256 bytes on a column's encode
level may say that another size follows and the bytes are encoded: integers by Stream VByte, over
32-bit words whatever their width, offsets of 32 bits by their differences; strings as one LZ4
block, unless they are too many for one. Source: StarRocks (June 2025), `column_array_serde.cpp`.
They are read in the core (`seam/chunk.h`).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

from seambase.errors import InputError
from seamkit.core._seam import ffi, lib
from seamkit.core.memory import Block, TrackedAllocator
from seamkit.exchange.formats.adaptive import INTEGERS, STRINGS
from seamkit.serde.compression import compress

_ENCODED_FROM_BYTES = 256
_NUMBERS = {4: struct.Struct("<I"), 8: struct.Struct("<Q")}


def _encodes_strings(level: int, size: int) -> bool:
    return bool(level & STRINGS) and _ENCODED_FROM_BYTES <= size <= lib.SEAM_CHUNK_LZ4_BYTES


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
        """Values of fixed width, flags or offsets, borrowed until the pieces are used.

        `rising`: 32-bit offsets; `width` is that of the size.
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
