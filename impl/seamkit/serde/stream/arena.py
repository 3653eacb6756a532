"""The Python handle on an arena: ranges that never move and go back all at once."""

from __future__ import annotations

from typing import Any
from weakref import WeakSet

from seambase.errors import UsageError
from seambase.wording import counted
from seamkit.core._seam import ffi, lib
from seamkit.core.memory import TrackedAllocator

PAGE_BYTES: int = lib.SEAM_PAGE_BYTES


class StreamArena:
    """Owns one `struct seam_stream_arena`; its memory goes back with `clear` or with the handle.

    Behaves as Velox's StreamArena. One thread at a time.

    Args:
        allocator: where pages come from.
        tiny_ranges: streams begin with ranges of 16 bytes, not of 128: for so many columns and
            destinations that most streams stay short.
        whole_pages: every range is cut to pages, as by Velox of 2023, not to the byte: a page for
            each column and destination, however few bytes these have.
    """

    def __init__(
        self, allocator: TrackedAllocator, *, tiny_ranges: bool = False, whole_pages: bool = False
    ) -> None:
        if tiny_ranges and whole_pages:
            raise UsageError("ranges of an arena are tiny or whole pages, not both")
        self.allocator = allocator
        self._streams: WeakSet[object] = WeakSet()
        self.pointer: Any = ffi.gc(
            ffi.new("struct seam_stream_arena *"), lib.seam_stream_arena_clear
        )
        lib.seam_stream_arena_init(self.pointer, allocator.pointer)
        self.pointer.tiny_ranges = tiny_ranges
        self.pointer.whole_pages = whole_pages

    @property
    def size_bytes(self) -> int:
        """Bytes of the pages that the arena holds, given away or not."""
        return int(lib.seam_stream_arena_bytes(self.pointer))

    def clear(self) -> None:
        """Give every range back at once; the arena is as after its construction.

        No stream may hold ranges any more: clear streams (and serializers) first.
        """
        if self._streams:
            raise UsageError(
                f"{counted(len(self._streams), 'stream', 'write')} to this arena: "
                "clear them before it"
            )
        lib.seam_stream_arena_clear(self.pointer)

    def hold(self, stream: object) -> None:
        """`stream` takes ranges from now on: the arena is not cleared before it lets go of them."""
        self._streams.add(stream)

    def let_go(self, stream: object) -> None:
        """The other way."""
        self._streams.discard(stream)
