"""Trees of memory pools: what a query, its tasks and their operators may take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

from seamkit.core._seam import ffi, lib
from seamkit.core.errors import check, new_error
from seamkit.core.memory import TrackedAllocator


@dataclass(frozen=True)
class PoolCounters:
    """Bytes of a pool and of all below it (`limit_bytes` 0 = no limit).

    Attributes:
        limit_bytes: most that may be reserved.
        used_bytes: by allocators.
        reserved_bytes: by the leaves, in steps of a MiB or more; never less than is used.
        peak_bytes: most that was reserved at once.
    """

    limit_bytes: int
    used_bytes: int
    reserved_bytes: int
    peak_bytes: int


class MemoryPool:
    """A node of a tree: query, task, operator. Thread-safe.

    Leaves hand out memory by allocators; the pools above them count it, each up to its own limit.
    A pool lives as long as anything below it, blocks included.

    Args:
        name: without those above it.
        limit_bytes: most that may be reserved here and below; 0 for no limit.
        parent: the pool above; None for a root.
    """

    def __init__(self, name: str, limit_bytes: int = 0, parent: MemoryPool | None = None) -> None:
        above = ffi.NULL if parent is None else parent._pointer
        out, error = ffi.new("struct seam_pool **"), new_error()
        code = lib.seam_pool_new(above, name.encode(), limit_bytes, out, error)
        check(code, error, by_caller=True)
        self._pointer: Any = ffi.gc(out[0], lib.seam_pool_release)
        self._children: WeakSet[MemoryPool] = WeakSet()
        if parent is not None:
            parent._children.add(self)

    @property
    def name(self) -> str:
        """Names from the root on, with dots between."""
        return str(ffi.string(lib.seam_pool_name(self._pointer)).decode())

    def child(self, name: str, limit_bytes: int = 0) -> MemoryPool:
        """A pool below this one; see `MemoryPool`."""
        return MemoryPool(name, limit_bytes, self)

    def allocator(self, limit_bytes: int = 0, *, keeps_blocks: bool = False) -> TrackedAllocator:
        """An allocator whose bytes this leaf counts; see `TrackedAllocator`."""
        return TrackedAllocator(limit_bytes, pool=self._pointer, keeps_blocks=keeps_blocks)

    def reserve(self, size_bytes: int) -> None:
        """Reserve so many bytes more than are used now, until `unreserve`."""
        error = new_error()
        check(lib.seam_pool_reserve(self._pointer, size_bytes, error), error, by_caller=True)

    def unreserve(self) -> None:
        """Give back what is reserved and not used."""
        lib.seam_pool_unreserve(self._pointer)

    def counters(self) -> PoolCounters:
        """A snapshot of the counters."""
        out = ffi.new("struct seam_pool_counters *")
        lib.seam_pool_counters(self._pointer, out)
        used = int(out.used_bytes) + sum(one.counters().used_bytes for one in self._children)
        return PoolCounters(
            int(out.limit_bytes), used, int(out.reserved_bytes), int(out.peak_bytes)
        )

    def tree(self) -> Iterator[tuple[str, PoolCounters]]:
        """This pool and all below it that somebody holds, with their counters."""
        yield self.name, self.counters()
        for child in sorted(self._children, key=lambda one: one.name):
            yield from child.tree()
