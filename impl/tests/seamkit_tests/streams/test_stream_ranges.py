"""Arenas and byte streams from Python: ranges, growth, going back, any cut of what is read."""

from collections.abc import Iterator

import pytest

from seambase.errors import InputError, UsageError
from seamkit.core.border import NativeMemoryError
from seamkit.core.memory import TrackedAllocator
from seamkit.serde.stream.byte_stream import ByteInputStream, ByteOutputStream
from seamkit.serde.stream.result import StreamArena


@pytest.fixture
def arena(allocator: TrackedAllocator) -> Iterator[StreamArena]:
    """An arena that is cleared when the test ends."""
    found = StreamArena(allocator)
    yield found
    found.clear()


def test_an_arena_is_cleared_after_its_streams(arena: StreamArena) -> None:
    """Clearing the arena under a stream is refused; after the streams it starts anew."""
    streams = [ByteOutputStream(arena), ByteOutputStream(arena)]
    for stream in streams:
        stream.write(b"abc")
    with pytest.raises(UsageError, match="2 streams write to this"):
        arena.clear()
    for stream in streams:
        stream.clear()
    arena.clear()
    assert arena.size_bytes == 0
    streams[0].write(b"again")
    assert streams[0].getvalue() == b"again"
    streams[0].clear()


def test_going_back_overwrites_and_does_not_shorten(arena: StreamArena) -> None:
    """Over borders of ranges as well; a cleared stream is an empty one."""
    stream = ByteOutputStream(arena)
    assert stream.write(b"abcdefgh" * 100) == 800
    stream.seek(126)
    stream.write(b"XYZ")
    assert (stream.tell(), len(stream)) == (129, 800)
    assert stream.getvalue() == b"abcdefgh" * 15 + b"abcdefXYZbcdefgh" + b"abcdefgh" * 83
    stream.seek(800)
    stream.write(b"!")
    assert stream.getvalue()[-3:] == b"gh!"
    stream.clear()
    assert (stream.tell(), len(stream), stream.getvalue()) == (0, 0, b"")


def test_the_limit_of_the_allocator_holds() -> None:
    """A stream that cannot grow says so, and keeps what it has."""
    allocator = TrackedAllocator(limit_bytes=16 * 1024)
    arena = StreamArena(allocator)
    stream = ByteOutputStream(arena)
    stream.write(b"x" * 8192)
    with pytest.raises(NativeMemoryError, match="memory limit"):
        stream.write(b"y" * 20_000)
    assert stream.getvalue()[:8192] == b"x" * 8192
    stream.clear()
    arena.clear()
    assert allocator.counters().live_blocks == 0


def test_wrong_positions_are_refused(arena: StreamArena, allocator: TrackedAllocator) -> None:
    """Nobody goes beyond the end, or asks for bits or widths that are not there."""
    stream = ByteOutputStream(arena)
    with pytest.raises(UsageError, match="position 1 is outside"):
        stream.seek(1)
    with pytest.raises(UsageError, match="a stream of 0 bytes does not go into 1"):
        stream.copy_to(bytearray(1))
    read = ByteInputStream([b"abc"], allocator)
    with pytest.raises(UsageError, match="position 4 is outside"):
        read.seek(4)
    with pytest.raises(UsageError, match="1, 2, 4 or 8 bytes, not 3"):
        read.number(3)
    with pytest.raises(UsageError, match="-1 bytes cannot be read"):
        read.read(-1)
    with pytest.raises(InputError, match="4 bytes are wanted where 3 remain"):
        read.read(4)
    with pytest.raises(InputError, match="8 bytes are wanted where 3 remain"):
        read.number(8)
    assert (read.tell(), read.remaining(), bytes(read.read(3))) == (0, 3, b"abc")


def test_whole_ranges_are_not_copied(allocator: TrackedAllocator) -> None:
    """What lies in one range is a view of it; what straddles a border is put together."""
    source = bytearray(b"abcdef")
    read = ByteInputStream([source, b"", b"ghi"], allocator)
    view = read.read(4)
    source[0] = ord("A")
    assert bytes(view) == b"Abcd"
    assert bytes(read.read(4)) == b"efgh"
    assert bytes(read.read(0)) == b""
    assert read.remaining() == 1
