"""Freed blocks that wait for reuse: counted, below every limit, and no trap for a forked child."""

import subprocess
import sys

import pytest
from seamkit.core._seam import lib

from seamkit.core.border import NativeMemoryError
from seamkit.core.memory import Block, TrackedAllocator

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
