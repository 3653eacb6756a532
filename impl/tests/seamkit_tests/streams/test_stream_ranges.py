"""Arenas and byte streams from Python: ranges, growth, going back, any cut of what is read."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from seamkit.core._seam import ffi, lib

from seambase.errors import InputError, UsageError
from seamkit.core.border import NativeMemoryError, check
from seamkit.core.memory import TrackedAllocator
from seamkit.serde.stream.byte_stream import ByteInputStream, ByteOutputStream, OutputRanges
from seamkit.serde.stream.result import PAGE_BYTES, StreamArena


class BitOutputStream(OutputRanges):
    """A stream of bits: positions and length count bits.

    They leave with the first bit highest in its byte, and unused bits of the last byte 0.
    """

    _is_bits = 1

    def write(self, bits: bytes, begin: int, end: int) -> int:
        """Append bits [begin, end) of a bitmap that has the lowest bit of a byte first."""
        view = ffi.from_buffer(bits)
        if not 0 <= begin <= end <= 8 * len(view):
            raise UsageError(f"bits {begin} to {end} are not in a bitmap of {8 * len(view)}")
        self._arena.hold(self)
        code = lib.seam_byte_output_append_bits(self.pointer, view, begin, end, self._error)
        check(code, self._error)
        return end - begin

    def fill(self, bit: bool, count: int) -> int:
        """Append the same bit `count` times."""
        self._arena.hold(self)
        check(lib.seam_byte_output_append_bit(self.pointer, bit, count, self._error), self._error)
        return count


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


def test_ranges_may_be_whole_pages(allocator: TrackedAllocator) -> None:
    """As Velox cut them at first: a page for each short stream, and for a byte more another one."""
    arena = StreamArena(allocator, whole_pages=True)
    streams = [ByteOutputStream(arena) for _ in range(64)]
    for stream in streams:
        stream.write(b"12345678")
        assert stream.pointer.room_bytes == PAGE_BYTES
    assert arena.size_bytes == 64 * PAGE_BYTES
    streams[0].write(b"x" * (PAGE_BYTES - 7))
    assert (streams[0].pointer.room_bytes, arena.size_bytes) == (2 * PAGE_BYTES, 66 * PAGE_BYTES)
    assert streams[0].getvalue() == b"12345678" + b"x" * (PAGE_BYTES - 7)
    for stream in streams:
        stream.clear()
    arena.clear()
    with pytest.raises(UsageError, match="tiny or whole pages, not both"):
        StreamArena(allocator, tiny_ranges=True, whole_pages=True)


def test_a_tiny_stream_takes_128_bytes(arena: StreamArena) -> None:
    """A stream of one value costs 128 bytes, not a page: 64 of them share the first two pages."""
    streams = [ByteOutputStream(arena) for _ in range(64)]
    for stream in streams:
        stream.write(b"12345678")
        assert stream.pointer.room_bytes == 128
    assert arena.size_bytes == 2 * PAGE_BYTES
    for stream in streams:
        stream.clear()


def test_tiny_ranges_take_16_bytes(allocator: TrackedAllocator) -> None:
    """An arena for very many short streams gives them 16 bytes each, and doubles them."""
    arena = StreamArena(allocator, tiny_ranges=True)
    streams = [ByteOutputStream(arena) for _ in range(512)]
    for stream in streams:
        stream.write(b"12345678")
    assert arena.size_bytes == 512 * 16
    streams[0].write(b"x" * 120)
    assert streams[0].getvalue() == b"12345678" + b"x" * 120
    for stream in streams:
        stream.clear()
    arena.clear()


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
    stream, bits = ByteOutputStream(arena), BitOutputStream(arena)
    with pytest.raises(UsageError, match="position 1 is outside"):
        stream.seek(1)
    with pytest.raises(UsageError, match="a stream of 0 bytes does not go into 1"):
        stream.copy_to(bytearray(1))
    with pytest.raises(UsageError, match="bits 3 to 9 are not in a bitmap of 8"):
        bits.write(b"\xff", 3, 9)
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


class StreamsAgainstLists(RuleBasedStateMachine):
    """A stream of bytes and one of bits over one arena, and what a list would hold."""

    def __init__(self) -> None:
        super().__init__()
        self.allocator = TrackedAllocator()
        self.arena = StreamArena(self.allocator)
        self.bytes = ByteOutputStream(self.arena)
        self.bits = BitOutputStream(self.arena)
        self.expected: dict[Any, tuple[list[int], int]] = {}
        self._forget()

    def _forget(self) -> None:
        self.expected = {self.bytes: ([], 0), self.bits: ([], 0)}

    def _overwrite(self, stream: Any, items: list[int]) -> None:
        held, at = self.expected[stream]
        held[at : at + len(items)] = items
        self.expected[stream] = (held, at + len(items))

    @rule(data=st.binary(max_size=700), times=st.integers(1, 9))
    def write(self, data: bytes, times: int) -> None:
        """Bytes, now and then many."""
        assert self.bytes.write(data * times) == len(data) * times
        self._overwrite(self.bytes, list(data * times))

    @rule(bitmap=st.binary(min_size=1, max_size=200), data=st.data())
    def write_bits(self, bitmap: bytes, data: st.DataObject) -> None:
        """Bits from anywhere in a bitmap."""
        begin = data.draw(st.integers(0, 8 * len(bitmap)))
        end = data.draw(st.integers(begin, 8 * len(bitmap)))
        self.bits.write(bitmap, begin, end)
        self._overwrite(self.bits, [bitmap[i // 8] >> (i % 8) & 1 for i in range(begin, end)])

    @rule(bit=st.booleans(), count=st.integers(0, 3000))
    def fill(self, bit: bool, count: int) -> None:
        """The same bit."""
        self.bits.fill(bit, count)
        self._overwrite(self.bits, [int(bit)] * count)

    @rule(bits=st.booleans(), part=st.floats(0, 1))
    def seek(self, bits: bool, part: float) -> None:
        """Back, or to the end."""
        stream: Any = self.bits if bits else self.bytes
        held, _ = self.expected[stream]
        at = int(len(held) * part)
        stream.seek(at)
        self.expected[stream] = (held, at)

    @rule()
    def clear(self) -> None:
        """Streams first, then the arena."""
        self.bytes.clear()
        self.bits.clear()
        self.arena.clear()
        assert self.allocator.counters().live_blocks == 0
        self._forget()

    @invariant()
    def same_bytes(self) -> None:
        """Length, position and content are those of the lists."""
        held, at = self.expected[self.bytes]
        assert (len(self.bytes), self.bytes.tell()) == (len(held), at)
        assert self.bytes.getvalue() == bytes(held)
        held, at = self.expected[self.bits]
        assert (len(self.bits), self.bits.tell()) == (len(held), at)
        text = "".join(map(str, held))
        rows = [text[i : i + 8].ljust(8, "0") for i in range(0, len(text), 8)]
        assert self.bits.getvalue() == bytes(int(row, 2) for row in rows)

    def teardown(self) -> None:
        """Everything goes back."""
        self.clear()


TestStreamsAgainstLists = StreamsAgainstLists.TestCase
TestStreamsAgainstLists.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
