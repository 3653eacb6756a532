"""Trees of memory pools: limits above hold below, what is reserved goes back."""

import pytest

from seambase.errors import UsageError
from seamkit.core.border import NativeMemoryError
from seamkit.core.memory import Block, HostMemory, MemoryPool, PoolCounters, TrackedAllocator

MIB = 1 << 20


def test_a_limit_above_holds_below() -> None:
    """Two operators of a task share what their query may take; the message names whose limit."""
    query = MemoryPool("query", 4 * MIB)
    task = query.child("task")
    scan, join = task.child("scan"), task.child("join", 2 * MIB)
    held = Block(scan.allocator(), 2 * MIB + 1)
    assert query.counters() == PoolCounters(4 * MIB, 2 * MIB + 1, 3 * MIB, 3 * MIB)
    with pytest.raises(NativeMemoryError, match=r"4194304 bytes of pool 'query' reached"):
        Block(join.allocator(), MIB + 1)
    del held
    with pytest.raises(NativeMemoryError, match=r"pool 'query\.task\.join' reached"):
        Block(join.allocator(), 2 * MIB + 1)
    assert [name for name, _ in query.tree()] == [
        "query", "query.task", "query.task.join", "query.task.scan",
    ]  # fmt: skip
    assert query.counters().reserved_bytes == 0


def test_a_reservation_is_there_when_it_is_needed() -> None:
    """What an operator reserved nobody else gets, used or not, until it gives it back."""
    query = MemoryPool("query", 4 * MIB)
    first, second = query.child("first"), query.child("second")
    first.reserve(3 * MIB)
    with pytest.raises(NativeMemoryError, match="3145728 reserved"):
        second.reserve(2 * MIB)
    held = Block(first.allocator(), 3 * MIB)
    assert query.counters().reserved_bytes == 3 * MIB
    del held
    first.unreserve()
    second.reserve(2 * MIB)
    assert query.counters().reserved_bytes == 2 * MIB
    second.unreserve()


def test_blocks_keep_their_pools_alive() -> None:
    """A block may outlive every handle on its allocator and its pools."""
    query = MemoryPool("query")
    held = Block(query.child("task").child("operator").allocator(), 100)
    assert query.counters().reserved_bytes == MIB
    assert [name for name, _ in query.tree()] == ["query"]
    held.view[:] = bytes(100)
    del held
    assert query.counters().reserved_bytes == 0


def test_wrong_trees_are_refused() -> None:
    """Memory comes from leaves alone, and a name must be one."""
    query = MemoryPool("query")
    task = query.child("task")
    with pytest.raises(UsageError, match="has pools below it"):
        query.allocator()
    with pytest.raises(UsageError, match="cannot be reserved in pool 'query'"):
        query.reserve(1)
    held = task.allocator()
    with pytest.raises(UsageError, match="gives memory out itself"):
        task.child("operator")
    del held
    for name in ("", "x" * 200):
        with pytest.raises(UsageError, match="a name of 1 to 127 bytes"):
            query.child(name)
    with pytest.raises(UsageError, match="a limit from 0 on"):
        query.child("task", -1)


def test_memory_of_a_host_is_in_no_pool() -> None:
    """Its blocks go back to it at once, and it counts them itself."""
    with pytest.raises(UsageError, match="in no pool"):
        TrackedAllocator(host=HostMemory(1, 1), keeps_blocks=True)


def test_an_allocator_may_keep_its_blocks() -> None:
    """The same requests again take no fresh block; the pool counts what is kept."""
    pool = MemoryPool("result")
    allocator = pool.allocator(keeps_blocks=True)
    sizes = [0, 1, 64, 100, 5000, 3 * MIB]
    fresh = []
    for turn in range(3):
        held = [Block(allocator, size) for size in sizes[:: -1 if turn % 2 else 1]]
        del held
        fresh.append(allocator.counters().total_blocks)
    assert fresh == [len(sizes)] * 3
    assert pool.counters().used_bytes == allocator.counters().current_bytes >= sum(sizes)
    del allocator
    assert pool.counters().used_bytes == 0
