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
    """Of what is in use, of what is only reserved, and by a message that names whose limit it is.

    What trees the core takes its own tests say (`native/tests/test_pool.c`).
    """
    query = MemoryPool("query", 4 * MIB)
    task = query.child("task")
    scan, join = task.child("scan"), task.child("join", 2 * MIB)
    held = Block(scan.allocator(), 2 * MIB + 1)
    assert query.counters() == PoolCounters(4 * MIB, 2 * MIB + 1, 3 * MIB, 3 * MIB)
    with pytest.raises(NativeMemoryError, match=r"4194304 bytes of pool 'query' reached"):
        Block(join.allocator(), MIB + 1)
    del held
    scan.reserve(3 * MIB)
    with pytest.raises(NativeMemoryError, match="3145728 reserved"):
        join.reserve(2 * MIB)
    scan.unreserve()
    with pytest.raises(NativeMemoryError, match=r"pool 'query\.task\.join' reached"):
        Block(join.allocator(), 2 * MIB + 1)
    assert [name for name, _ in query.tree()] == [
        "query", "query.task", "query.task.join", "query.task.scan",
    ]  # fmt: skip
    assert query.counters().reserved_bytes == 0
    with pytest.raises(UsageError, match="has pools below it"):
        query.allocator()
    with pytest.raises(UsageError, match="a limit from 0 on"):
        query.child("task", -1)


def test_memory_of_a_host_is_in_no_pool() -> None:
    """Its blocks go back to it at once, and it counts them itself."""
    with pytest.raises(UsageError, match="in no pool"):
        TrackedAllocator(host=HostMemory(1, 1), keeps_blocks=True)


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
    for _ in range(100):
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
