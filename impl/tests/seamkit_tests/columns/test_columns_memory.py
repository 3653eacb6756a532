"""The memory of off-heap tables: whose it is, how much of it there is, and that it goes back."""

import ctypes
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from seambase.errors import InputError, RefusedError, UsageError
from seamkit.core.border import NativeMemoryError
from seamkit.core.memory import HostMemory, TrackedAllocator
from seamkit.offheap.columns.decode import slots
from seamkit.offheap.columns.table import OffHeapTable
from seamkit.offheap.columns.types import UNKNOWN, parse
from seamkit.offheap.engine.columns import EngineSchema, fill
from seamkit_tests.samples.column_values import column_values

_MALLOC = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_FREE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


class Host:
    """Memory of a host that counts, and has room for `limit` blocks."""

    def __init__(self, limit: int = 10**6) -> None:
        self.blocks: dict[int, Any] = {}
        self.limit = limit
        self._malloc, self._free = _MALLOC(self._give), _FREE(self._take)
        self.memory = HostMemory(self._address(self._malloc), self._address(self._free), 77)

    @staticmethod
    def _address(function: Any) -> int:
        return ctypes.cast(function, ctypes.c_void_p).value or 0

    def _give(self, context: int, size: int) -> int:
        assert context == 77
        if len(self.blocks) >= self.limit:
            return 0
        block = ctypes.create_string_buffer(size)
        self.blocks[ctypes.addressof(block)] = block
        return ctypes.addressof(block)

    def _take(self, context: int, address: int) -> None:
        assert context == 77
        del self.blocks[address]

    def holds(self, address: int) -> bool:
        """Whether an address lies in one of the blocks."""
        return any(start <= address < start + len(b) for start, b in self.blocks.items())


TYPES = [parse("array<struct<a:int,b:string>>"), parse("decimal(9,2)"), parse("string")]
BATCH = pa.record_batch(
    {
        "x": pa.array(
            [[{"a": 1, "b": "x" * 20}, None], None, []] * 9,
            pa.list_(pa.struct([("a", pa.int32()), ("b", pa.string())])),
        ),
        "y": pa.array([Decimal("1.25"), None, Decimal(-7)] * 9, pa.decimal128(9, 2)),
        "z": ["one", None, "three"] * 9,
    }
)


def _words(table: OffHeapTable) -> Iterator[int]:
    chain = table.chain()
    yield from (ctypes.c_int64 * chain.n_words).from_address(chain.address)[1:]


@pytest.mark.parametrize("capacity", [0, 1, 27, 4096])
def test_a_host_may_give_the_memory(capacity: int) -> None:
    """Every buffer of a table lies in blocks that the host's functions gave, and goes back."""
    host = Host()
    allocator = TrackedAllocator(host=host.memory)
    with OffHeapTable(TYPES, capacity, allocator) as table:
        table.append_batch(BATCH)
        assert all(map(host.holds, _words(table)))
        assert host.holds(table.chain().address)
        batch = fill(table.chain(), EngineSchema(BATCH.schema), allocator)
    assert host.blocks
    assert batch.equals(BATCH)
    del batch
    assert not host.blocks


def test_counters_follow_a_table() -> None:
    """What a table takes is counted while it lives, and all of it goes back, column by column."""
    allocator = TrackedAllocator()
    table = OffHeapTable(TYPES, 100, allocator)
    table.append_batch(BATCH)
    full = allocator.counters()
    assert full.current_bytes > 100 * (1 + 4 + 1 + 1 + 4 + 1 + 4 + 1 + 4 + 1 + 4)
    assert full.peak_bytes >= full.current_bytes
    seen = [full.live_blocks]
    for index in (1, 1, 0, 2):
        table.release_column(index)
        seen.append(allocator.counters().live_blocks)
    assert seen[0] > seen[1] == seen[2] > seen[3] > seen[4]
    table.release()
    table.release()
    after = allocator.counters()
    assert (after.current_bytes, after.live_blocks) == (0, 0)
    assert after.total_blocks == full.total_blocks


def test_columns_count_rows_and_nulls() -> None:
    """Each column tells what it got so far; one that the file lacks gets nothing."""
    with TrackedAllocator() as allocator:
        types = [parse("int"), UNKNOWN, parse("array<string>")]
        with OffHeapTable(types, 1, allocator) as table:
            table.append_arrow(0, pa.array([1, None, None], pa.int32()))
            table.append_arrow(2, pa.array([None, ["x", None], []], pa.list_(pa.string())))
            assert [table.column_rows(i) for i in range(3)] == [3, 0, 3]
            assert [table.null_count(i) for i in range(3)] == [2, 0, 1]
            table.renew()
            assert [(table.column_rows(i), table.null_count(i)) for i in (0, 2)] == [(0, 0)] * 2


def test_a_table_may_be_renewed() -> None:
    """A renewed table is a new one: without rows, and with nothing of the old one's memory."""
    with TrackedAllocator() as allocator, OffHeapTable(TYPES, 10, allocator) as table:
        fresh = allocator.counters()
        table.append_batch(BATCH)
        table.release_column(1)
        table.renew()
        assert table.num_rows == 0
        now = allocator.counters()
        assert (now.current_bytes, now.live_blocks) == (fresh.current_bytes, fresh.live_blocks)
        table.append_batch(BATCH)
        batch = fill(table.chain(), EngineSchema(BATCH.schema), allocator)
        assert batch.equals(BATCH)
        table.release()
        table.renew()
        assert table.num_rows == 0
        del batch


_WIDE = pa.array([None, Decimal(10**20)], pa.decimal128(21, 0))


@pytest.mark.parametrize(
    ("text", "array", "error"),
    [
        ("bigint", pa.array(["x"]), RefusedError),
        ("decimal(18,0)", _WIDE, InputError),
        ("string", pa.array(["x" * 200_000]), NativeMemoryError),
        ("array<string>", pa.array([["x" * 200_000]]), NativeMemoryError),
    ],
)
def test_a_table_releases_after_any_error(text: str, array: Any, error: type[Exception]) -> None:
    """A table on which an append failed still gives its chain, its columns and all its memory."""
    allocator = TrackedAllocator(limit_bytes=100_000)
    with OffHeapTable([parse(text), parse("int")], 2, allocator) as table:
        with pytest.raises(error):
            table.append_arrow(0, array)
        table.append_arrow(0, pa.nulls(1))
        table.append_arrow(1, pa.array([5], pa.int32()))
        table.num_rows = 1
        rows, parts = slots(table.chain().address, table.types)
        numbers = column_values(rows, parse("int"), [part for part in parts if part.column == 1])
        assert numbers == [5]
        table.release_column(0)
        with pytest.raises(UsageError, match="released"):
            table.append_arrow(0, array)
    assert allocator.counters().live_blocks == 0
