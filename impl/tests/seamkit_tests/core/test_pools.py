"""Trees of memory pools: limits hold below, what is reserved goes back, blocks are kept."""

import subprocess
import sys

import pytest
from seamkit.core._seam import lib

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


_LARGE = 32 << 20


def _use(allocator: TrackedAllocator, blocks: int) -> None:
    """Take some large blocks and give them back."""
    held = [Block(allocator, _LARGE) for _ in range(blocks)]
    del held


def test_an_allocator_with_a_limit_keeps_no_more_than_it() -> None:
    """What waits for reuse and what is in use stay below the limit together."""
    _use(TrackedAllocator(), 4)
    assert lib.seam_kept_bytes() >= 4 * _LARGE
    allocator = TrackedAllocator(3 * _LARGE)
    assert lib.seam_kept_bytes() < _LARGE
    held = Block(allocator, _LARGE)
    _use(allocator, 1)
    assert lib.seam_kept_bytes() + allocator.counters().current_bytes <= 3 * _LARGE
    del held, allocator
    assert lib.seam_kept_bytes() < _LARGE


def test_a_limit_that_is_reached_gives_kept_blocks_back() -> None:
    """Whoever set a limit is short of memory."""
    allocator = TrackedAllocator(2 * _LARGE)
    _use(TrackedAllocator(), 4)
    with pytest.raises(NativeMemoryError):
        Block(allocator, 3 * _LARGE)
    assert lib.seam_kept_bytes() < _LARGE


def test_reserved_bytes_count_against_the_limit() -> None:
    """Memory of a library that decodes for us is counted as long as it is used."""
    allocator = TrackedAllocator(1000)
    with allocator.reserve(900):
        assert allocator.counters().current_bytes == 900
        with pytest.raises(NativeMemoryError, match="limit of 1000"), allocator.reserve(200):
            pass
    assert allocator.counters().current_bytes == 0


#: A process of its own: one that holds what other tests left takes ten times as long to fork.
_FORKS = """
import os, signal, threading
from seamkit.core.memory import Block, TrackedAllocator

stop = threading.Event()

def load():
    allocator = TrackedAllocator()
    while not stop.is_set():
        Block(allocator, 1 << 20)

threads = [threading.Thread(target=load) for _ in range(3)]
for thread in threads:
    thread.start()
try:
    for _ in range(400):
        child = os.fork()
        if child == 0:
            signal.alarm(20)  # a child that hangs dies of it
            Block(TrackedAllocator(), 1 << 20)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
finally:
    stop.set()
    for thread in threads:
        thread.join()
"""


def test_a_child_forked_under_load_can_allocate() -> None:
    """Another thread may hold the lock of the kept blocks when a process forks."""
    subprocess.run([sys.executable, "-c", _FORKS], check=True, timeout=300)
