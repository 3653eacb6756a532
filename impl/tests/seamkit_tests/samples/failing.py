"""Work that must bear the failure of any of its allocations."""

from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import TypeVar

from seamkit.core.border import NativeMemoryError
from seamkit.core.memory import TrackedAllocator

T = TypeVar("T")


def bears_failures(work: Callable[[TrackedAllocator], T], least: int = 1) -> T:
    """What work gives in the end, after its first allocation failed, then its second, and so on.

    Each that fails is told by its error, and leaves no block behind; there are more than `least`.
    """
    for number in count(1):
        allocator = TrackedAllocator()
        allocator.fail_after(number)
        with suppress(NativeMemoryError):
            found = work(allocator)
            assert least < number
            assert allocator.counters().total_blocks < number
            return found
        assert allocator.counters().live_blocks == 0
    raise AssertionError
