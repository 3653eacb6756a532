"""Byte streams over scattered ranges of memory, as Velox's ByteOutputStream and ByteInputStream."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from seambase.errors import UsageError
from seambase.wording import counted
from seamkit.core._seam import ffi, lib
from seamkit.core.border import check, new_error
from seamkit.core.memory import TrackedAllocator
from seamkit.serde.stream.result import StreamArena

Buffer = bytes | bytearray | memoryview


class ByteOutputStream:
    """Grows by ranges of an arena; what was written never moves. It is cleared before its arena."""

    def __init__(self, arena: StreamArena) -> None:
        self._arena = arena
        self._error = new_error()
        self.pointer: Any = ffi.gc(ffi.new("struct seam_byte_output *"), lib.seam_byte_output_clear)
        lib.seam_byte_output_init(self.pointer, arena.pointer, 0)

    def __len__(self) -> int:
        return int(self.pointer.size)

    def tell(self) -> int:
        """Where the next byte goes."""
        return int(lib.seam_byte_output_tell(self.pointer))

    def seek(self, position: int) -> int:
        """Go back to overwrite, or to the end. What stands behind the position stays."""
        if not 0 <= position <= len(self):
            raise UsageError(f"position {position} is outside a stream that ends at {len(self)}")
        check(lib.seam_byte_output_seek(self.pointer, position, self._error), self._error)
        return position

    def copy_to(self, out: bytearray | memoryview) -> None:
        """Copy the whole stream into writable memory of exactly its size."""
        view = ffi.from_buffer("uint8_t[]", out, require_writable=True)
        size = lib.seam_byte_output_bytes(self.pointer)
        if len(view) != size:
            raise UsageError(f"a stream of {counted(size, 'byte')} does not go into {len(view)}")
        lib.seam_byte_output_copy(self.pointer, view)

    def getvalue(self) -> bytes:
        """A copy of the whole stream, wherever it is written next."""
        out = bytearray(lib.seam_byte_output_bytes(self.pointer))
        self.copy_to(out)
        return bytes(out)

    def clear(self) -> None:
        """Forget everything. The ranges go back when the arena is cleared."""
        lib.seam_byte_output_clear(self.pointer)
        self._arena.let_go(self)

    def write(self, data: Buffer) -> int:
        """Append at the position; returns how many bytes that were."""
        view = ffi.from_buffer(data)
        self._arena.hold(self)
        check(lib.seam_byte_output_append(self.pointer, view, len(view), self._error), self._error)
        return len(view)


class ByteInputStream:
    """Reads a list of ranges as if they were one; any value may straddle a border.

    Nothing is copied but what straddles: the ranges are kept alive and must not change.
    """

    def __init__(self, ranges: Iterable[Buffer], allocator: TrackedAllocator) -> None:
        self._ranges = [memoryview(data).cast("B").toreadonly() for data in ranges]
        self._views = [ffi.from_buffer(data) for data in self._ranges]
        self._error = new_error()
        structs = ffi.new("struct seam_byte_range[]", max(len(self._views), 1))
        for struct, view in zip(structs, self._views, strict=False):
            struct.buffer, struct.size = ffi.cast("uint8_t *", view), len(view)
        self._stream: Any = ffi.new("struct seam_byte_input *")
        self._check(
            lib.seam_byte_input_init(
                self._stream, allocator.pointer, structs, len(self._views), self._error
            )
        )
        self._stream = ffi.gc(self._stream, lib.seam_byte_input_reset)

    def _check(self, code: int) -> None:
        check(code, self._error)

    def __len__(self) -> int:
        return int(lib.seam_byte_input_size(self._stream))

    def tell(self) -> int:
        """Where the next byte comes from."""
        return int(lib.seam_byte_input_tell(self._stream))

    def remaining(self) -> int:
        """Bytes that truly remain, in all ranges: a reader may refuse a page because of it."""
        return int(lib.seam_byte_input_remaining(self._stream))

    def seek(self, position: int) -> int:
        """Go to any position, the end included."""
        if not 0 <= position <= len(self):
            raise UsageError(
                f"position {position} is outside a stream of {counted(len(self), 'byte')}"
            )
        self._check(lib.seam_byte_input_seek(self._stream, position, self._error))
        return position

    def skip(self, size_bytes: int) -> None:
        """Pass over bytes."""
        self._check(lib.seam_byte_input_skip(self._stream, size_bytes, self._error))

    def number(self, width_bytes: int) -> int:
        """The next little-endian signed number of 1, 2, 4 or 8 bytes."""
        if width_bytes not in (1, 2, 4, 8):
            raise UsageError(f"a number has 1, 2, 4 or 8 bytes, not {width_bytes}")
        out = ffi.new("int64_t *")
        self._check(lib.seam_byte_input_number(self._stream, width_bytes, out, self._error))
        return int(out[0])

    def read(self, size_bytes: int) -> memoryview:
        """The next bytes: a view of the range where they lie in one, else a copy."""
        if size_bytes < 0:
            raise UsageError(f"{counted(size_bytes, 'byte')} cannot be read")
        if self._stream.current < len(self._ranges):
            current = self._stream.ranges[self._stream.current]
            at = int(current.position)
            if size_bytes <= current.size - at:
                whole: memoryview = self._ranges[self._stream.current]
                self.skip(size_bytes)
                return whole[at : at + size_bytes]
        if size_bytes > self.remaining():
            self.skip(size_bytes)  # which says what is wrong, before anything is allocated
        out = bytearray(size_bytes)
        to = ffi.from_buffer(out)
        self._check(lib.seam_byte_input_read(self._stream, to, size_bytes, self._error))
        return memoryview(out).toreadonly()
